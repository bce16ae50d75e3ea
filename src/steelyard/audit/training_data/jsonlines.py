"""JSON Lines, streamed: raw blocks of whole lines, parsed by Arrow, or line by line where a block is irregular."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from steelyard.audit.training_data.batches import Batch, Block, RowProblem
from steelyard.audit.training_data.columns import MESSAGE_KEYS, TITLE, TextColumns, add_record, detect
from steelyard.datasets.tables.files import open_bytes

BLOCK = 4 << 20
"""Bytes that are parsed at a time."""
PIECE = 1 << 18
"""Bytes that are read at a time."""
LONGEST_ROW = 64 << 20
"""Bytes of one line; a longer one is listed and not audited."""
SAMPLE = 100
"""Rows that the columns are detected from."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


_BARE_NULL = re.compile(rb"(?:\A|[\n}])\s*null")
"""A null in the place of a record, or what might be one."""


def raw_blocks(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield the number of the first line and the bytes of whole lines; None for a line that is too long."""
    row, rest = 1, b""
    while chunk := _read(stream):
        end = chunk.rfind(b"\n") + 1
        if not end:
            rest += chunk
            if len(rest) > LONGEST_ROW:
                yield row, None
                rest = _next_line(stream)
                row += 1
            continue
        block, rest = rest + chunk[:end], chunk[end:]
        yield row, block
        row += block.count(b"\n")
    if rest:
        yield row, rest


def _read(stream: BinaryIO) -> bytes:
    """Return the next block, or what can be read of it; then the next call raises the error of the stream."""
    pieces: list[bytes] = []
    rest = BLOCK
    while rest:
        try:
            piece = stream.read(min(PIECE, rest))
        except OSError:
            if not pieces:
                raise
            break
        if not piece:
            break
        pieces.append(piece)
        rest -= len(piece)
    return b"".join(pieces)


def _next_line(stream: BinaryIO) -> bytes:
    """Skip the rest of a line and return what follows it in the last chunk."""
    while chunk := stream.read(BLOCK):
        if (end := chunk.find(b"\n")) >= 0:
            return chunk[end + 1 :]
    return b""


def read_blocks(path: Path, asked: Sequence[str] = ()) -> Iterator[Block]:
    """Yield the file in blocks that are parsed on demand."""
    columns: TextColumns | None = None
    schema: Any = None
    with open_bytes(path) as stream:
        for row, block in raw_blocks(stream):
            if block is None:
                yield Block(partial(too_long, row), LONGEST_ROW)
                continue
            if row == 1:
                block = block.removeprefix(BYTE_ORDER_MARK)
            if columns is None:
                records = _sample(block)
                columns, schema = detect(records, asked), arrow_schema(records, asked)
            yield Block(partial(parse, block, row, columns, schema), len(block))


def too_long(row: int) -> Batch:
    """Return the batch of a row that is too long to be read."""
    return Batch(1, problems=[RowProblem(row, "huge-row")])


def _sample(block: bytes) -> list[Mapping[str, Any]]:
    records: list[Mapping[str, Any]] = []
    for line in block.split(b"\n", SAMPLE)[:SAMPLE]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def arrow_schema(records: Sequence[Mapping[str, Any]], asked: Sequence[str] = ()) -> Any:
    """Return the types that Arrow reads the text columns as; None where their values are not regular."""
    import pyarrow as pa

    fields = []
    for name in detect(records, asked).names:
        kinds = {_shape(record[name]) for record in records if record.get(name) is not None}
        if len(kinds) != 1 or "other" in kinds:
            return None
        kind = kinds.pop()
        message = pa.struct([(key, pa.string()) for key in MESSAGE_KEYS])
        types = {"text": pa.string(), "list": pa.list_(pa.string()), "messages": pa.list_(message)}
        fields.append((name, types[kind]))
    return pa.schema(fields) if fields else None


def _shape(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "list"
    if isinstance(value, list) and all(_is_message(item) for item in value):
        return "messages"
    return "other"


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and sum(isinstance(item.get(key), str) for key in MESSAGE_KEYS) == 1


def parse(block: bytes, first_row: int, columns: TextColumns, schema: Any) -> Batch:
    """Parse whole lines: fast where all are regular, else line by line."""
    rows = block.count(b"\n") + (not block.endswith(b"\n"))
    # The parser of Arrow reads past the end of its memory for a line that is null. Most blocks do not have the word.
    if b"null" in block and _BARE_NULL.search(block):
        return parse_lines(block, first_row, rows, columns)
    batch = _parse_fast(block, first_row, rows, columns, schema) if schema is not None else None
    return batch if batch is not None else parse_lines(block, first_row, rows, columns)


def _parse_fast(block: bytes, first_row: int, rows: int, columns: TextColumns, schema: Any) -> Batch | None:
    """Return the texts as Arrow reads them; None where a line needs a closer look."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import json as arrow_json

    try:
        table = arrow_json.read_json(
            io.BytesIO(block),
            read_options=arrow_json.ReadOptions(block_size=len(block) + 1, use_threads=False),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        if table.num_rows != rows or any(table[name].null_count for name in columns.names):
            return None
        batch = Batch(rows)
        numbers = list(range(first_row, first_row + rows))
        for name in columns.names:
            values = table[name].combine_chunks()
            if pa.types.is_string(values.type):
                batch.extend(numbers, name, values.to_pylist())
                continue
            parents = (pc.list_parent_indices(values).to_numpy() + first_row).tolist()
            items = values.flatten()
            if pa.types.is_struct(items.type):
                items = pc.coalesce(*(items.field(key) for key in MESSAGE_KEYS))
            batch.extend(parents, name, items.to_pylist())
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if columns.body is not None:
        titles, bodies = table[TITLE].to_pylist(), table[columns.body].to_pylist()
        if not all(isinstance(text, str) for text in (*titles[:1], *bodies[:1])):
            return None
        joined = [f"{title} {text}" for title, text in zip(titles, bodies, strict=True)]
        batch.extend(numbers, f"{TITLE}+{columns.body}", joined)
    return batch


def parse_lines(block: bytes, first_row: int, rows: int, columns: TextColumns) -> Batch:
    """Parse line by line; whatever is wrong with a line is a problem of its row, and no row is skipped silently."""
    batch = Batch(rows)
    for row, line in enumerate(block.split(b"\n")[:rows], first_row):
        if not line.strip():
            continue
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            batch.problems.append(RowProblem(row, "encoding", f"byte {error.start + 1} of the line"))
            text = line.decode(errors="replace")
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            batch.problems.append(RowProblem(row, "invalid-json", str(error)[:200]))
            continue
        add_record(batch, row, record, columns)
    return batch
