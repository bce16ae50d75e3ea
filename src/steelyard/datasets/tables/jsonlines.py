"""Read JSON Lines, or a JSON array of objects, into columns: with Arrow's parser, or line by line if irregular."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from steelyard.datasets.problems import Report
from steelyard.datasets.tables.columns import Field, Role, numbers_in, report_ambiguous_columns
from steelyard.datasets.tables.convert import whole
from steelyard.datasets.tables.files import UTF8_MARK, in_memory, look_at_head, open_bytes, read_bytes, text_lines
from steelyard.datasets.tables.values import KINDS as SAMPLES
from steelyard.datasets.tables.values import arrow_type, from_json

BLOCK = 64 << 20
"""Bytes that Arrow parses at a time; longer records are read line by line."""
HALF = re.compile(r"\\u[dD][89a-fA-F]")
HALF_FOUND = "half of a surrogate pair such as \\ud83d, which is not a character"
HALF_REMEDY = "write the whole character: texts are often truncated in the middle of an emoji"
LOOSE = ("count", "time")
"""Kinds that may be written as numbers, booleans or text."""


def read_json(path: Path, name: str, role: Role, report: Report) -> dict[str, Any] | None:
    """Return the columns of a role, by field; None, with problems in the report, if they cannot be read."""
    head = look_at_head(path, name, report)
    if head is None:
        return None
    if head.lstrip().startswith(b"["):
        return _columns(enumerate(_array(path, name, report), 1), name, role, report)
    columns = _read_fast(path, head, role)
    return columns if columns is not None else _columns(_records(path, name, report), name, role, report)


def _read_fast(path: Path, head: bytes, role: Role) -> dict[str, Any] | None:
    """Parse with Arrow and the types of the first record; None if the file is not that regular."""
    from pyarrow import json as arrow_json

    try:
        first = json.loads(head.split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return None
    if not isinstance(first, dict):
        return None
    candidates = role.candidates(first, numbers_in(first))
    column_of = {name: columns[0] for name, columns in candidates.items()}
    if role.missing(column_of) or any(columns[1:] for columns in candidates.values()):
        return None  # a missing or an ambiguous column: every record has to be checked
    owner = {column: name for name, column in column_of.items()}
    for field in role.fields:
        # A later record may have a title or grade that the first does not have, under any of its names.
        if field.name not in column_of or field.kind == "grade":
            owner |= {alias: field.name for alias in field.aliases if alias not in owner}
    types = {column: _type(role.field(name), first.get(column)) for column, name in owner.items()}
    if None in types.values():
        return None
    schema = pa.schema(list(types.items()))
    try:
        small = in_memory(head)
        with small or open_bytes(path) as stream:
            table = arrow_json.read_json(
                stream,
                read_options=arrow_json.ReadOptions(block_size=BLOCK, use_threads=small is None),
                parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
    except pa.ArrowInvalid:
        return None
    columns: dict[str, Any] = {}
    for column, name in owner.items():
        values = whole(table[column])
        if values.null_count < len(values) or (name in column_of and role.field(name).required):
            if name in columns:  # under two names: every record has to be checked
                return None
            columns[name] = values
    return columns


def _type(field: Field, example: Any) -> Any:
    """Return the Arrow type of the column; None if the first record does not show it."""
    if field.kind in SAMPLES:
        return arrow_type(field.kind, example)
    if field.kind == "grade":
        return pa.float64()
    if field.kind in LOOSE and isinstance(example, bool | int | float):
        return pa.bool_() if isinstance(example, bool) else pa.float64()
    if isinstance(example, list):
        return pa.list_(pa.string())
    return pa.int64() if isinstance(example, int) and field.kind == "id" else pa.string()


def _records(path: Path, name: str, report: Report) -> Iterator[tuple[int, Any]]:
    """Yield number and record of every non-blank line; a line that is not JSON is reported, and empty."""
    row, bad_bytes, halves = 0, [], []
    no_json: dict[int, str] = {}
    with text_lines(path) as lines:
        for line in lines:
            line = line.removeprefix(UTF8_MARK) if row == 0 else line
            if not line.strip():
                continue
            row += 1
            try:
                text = line.decode()
            except UnicodeDecodeError:
                bad_bytes.append(row)
                text = line.decode(errors="replace")
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as error:
                no_json[row] = f"the line must be JSON ({error}), got {text.strip()[:60]!r}"
                record = {}
            if HALF.search(text) and (mended := without_halves(record)) != record:
                halves.append(row)
                record = mended
            yield row, record
    _report_once(no_json, name, report)
    if bad_bytes:
        report.add("encoding", name, "the text must be UTF-8", bad_bytes)
    if halves:
        report.add("encoding", name, HALF_FOUND, halves, remedy=HALF_REMEDY)


def _report_once(messages: dict[int, str], name: str, report: Report) -> None:
    """Report one problem for all rows that are not records: a file of another format has only those."""
    if messages:
        report.add("row", name, next(iter(messages.values())), messages)


def without_halves(value: Any) -> Any:
    r"""Return the value with U+FFFD for every half of a surrogate pair, which UTF-8 cannot encode.

    >>> without_halves({"text": ["cut \ud83d", "whole \ud83d\ude00"]}) == {"text": ["cut \ufffd", "whole \U0001f600"]}
    True
    """
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [without_halves(item) for item in value]
    return {key: without_halves(item) for key, item in value.items()} if isinstance(value, dict) else value


def _array(path: Path, name: str, report: Report) -> list[Any]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        report.add("unreadable", name, f"the file must be JSON ({error})")
        return []
    records = records if isinstance(records, list) else [records]
    if HALF.search(text) and (mended := without_halves(records)) != records:
        rows = [row for row, (old, new) in enumerate(zip(records, mended, strict=True), 1) if old != new]
        report.add("encoding", name, HALF_FOUND, rows, remedy=HALF_REMEDY)
        return list(mended)
    return records


def _columns(records: Iterator[tuple[int, Any]], name: str, role: Role, report: Report) -> dict[str, Any] | None:
    """Return columns from records of any kind; problems are reported row by row."""
    rows: list[dict[str, Any]] = []
    no_object: dict[int, str] = {}
    for row, record in records:
        if not isinstance(record, dict):
            no_object[row] = f"a row must be a JSON object, got {json.dumps(record)[:60]}"
        rows.append(record if isinstance(record, dict) else {})
    _report_once(no_object, name, report)
    if not rows:
        if not report.fatal:
            report.add("nothing-there", name, f"no {role.name}")
        return None
    keys = dict.fromkeys(key for record in rows for key in record)
    candidates = role.candidates(keys, [key for key in keys if _all_numbers(rows, key)])
    chosen = {field: columns[0] for field, columns in candidates.items()}
    if missing := role.missing(chosen):
        fields = "; ".join(map(str, missing))
        message = f"no column for {fields}; the columns are {', '.join(sorted(keys)) or 'none'}"
        report.add("columns", name, message, remedy=role.mapping_hint(name, keys))
        return None
    ambiguous = {
        field: {key: _column([row.get(key) for row in rows], role.field(field), name, Report()) for key in several}
        for field, several in candidates.items()
        if several[1:]
    }
    report_ambiguous_columns(ambiguous, role, name, report)
    columns = {
        field: _column([record.get(key) for record in rows], role.field(field), name, report)
        for field, key in chosen.items()
    }
    return None if any(column is None for column in columns.values()) else columns


def _all_numbers(rows: list[dict[str, Any]], key: str) -> bool:
    """Return whether all values of a key are numbers."""
    return all(isinstance(row.get(key), int | float | None) for row in rows)


def _column(values: list[Any], field: Field, name: str, report: Report) -> Any:
    if field.kind in SAMPLES:
        return from_json(values, field, lambda kind, found, rows: report.add(kind, name, found, rows))
    if field.kind == "grade":
        return _grades(values, name, report)
    if field.kind in LOOSE:
        return _strings(values)
    if field.kind == "ids" and any(isinstance(value, list) for value in values):
        return _lists(values, name, report)
    return _texts(values, field, name, report)


def _lists(values: list[Any], name: str, report: Report) -> Any:
    """Return lists of ids; a row that is not a list of texts or whole numbers is a problem."""
    bad = [
        row
        for row, value in enumerate(values, 1)
        if not (isinstance(value, list) and all(type(item) in (str, int) for item in value)) and value is not None
    ]
    if bad:
        report.add("columns", name, f"a list of ids must hold texts, got {_shown(values[bad[0] - 1])}", bad)
        return None
    return pa.array([[str(item) for item in value or ()] for value in values], pa.large_list(pa.large_string()))


def _texts(values: list[Any], field: Field, name: str, report: Report) -> Any:
    """Return texts, or ids; ids may be numbers if all of them are."""
    # A bool is an int in Python, but neither an id nor a text.
    numbers = [row for row, value in enumerate(values, 1) if type(value) is int]
    others = [row for row, value in enumerate(values, 1) if type(value) not in (str, int, type(None))]
    strings = len(values) - len(numbers) - len(others) - values.count(None)
    if rows := others or (numbers if field.kind == "text" else []):
        remedy = "write every id as a string" if field.kind == "id" else ""
        message = f"{field.name} must be text, got {_shown(values[rows[0] - 1])}"
        report.add("columns", name, message, rows, remedy=remedy)
        # Kept as written, so that the others can be checked; nothing is loaded.
        return _strings(values) if len(rows) < len(values) else None
    if numbers and strings:
        minority = numbers if len(numbers) <= strings else [r for r, v in enumerate(values, 1) if isinstance(v, str)]
        message = f"ids must be all numbers or all strings, got {values[minority[0] - 1]!r} as {field.name}"
        report.add("id-type", name, message, minority)
    return _strings(values)


def _shown(value: Any) -> str:
    """Return a value as JSON, shortened: it may be a whole document."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _grades(values: list[Any], name: str, report: Report) -> Any:
    if any(isinstance(value, str) for value in values):
        return _strings(values)
    bad = [
        row
        for row, value in enumerate(values, 1)
        if not isinstance(value, int | float | None) or (isinstance(value, int) and abs(value) > 2**1023)
    ]
    if bad:
        report.add("grade", name, f"a grade must be a number, got {_shown(values[bad[0] - 1])}", bad)
        if len(bad) == len(values):
            return None
        wrong = set(bad)  # 1, as without a grade, so that the others can be checked; nothing is loaded
        values = [1 if row in wrong else value for row, value in enumerate(values, 1)]
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _strings(values: list[Any]) -> Any:
    return pa.array([None if value is None else str(value) for value in values], pa.large_string())
