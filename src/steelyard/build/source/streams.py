"""Documents of a file in batches, so that a corpus of any size needs no more memory than a batch."""

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
from steelyard.datasets.tables.ambiguous_columns import REMEDY, aside
from steelyard.datasets.tables.columns import DOCUMENTS, numbers_in
from steelyard.datasets.tables.convert import CONVERTERS, is_number, whole
from steelyard.datasets.tables.files import UTF8_MARK, format_of, look_at_head, open_bytes, translated
from steelyard.datasets.tables.tabular import read_table

BLOCK = 16 << 20
"""Bytes of text that are parsed at a time."""
ROWS = 1 << 14
"""Rows of Parquet that are read at a time."""

Columns = dict[str, Any]
"""Arrow arrays of one length, by field: `id`, and with texts also `text` and perhaps `title`."""

Parse = Callable[[bytes], Columns | None]


def stream_documents(path: Path, name: str, *, texts: bool = True) -> Iterator[Columns]:
    """The documents of one file, in its order; without `texts` only their ids, where that is cheaper.

    What the loader would call an error is a DataError here, too, at the batch that has it.
    """
    report = Report()
    with translated(report, name):
        _tell_of_rivals(path, name)
        yield from _stream(path, name, texts)
    report.raise_errors("strict", name)


def _tell_of_rivals(path: Path, name: str) -> None:
    """Columns that are not read because another of their meaning is; by their names, as nobody has read them yet."""
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
    """Whether carriage returns alone end the lines of a table: blocks are cut at line feeds."""
    with open_bytes(path) as stream:
        return b"\r" in bytes(stream.read(1 << 16)).split(b"\n", 1)[0].rstrip(b"\r")


def _at_once(path: Path, name: str) -> Iterator[Columns]:
    """Formats that only make sense as a whole."""
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
        found = DOCUMENTS.match(file.schema_arrow.names, numbers)
        if missing := DOCUMENTS.missing(found):
            wanted = "; ".join(map(str, missing))
            report.add("columns", name, f"no column for {wanted}; found {', '.join(file.schema_arrow.names)}")
            report.raise_errors("strict", name)
        wanted_columns = found if texts else {"id": found["id"]}
        row = 0
        for batch in file.iter_batches(batch_size=ROWS, columns=sorted(set(wanted_columns.values()))):
            table = {field: whole(_chunked(batch[column])) for field, column in wanted_columns.items()}
            yield _converted(table, name, row)
            row += batch.num_rows


def _chunked(array: Any) -> Any:
    import pyarrow as pa

    return pa.chunked_array([array])


def _blocks(
    path: Path, name: str, parse: Parse, *, quoted: bool = False, header: Callable[[bytes], bytes] | None = None
) -> Iterator[Columns]:
    """Whole lines of a text file, some megabytes at a time, each time under the file's header if it has one."""
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
            cut = max(0, _last_line(rest, quoted)) if read else len(rest)
            block, rest = rest[:cut], rest[cut:]
            if block.strip():
                columns = parse(first + block)
                if columns is None:
                    yield from _slowly(path, name, row)
                    return
                yield _converted(columns, name, row)
                row += len(columns["id"])
            read = bytes(stream.read(BLOCK)) if read else b""
            rest += read


def _last_line(data: bytes, quoted: bool) -> int:
    """Where the last whole record ends; in CSV a line break inside quotation marks ends none."""
    end = data.rfind(b"\n") + 1
    while quoted and end and data.count(b'"', 0, end) % 2:
        end = data.rfind(b"\n", 0, end - 1) + 1
    return end


def _parse_json(block: bytes) -> Columns | None:
    """Arrow's parser with the types of the first record; None where the block is not as regular as that."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    try:
        first = json.loads(block.split(b"\n", 1)[0])
    except ValueError:
        return None
    if not isinstance(first, dict):
        return None
    found = DOCUMENTS.match(first, numbers_in(first))
    if DOCUMENTS.missing(found):
        return None
    found.setdefault("title", "title")
    kinds = {
        column: pa.int64() if field == "id" and isinstance(first[column], int) else pa.string()
        for field, column in found.items()
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
    columns = {field: whole(table[column]) for field, column in found.items()}
    if columns["title"].null_count == len(columns["title"]):
        del columns["title"]
    return columns


def _header(head: bytes, comma: bool) -> bytes:
    """The header line; one made up for a file without, whose columns go by their places."""
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
    """The columns of a block with a header; None where it has none for the fields, or rows of another width."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    cells = _cells(block.split(b"\n", 1)[0], comma)
    found = DOCUMENTS.match(cells)
    if DOCUMENTS.missing(found):
        return None
    names = [str(place) for place in range(len(cells))]  # a header may name two columns alike
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
    return {field: whole(table[str(cells.index(column))]) for field, column in found.items()}


def _slowly(path: Path, name: str, skip: int) -> Iterator[Columns]:
    """The rest of a file of which a block was irregular: the loader reads all of it, and names what is wrong."""
    for columns in _at_once(path, name):
        yield {field: column.slice(skip) for field, column in columns.items()}


def _converted(columns: Columns, name: str, row: int) -> Columns:
    """Ids and texts as text; an id that is missing, or bytes that are no text, stop the cut."""
    report = Report()

    def tell(kind: str, found: str, rows: Iterable[int]) -> None:
        report.add(kind, name, found, (row + bad + 1 for bad in rows))

    made = {field: CONVERTERS[DOCUMENTS.field(field).kind](column, tell) for field, column in columns.items()}
    report.raise_errors("strict", name)
    return made
