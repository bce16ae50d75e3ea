"""Parquet, CSV, TSV, JSON arrays and plain text, streamed in blocks of records."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from steelyard.audit.training_data.batches import Batch, Block, RowProblem
from steelyard.audit.training_data.columns import TextColumns, add_record, detect
from steelyard.audit.training_data.jsonlines import SAMPLE, raw_blocks, too_long
from steelyard.datasets.tables.files import open_bytes
from steelyard.errors import DataError

ROWS = 4096
"""Records in a block."""
LONGEST_FIELD = 1 << 30


def read_parquet(path: Path, asked: Sequence[str] = ()) -> Iterator[Block]:
    """Yield the rows of a Parquet file; only text columns are read."""
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        _check_columns(asked, file.schema_arrow.names, path)
        first = next(file.iter_batches(batch_size=SAMPLE), None)
        columns = detect(first.to_pylist() if first is not None else [], asked)
        row = 1
        share = max(1, path.stat().st_size // max(1, file.metadata.num_rows))
        for table in file.iter_batches(batch_size=ROWS, columns=list(columns.names)) if columns.names else ():
            plain = all(pa.types.is_string(kind) or pa.types.is_large_string(kind) for kind in table.schema.types)
            parse = _parse_texts if plain and columns.body is None else _parse_table
            yield Block(partial(parse, table, row, columns), share * table.num_rows)
            row += table.num_rows
        if row <= file.metadata.num_rows and (columns.names or first is None):
            raise DataError(
                f"the metadata count {file.metadata.num_rows:,} rows, but only {row - 1:,} can be read",
                where=path.name,
                hint="write the file again",
            )


def _check_columns(asked: Sequence[str], columns: Sequence[str], path: Path) -> None:
    for name in asked:
        if name not in columns:
            raise DataError(f"column {name!r} does not exist", where=path.name, hint=f"it has {', '.join(columns)}")


def _parse_texts(table: Any, first_row: int, columns: TextColumns) -> Batch:
    if any(column.null_count for column in table.columns):
        return _parse_table(table, first_row, columns)
    batch = Batch(table.num_rows)
    numbers = list(range(first_row, first_row + table.num_rows))
    for name in columns.names:
        batch.extend(numbers, name, table[name].to_pylist())
    return batch


def _parse_table(table: Any, first_row: int, columns: TextColumns) -> Batch:
    return parse_records(table.to_pylist(), first_row, columns)


def parse_records(records: Iterable[Any], first_row: int, columns: TextColumns) -> Batch:
    """Return the texts of records that are in memory."""
    batch = Batch()
    for row, record in enumerate(records, first_row):
        batch.rows_read += 1
        add_record(batch, row, record, columns)
    return batch


def read_delimited(path: Path, asked: Sequence[str] = (), *, delimiter: str) -> Iterator[Block]:
    """Yield the records of a CSV or TSV file with a header; TSV has no quotation."""
    csv.field_size_limit(LONGEST_FIELD)
    with open_bytes(path) as stream:
        # Bytes that are not UTF-8 become lone surrogates, which no valid file has: so they are noticed.
        text = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8-sig", errors="surrogateescape", newline="")
        quoted = delimiter == ","
        reader = csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
        header = next(reader, [])
        _check_columns(asked, header, path)
        columns: TextColumns | None = None
        row = 1
        while lines := list(islice(reader, ROWS)):
            if columns is None:
                columns = detect([dict(zip(header, line, strict=False)) for line in lines[:SAMPLE]], asked)
            size = sum(len(field) + 1 for line in lines for field in line)
            yield Block(partial(_parse_lines, header, lines, row, columns), size)
            row += len(lines)


def _parse_lines(header: Sequence[str], lines: Sequence[Sequence[str]], first_row: int, columns: TextColumns) -> Batch:
    batch = Batch(len(lines))
    for row, line in enumerate(lines, first_row):
        if not line:  # a blank line
            continue
        record = dict(zip(header, line, strict=False))
        for name, value in record.items():
            if not value.isascii() and any("\udc80" <= character <= "\udcff" for character in value):
                batch.problems.append(RowProblem(row, "encoding", name))
                record[name] = value.encode(errors="surrogateescape").decode(errors="replace")
        add_record(batch, row, record, columns)
    return batch


def read_array(path: Path, asked: Sequence[str] = ()) -> Iterator[Block]:
    """Yield the records of a JSON array, which is read whole."""
    with open_bytes(path) as stream:
        content = bytes(stream.read())
    try:
        records = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        hint = "write JSON Lines, one object a line"
        raise DataError(f"the file is not valid JSON: {error}", where=path.name, hint=hint) from error
    if isinstance(records, dict):  # {"data": [...]}
        records = next((value for value in records.values() if isinstance(value, list)), [records])
    yield from read_records(records, asked)


def read_records(records: Iterable[Any], asked: Sequence[str] = ()) -> Iterator[Block]:
    """Yield blocks of records of any kind: dictionaries, strings, tuples of strings (pairs, triplets), messages."""
    iterator = iter(records)
    columns: TextColumns | None = None
    row = 1
    while part := [_as_record(record) for record in islice(iterator, ROWS)]:
        if columns is None:
            columns = detect([record for record in part[:SAMPLE] if isinstance(record, Mapping)], asked)
        yield Block(partial(parse_records, part, row, columns))
        row += len(part)


def _as_record(record: Any) -> Any:
    """Return a record with named columns for what has none.

    >>> _as_record("a text"), _as_record(("a query", "its positive"))
    ({'text': 'a text'}, {'text': ['a query', 'its positive']})
    """
    if isinstance(record, str):
        return {"text": record}
    if isinstance(record, list | tuple):
        return {"text": list(record)}
    return record


def read_lines(path: Path, asked: Sequence[str] = ()) -> Iterator[Block]:
    """Yield a plain text file: every line is a text."""
    del asked
    with open_bytes(path) as stream:
        for row, block in raw_blocks(stream):
            yield Block(partial(_parse_plain, block, row), len(block or b""))


def _parse_plain(block: bytes | None, first_row: int) -> Batch:
    if block is None:
        return too_long(first_row)
    lines = block.removesuffix(b"\n").split(b"\n")
    batch = Batch(len(lines))
    for row, line in enumerate(lines, first_row):
        try:
            text = line.decode("utf-8-sig" if row == 1 else "utf-8")
        except UnicodeDecodeError as error:
            batch.problems.append(RowProblem(row, "encoding", f"byte {error.start + 1} of the line"))
            text = line.decode(errors="replace")
        batch.add(row, "text", text)
    return batch
