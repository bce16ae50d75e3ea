"""Read the documents of a file in batches, so that a corpus of any size needs only the memory of a batch."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from steelyard.datasets.formats.trec.collection import trec_kind
from steelyard.datasets.problems import Report
from steelyard.datasets.samples.type_detection import first_row
from steelyard.datasets.tables.columns import DOCUMENTS, REMEDY, aside, numbers_in
from steelyard.datasets.tables.convert import CONVERTERS, is_number, whole
from steelyard.datasets.tables.files import UTF8_MARK, format_of, look_at_head, open_bytes, translated
from steelyard.datasets.tables.tabular import read_table

BLOCK = 16 << 20
"""Bytes of text parsed at a time."""
ROWS = 1 << 14
"""Rows of Parquet read at a time."""

Columns = dict[str, Any]
"""Arrow arrays of one length, by field: `id`, and with texts also `text` and optionally `title`."""

Parse = Callable[[bytes], Columns | None]


def stream_documents(path: Path, name: str, *, texts: bool = True) -> Iterator[Columns]:
    """Yield the documents of one file in its order; without `texts` only their ids, if that is cheaper.

    What is an error for the loader is a DataError here, too, when its batch is read.
    """
    report = Report()
    with translated(report, name):
        _report_ambiguous(path, name)
        yield from _stream(path, name, texts)
    report.raise_errors("strict", name)


def _report_ambiguous(path: Path, name: str) -> None:
    """Report columns that are not read because another one is; by their names, without reading them."""
    report = Report()
    first = first_row(path, name) or {}
    for field, (read, *others) in DOCUMENTS.candidates(first, numbers_in(first)).items():
        for other in others:
            report.add("aside", name, aside(field, read, other), remedy=REMEDY)
    report.notify_listener()


def _stream(path: Path, name: str, texts: bool) -> Iterator[Columns]:
    kind = format_of(name)
    if trec_kind(name, path) is not None or kind in (None, "json"):
        yield from _at_once(path, name)
    elif kind == "parquet":
        yield from _parquet(path, name, texts)
    elif kind == "jsonl":
        yield from _blocks(path, name, _parse_json)
    elif _in_old_lines(path):
        yield from _at_once(path, name)
    else:
        comma = kind == "csv"
        yield from _blocks(
            path, name, partial(_parse_delimited, comma=comma), quoted=comma, header=partial(_header, comma=comma)
        )


def _in_old_lines(path: Path) -> bool:
    """Return whether lines end in carriage returns alone; blocks are split at line feeds."""
    with open_bytes(path) as stream:
        return b"\r" in bytes(stream.read(1 << 16)).split(b"\n", 1)[0].rstrip(b"\r")


def _at_once(path: Path, name: str) -> Iterator[Columns]:
    """Read a format that can only be read as a whole."""
    report = Report()
    table = read_table([(name, path)], DOCUMENTS, report)
    report.raise_errors("strict", name)
    report.notify_listener()
    if table is not None:
        yield table.columns


def _parquet(path: Path, name: str, texts: bool) -> Iterator[Columns]:
    import pyarrow.parquet as pq

    report = Report()
    with pq.ParquetFile(str(path), memory_map=True) as file:
        numbers = {column.name for column in file.schema_arrow if is_number(column.type)}
        columns = DOCUMENTS.match(file.schema_arrow.names, numbers)
        if missing := DOCUMENTS.missing(columns):
            fields = "; ".join(map(str, missing))
            report.add("columns", name, f"no column for {fields}; the columns are {', '.join(file.schema_arrow.names)}")
            report.raise_errors("strict", name)
        chosen = columns if texts else {"id": columns["id"]}
        row = 0
        for batch in file.iter_batches(batch_size=ROWS, columns=sorted(set(chosen.values()))):
            table = {field: whole(_chunked(batch[column])) for field, column in chosen.items()}
            yield _converted(table, name, row)
            row += batch.num_rows


def _chunked(array: Any) -> Any:
    import pyarrow as pa

    return pa.chunked_array([array])


def _blocks(
    path: Path, name: str, parse: Parse, *, quoted: bool = False, header: Callable[[bytes], bytes] | None = None
) -> Iterator[Columns]:
    """Yield complete lines of a text file, some megabytes at a time, each block with the file's header."""
    report = Report()
    head = look_at_head(path, name, report)
    report.raise_errors("strict", name)
    assert head is not None
    first = header(head) if header else b""
    skip = len(first) if head.startswith(first) else 0
    row = 0
    with open_bytes(path) as stream:
        rest, read = b"", bytes(stream.read(BLOCK))
        rest = read.removeprefix(UTF8_MARK)[skip:]
        while rest or read:
            end = max(0, _last_line(rest, quoted)) if read else len(rest)
            block, rest = rest[:end], rest[end:]
            if block.strip():
                columns = parse(first + block)
                if columns is None:
                    yield from _as_a_whole(path, name, row)
                    return
                yield _converted(columns, name, row)
                row += len(columns["id"])
            read = bytes(stream.read(BLOCK)) if read else b""
            rest += read


def _last_line(data: bytes, quoted: bool) -> int:
    """Return where the last complete record ends; in CSV a quoted line break does not end a record."""
    end = data.rfind(b"\n") + 1
    while quoted and end and data.count(b'"', 0, end) % 2:
        end = data.rfind(b"\n", 0, end - 1) + 1
    return end


def _parse_json(block: bytes) -> Columns | None:
    """Parse a block with Arrow and the types of the first record; None if the block is not that regular."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    try:
        first = json.loads(block.split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return None
    if not isinstance(first, dict):
        return None
    column_of = DOCUMENTS.match(first, numbers_in(first))
    if DOCUMENTS.missing(column_of):
        return None
    column_of.setdefault("title", "title")
    kinds = {
        column: pa.int64() if field == "id" and isinstance(first[column], int) else pa.string()
        for field, column in column_of.items()
    }
    options = arrow_json.ParseOptions(explicit_schema=pa.schema(kinds.items()), unexpected_field_behavior="ignore")
    try:
        table = arrow_json.read_json(
            pa.BufferReader(block),
            read_options=arrow_json.ReadOptions(block_size=len(block) + 1),
            parse_options=options,
        )
    except pa.ArrowInvalid:
        return None
    columns = {field: whole(table[column]) for field, column in column_of.items()}
    if columns["title"].null_count == len(columns["title"]):
        del columns["title"]
    return columns


def _header(head: bytes, comma: bool) -> bytes:
    """Return the header line; for a file without one, the names of its columns by position."""
    line = head.split(b"\n", 1)[0] + b"\n"
    cells = _cells(line, comma)
    by_width = {len(fields): fields for fields in DOCUMENTS.positions}
    if not DOCUMENTS.match(cells) and len(cells) in by_width and not comma:
        return "\t".join(by_width[len(cells)]).encode() + b"\n"
    return line


def _cells(line: bytes, comma: bool) -> list[str]:
    text = line.decode(errors="replace").rstrip("\r\n")
    return next(csv.reader([text])) if comma else text.split("\t")


def _parse_delimited(block: bytes, comma: bool) -> Columns | None:
    """Return the columns of a block with a header; None if a field has no column, or a row has another width."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    cells = _cells(block.split(b"\n", 1)[0], comma)
    column_of = DOCUMENTS.match(cells)
    if DOCUMENTS.missing(column_of):
        return None
    names = [str(place) for place in range(len(cells))]  # a header may repeat a name
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(block),
            read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=1, block_size=len(block) + 1),
            parse_options=arrow_csv.ParseOptions(
                delimiter="," if comma else "\t", quote_char='"' if comma else False, newlines_in_values=comma
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_binary()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    return {field: whole(table[str(cells.index(column))]) for field, column in column_of.items()}


def _as_a_whole(path: Path, name: str, skip: int) -> Iterator[Columns]:
    """Yield the rest of a file after an irregular block: the loader reads all of it, and reports what is wrong."""
    for columns in _at_once(path, name):
        yield {field: column.slice(skip) for field, column in columns.items()}


def _converted(columns: Columns, name: str, row: int) -> Columns:
    """Return ids and texts as strings; a missing id, or bytes that are not UTF-8, are errors."""
    report = Report()

    def add_problem(kind: str, found: str, rows: Iterable[int]) -> None:
        report.add(kind, name, found, (row + bad + 1 for bad in rows))

    converted = {
        field: CONVERTERS[DOCUMENTS.field(field).kind](column, add_problem) for field, column in columns.items()
    }
    report.raise_errors("strict", name)
    return converted
