/* Write a Parquet file: one row group, plain encoding, uncompressed; every column is optional text or double. */
"use strict";

(function (S) {
  const utf8 = new TextEncoder();
  const BYTE_ARRAY = 6, DOUBLE = 5, UTF8 = 0;

  class Bytes {
    constructor() { this.parts = []; }
    byte(...values) { this.parts.push(...values.map((value) => value & 255)); return this; }
    raw(values) { for (const value of values) this.parts.push(value); return this; }
    int32(value) { return this.byte(value, value >> 8, value >> 16, value >> 24); }
    varint(value) { while (value > 127) { this.byte((value % 128) | 128); value = Math.floor(value / 128); } return this.byte(value); }
    zigzag(value) { return this.varint(value * 2); } /* no negative number is written */
    text(value) { const bytes = utf8.encode(value); return this.varint(bytes.length).raw(bytes); }
    get length() { return this.parts.length; }
  }

  /* Thrift's compact protocol: a struct is fields by ascending number; each has a type and the step from the last one. */
  const I32 = 5, I64 = 6, BINARY = 8, LIST = 9, STRUCT = 12;
  function struct(out, fields) {
    let last = 0;
    for (const [id, type, write] of fields) {
      out.byte(((id - last) << 4) | type);
      write(out);
      last = id;
    }
    return out.byte(0);
  }
  const i32 = (id, value) => [id, I32, (out) => out.zigzag(value)];
  const i64 = (id, value) => [id, I64, (out) => out.zigzag(value)];
  const text = (id, value) => [id, BINARY, (out) => out.text(value)];
  const nested = (id, fields) => [id, STRUCT, (out) => struct(out, fields)];
  const list = (id, type, items, write) => [id, LIST, (out) => {
    if (items.length < 15) out.byte((items.length << 4) | type);
    else out.byte(240 | type).varint(items.length);
    items.forEach((item) => write(out, item));
  }];

  const missing = (value) => value === null || value === undefined || value === "" || Number.isNaN(value);

  function pageOf(values, number) {
    const levels = new Bytes(), groups = Math.ceil(values.length / 8);
    levels.varint((groups << 1) | 1); /* bit-packed definition levels, one bit each */
    for (let g = 0; g < groups; g++) {
      let bits = 0;
      for (let k = 0; k < 8; k++) if (8 * g + k < values.length && !missing(values[8 * g + k])) bits |= 1 << k;
      levels.byte(bits);
    }
    const body = new Bytes().int32(levels.length).raw(levels.parts);
    for (const value of values) {
      if (missing(value)) continue;
      if (number) body.raw(new Uint8Array(new Float64Array([value]).buffer));
      else { const bytes = utf8.encode(String(value)); body.int32(bytes.length).raw(bytes); }
    }
    const header = struct(new Bytes(), [i32(1, 0), i32(2, body.length), i32(3, body.length),
      nested(5, [i32(1, values.length), i32(2, 0), i32(3, 3), i32(4, 3)])]);
    return header.raw(body.parts);
  }

  /** Return the bytes of a file with these columns: [{name, values}]. A column of numbers only is of type double. */
  S.parquet = (columns) => {
    const out = new Bytes().raw(utf8.encode("PAR1"));
    const rows = columns.length ? columns[0].values.length : 0;
    const chunks = columns.map((column) => {
      const number = column.values.some((value) => !missing(value)) && column.values.every((value) => missing(value) || typeof value === "number");
      const page = pageOf(column.values, number), offset = out.length;
      out.raw(page.parts);
      return { name: column.name, type: number ? DOUBLE : BYTE_ARRAY, offset, size: page.length };
    });
    const schema = [[text(4, "rows"), i32(5, columns.length)],
      ...chunks.map((c) => [i32(1, c.type), i32(3, 1), text(4, c.name), ...(c.type === BYTE_ARRAY ? [i32(6, UTF8)] : [])])];
    const chunk = (c) => [i64(2, c.offset), nested(3, [i32(1, c.type), list(2, I32, [0, 3], (o, v) => o.zigzag(v)),
      list(3, BINARY, [c.name], (o, v) => o.text(v)), i32(4, 0), i64(5, rows), i64(6, c.size), i64(7, c.size), i64(9, c.offset)])];
    const footer = struct(new Bytes(), [i32(1, 1), list(2, STRUCT, schema, struct), i64(3, rows),
      list(4, STRUCT, [chunks], (o, all) => struct(o, [list(1, STRUCT, all.map(chunk), struct), i64(2, all.reduce((sum, c) => sum + c.size, 0)), i64(3, rows)])),
      text(6, "steelyard")]);
    return new Uint8Array(out.raw(footer.parts).int32(footer.length).raw(utf8.encode("PAR1")).parts);
  };
})(window.Steelyard);
