"""Read CSV and TSV into columns. CSV fields may be quoted; in TSV a quotation mark is an ordinary character.

CSV may have semicolons, as spreadsheets write it where the comma is the decimal mark: the header shows it.

The header names the columns. A TSV file without a header is read by position if its number of columns is that of the
role (`id text`; `query document grade`; trec_eval's `query 0 document grade`). A CSV file is so only with grades.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from steelyard.datasets.problems import Report
from steelyard.datasets.tables.columns import Role, report_ambiguous_columns
from steelyard.datasets.tables.convert import whole
from steelyard.datasets.tables.files import header_line, in_memory, look_at_head, open_bytes, read_bytes

BLOCKS = (1 << 20, 1 << 26, (1 << 31) - 1)
"""Bytes that Arrow parses at a time: a row must fit into one block, and few rows exceed the first size."""
HEADER = "if the first line is data, add a header above it"
NUMBERED = ("grade", "value")
"""Fields that are numbers, so that a first row with one is not a header."""
QUOTE = 'put a text with the separator or a line break between quotation marks: "like, this"'
BLANK = "replace tabs and line breaks inside a text by blanks, or write JSON Lines; a .csv file may be quoted"
"""What to do about rows with too many columns."""
DOUBLED = r'(?s)^"(?:[^"]|"")*""(?:[^"]|"")*"$'
"""A quoted text with doubled quotation marks inside, as spreadsheets and pandas write it."""


def read_delimited(path: Path, name: str, role: Role, report: Report, *, comma: bool) -> dict[str, Any] | None:
    """Return the columns of a role, by field, as bytes; None, with problems in the report, if they cannot be read."""
    head = look_at_head(path, name, report)
    if head is None:
        return None
    line = header_line(head)
    delimiter = _separator(line, role) if comma else "\t"
    first = _cells(line, delimiter)
    fields, header = _fields(first, role, comma=comma)
    if fields is None:
        missing = "; ".join(map(str, role.missing(role.match(first))))
        remedy = f"{role.mapping_hint(name, first)}; {HEADER}"
        report.add(
            "columns", name, f"no column for {missing}; the first line is {_shown(first, delimiter)}", remedy=remedy
        )
        return None
    if header and not re.search(rb"[\r\n]", head):  # Arrow cannot skip a line that does not end
        report.add("nothing-there", name, f"the table has no {role.name}")
        return None
    if not header:
        shown = ", ".join(field or "(skipped)" for field in fields)
        report.add("no-header", name, f"no header: the first line, {_shown(first, delimiter)}, is read as {shown}")
    table, ragged = _table(path, head, len(fields), delimiter, quoted=comma, skip=int(header))
    if ragged:
        width = next(iter(ragged.values()))
        remedy = "" if width < len(fields) else QUOTE if comma else BLANK
        rows = [row - int(header) for row in ragged]
        report.add(
            "row", name, f"a row must have {len(fields)} columns like the first line, got {width}", rows, remedy=remedy
        )
        if len(ragged) > len(table):  # a file of another shape: further problems would be misleading
            return None
        table = _with_gaps(table, rows)
    if comma and len(table) and _runs_on(path, table[-1][-1].as_py() or b""):
        report.add("row", name, "a quotation mark is never closed: the rest of the file is one text", [len(table)])
        return None
    _report_columns(first if header else [], fields, name, role, report)
    if header:
        several = {field: names for field, names in role.candidates(first).items() if names[1:]}
        ambiguous = {
            field: {column: whole(table[first.index(column)]) for column in several[field]} for field in several
        }
        report_ambiguous_columns(ambiguous, role, name, report)
    columns = {field: whole(table[i]) for i, field in enumerate(fields) if field}
    if not comma:
        _report_quotes(columns, name, role, report)
    return columns


def _report_columns(first: list[str], fields: list[str], name: str, role: Role, report: Report) -> None:
    """Report a column that is not read because another has its name."""
    read = {column.strip().lower() for column, field in zip(first, fields, strict=False) if field}
    for column, field in zip(first, fields, strict=False):
        if not field and (same := column.strip().lower()) in read:
            read.discard(same)
            message = f"two columns have the name {column.strip()!r}: the first one is read"
            report.add("aside", name, message, remedy="remove one of the two, or rename it")


def _report_quotes(columns: dict[str, Any], name: str, role: Role, report: Report) -> None:
    """Report quoted texts, whose quotation marks a TSV file keeps."""
    for field, column in columns.items():
        if role.field(field).kind not in ("text", "texts"):
            continue
        quoted = column.filter(pc.starts_with(column, '"'))
        if len(quoted) and pc.any(pc.match_substring_regex(quoted, DOUBLED)).as_py():
            rows = np.flatnonzero(np.asarray(pc.match_substring_regex(column, DOUBLED))) + 1
            report.add("quoted", name, f"a {field} is quoted, with doubled quotation marks inside", rows)


def _table(
    path: Path, head: bytes, width: int, delimiter: str, *, quoted: bool, skip: int
) -> tuple[Any, dict[int, int]]:
    """Return the file as columns of bytes, and the rows of another width, which are skipped, with their widths."""
    from pyarrow import csv as arrow_csv

    # Columns are numbered: a header may repeat a name.
    names = [str(position) for position in range(width)]
    ragged: dict[int, int] = {}

    def note(row: Any) -> str:
        ragged[row.number] = row.actual_columns
        return "skip"

    def read(block: int, handler: Any = None) -> Any:
        ragged.clear()
        with in_memory(head) or open_bytes(path) if handler is None else _as_utf8(read_bytes(path)) as stream:
            return arrow_csv.read_csv(
                stream,
                # One thread, or Arrow does not report the numbers of bad rows.
                read_options=arrow_csv.ReadOptions(
                    column_names=names, skip_rows=skip, use_threads=False, block_size=block
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=delimiter,
                    quote_char='"' if quoted else False,
                    newlines_in_values=quoted,
                    invalid_row_handler=handler,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.large_binary()), strings_can_be_null=False
                ),
            )

    handler = None
    for block in BLOCKS:
        while True:
            try:
                return read(block, handler), ragged
            except pa.ArrowInvalid as error:
                if "straddl" in str(error) and block != BLOCKS[-1]:
                    break
                if handler is not None or "columns, got" not in str(error):
                    raise
                handler = note  # Arrow decodes each row that it passes to the handler, so it needs UTF-8
    raise AssertionError("the last block returns or raises")


def _as_utf8(data: bytes) -> Any:
    """Return a stream of the data, with U+FFFD for what is not UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        data = data.decode(errors="replace").encode()
    return pa.BufferReader(data)


def _with_gaps(table: Any, rows: Sequence[int]) -> Any:
    """Return the table with empty rows for the skipped ones, so that the others keep their numbers."""
    gap = np.zeros(len(table) + len(rows), dtype=bool)
    gap[np.asarray(rows) - 1] = True
    return table.take(pa.array(np.cumsum(~gap) - 1, mask=gap))


def _runs_on(path: Path, last: bytes) -> bool:
    """Return whether the last field has line breaks, but no quotation mark ends the file."""
    return b"\n" in last.strip() and not read_bytes(path).rstrip().endswith(b'"')


def _shown(first: list[str], delimiter: str) -> str:
    return repr(delimiter.join(first)[:60])


def _separator(line: str, role: Role) -> str:
    """Return the separator of a header; a comma if none matches the role."""
    return next((mark for mark in ",;\t" if not role.missing(role.match(_cells(line, mark)))), ",")


def _cells(line: str, delimiter: str) -> list[str]:
    return line.split("\t") if delimiter == "\t" else next(csv.reader([line], delimiter=delimiter), [""])


def _fields(first: list[str], role: Role, *, comma: bool) -> tuple[list[str] | None, bool]:
    """Return the field of each column ('' for none), and whether the first row is a header.

    A CSV file is read by position only if a number shows that its first row is data: it may be an unknown header.
    """
    field_of = {column: field for field, column in role.match(first).items()}
    if not role.missing(field_of.values()):
        taken: set[str] = set()
        fields = []
        for column in first:
            field = field_of.get(column, "")
            fields.append("" if field in taken else field)
            taken.add(field)
        return fields, True
    for fields_by_place in role.positions:
        numbered = any(field in NUMBERED for field in fields_by_place)
        if len(fields_by_place) != len(first) or field_of or (comma and not numbered):
            continue
        if _fits(first, fields_by_place):
            return list(fields_by_place), False
    return None, True


def _fits(first: list[str], fields: tuple[str, ...]) -> bool:
    """Return whether grades and values of pairs are numbers, so that an unknown header is not read as data."""
    return all(field not in NUMBERED or _is_number(cell) for cell, field in zip(first, fields, strict=True))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
