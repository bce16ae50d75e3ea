"""Convert columns as they were read into columns of one type: ids, texts, grades, lists of ids.

Every function returns an array of its type, or None if the column cannot be converted; problems are reported with
`add_problem`. Texts are `large_string`, so that a corpus may exceed 2 GB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

AddProblem = Callable[[str, str, Iterable[int]], None]
"""Called with the kind of problem, a message, and the rows (from 0)."""

TEXT = pa.large_string()
LISTS = pa.large_list(TEXT)
NOTHING = pa.scalar("", TEXT)
WORDS = {"true": "1", "false": "0", "yes": "1", "no": "0"}


def whole(column: Any) -> Any:
    """Return a column without chunks, dictionary, UUIDs as bytes, and the limit of 2 GB of text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if isinstance(column.type, pa.UuidType):  # bytes would not match ids in other files
        column = pa.array([value and str(value) for value in column.to_pylist()], TEXT)
    if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(TEXT)
    if pa.types.is_fixed_size_list(column.type):  # how lists of equal length are written
        column = column.cast(pa.large_list(column.type.value_type))
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def as_ids(column: Any, add_problem: AddProblem) -> Any:
    """Return ids as text. Integers are written in decimal; a missing or empty id is reported.

    A row without an id gets its number, so that the rest can be checked; nothing is loaded from such a file.
    """
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_nested(kind):
        add_problem("id-type", f"ids must be text or integers, got {kind}", ())
        if pa.types.is_nested(kind):
            return None
    ids = as_texts(column, add_problem, missing=None)
    if ids is None:
        return None
    absent = pc.or_kleene(pc.is_null(ids), pc.equal(ids, NOTHING))
    if rows := _rows(absent):
        add_problem("missing-id", "the id is missing", rows)
        named = ids.to_pylist()
        for row in rows:
            named[row] = f"(row {row + 1})"
        return pa.array(named, TEXT)
    return ids


def as_texts(column: Any, add_problem: AddProblem, missing: str | None = "") -> Any:
    """Return texts, with `missing` for none; bytes that are not UTF-8 are reported and read as U+FFFD."""
    kind = column.type
    if pa.types.is_nested(kind):
        add_problem("columns", f"the column must be text, got {kind}", ())
        return None
    try:
        column.validate(full=True)
        texts = column.cast(TEXT)
    except pa.ArrowInvalid:
        raw = column.cast(pa.large_binary())
        raw.validate(full=True)  # a damaged file may have offsets outside its bytes
        texts = _decode(raw, add_problem)
    return texts if missing is None or texts.null_count == 0 else pc.fill_null(texts, missing)


def as_written(column: Any, add_problem: AddProblem) -> Any:
    """Return texts of a table with types: a column of numbers, dates or booleans is reported."""
    kind = column.type
    if is_number(kind) or pa.types.is_temporal(kind):
        add_problem("columns", f"the column must be text, got {kind}", ())
        return None
    return as_texts(column, add_problem)


def is_number(kind: Any) -> bool:
    """Return whether a type is a number or a boolean."""
    types = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in types)


def as_grades(column: Any, add_problem: AddProblem) -> Any:
    """Return grades as float64, null for none and NaN; whether they are integers is checked later."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        if pa.types.is_nested(kind):
            add_problem("columns", f"grades must be numbers, got {kind}", ())
            return None
        texts = as_texts(column, add_problem, missing=None)
        try:
            column = pc.utf8_trim_whitespace(texts).cast(pa.float64())
        except pa.ArrowInvalid:
            return _numbers_one_by_one(texts.to_pylist(), add_problem)
    grades = column.cast(pa.float64())
    return pc.if_else(pc.is_nan(grades), pa.scalar(None, pa.float64()), grades)


def as_counts(column: Any, add_problem: AddProblem) -> Any:
    """Return numbers of at least 0 as float64, null for none; yes and no count as 1 and 0."""
    counts = _numbers(column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column, add_problem)
    if counts is None:
        counts = _counts_one_by_one(column, add_problem)
    if counts is None:
        return None
    good = pc.and_(pc.greater_equal(counts, 0), pc.is_finite(counts))
    if rows := _rows(pc.fill_null(pc.invert(good), False)):
        add_problem("value", f"a count must be at least 0, got {counts[rows[0]].as_py():g}", rows)
        return None
    return counts


def as_times(column: Any, add_problem: AddProblem) -> Any:
    """Return times as seconds since 1970, null for none: numbers (seconds, milli- or microseconds) or ISO 8601."""
    if pa.types.is_temporal(column.type):
        moments = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)))
        return pc.divide(moments.cast(pa.int64()).cast(pa.float64()), 1e6)
    numbers = _numbers(column, add_problem)
    if numbers is None:
        texts = as_texts(column, add_problem, missing=None)
        return None if texts is None else _moments(texts.to_pylist(), add_problem)
    # 1e11 is the year 5138 in seconds and 1973 in milliseconds; logs are from between.
    for most, unit in ((1e14, 1e6), (1e11, 1e3)):
        numbers = pc.if_else(pc.greater(numbers, most), pc.divide(numbers, unit), numbers)
    return numbers


def seconds(text: str) -> float:
    """Return a written time as seconds since 1970; UTC without a zone. A ValueError for anything else.

    >>> seconds("1970-01-02"), seconds("1970-01-01T01:00:00+01:00")
    (86400.0, 0.0)
    """
    moment = datetime.fromisoformat(text.strip())
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def as_lists(column: Any, add_problem: AddProblem) -> Any:
    """Return lists of ids; a column of single ids is kept, one id per row."""
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return as_ids(column, add_problem)
    values = as_texts(column.values if column.offset == 0 else column.flatten(), add_problem, missing=None)
    if values is None:
        return None
    if column.null_count:
        add_problem("row", "the list of candidates is missing", _rows(pc.is_null(column)))
        return None
    if values.null_count:
        add_problem("missing-id", "a list has a missing id", ())
        return None
    offsets = np.asarray(column.offsets, dtype=np.int64)
    return pa.LargeListArray.from_arrays(pa.array(offsets - offsets[0], pa.int64()), values)


def _decode(column: Any, add_problem: AddProblem) -> Any:
    texts, bad = [], []
    for row, value in enumerate(column.to_pylist()):
        try:
            texts.append(None if value is None else value.decode())
        except UnicodeDecodeError:
            bad.append(row)
            texts.append(value.decode(errors="replace"))
    if bad:
        add_problem("encoding", f"the text must be UTF-8, got {column[bad[0]].as_py()[:40]!r}", bad)
    return pa.array(texts, TEXT)


def _numbers(column: Any, add_problem: AddProblem) -> Any:
    """Return the column as float64, null for empty; None if it holds something else."""
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        texts = as_texts(column, add_problem, missing=None)
        if texts is None:
            return None
        texts = pc.utf8_trim_whitespace(texts)
        column = pc.if_else(pc.equal(texts, ""), pa.scalar(None, TEXT), texts)
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        return None


def decimal(text: str) -> float:
    """Return the number in a text; a ValueError for anything else, also for Python's `1_0` and digits beyond ASCII.

    >>> decimal(" 2.50 "), decimal("1e-3")
    (2.5, 0.001)
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"not a number: {text!r}")
    return float(text)


def _counts_one_by_one(column: Any, add_problem: AddProblem) -> Any:
    texts = as_texts(column, add_problem, missing=None)
    if texts is None:
        return None
    numbers: list[float | None] = []
    bad = []
    for row, text in enumerate(texts.to_pylist()):
        word = (text or "").strip().lower()
        try:
            numbers.append(decimal(WORDS.get(word, word)) if word else None)
        except ValueError:
            bad.append(row)
    if bad:
        add_problem("value", f"a count must be a number, got {texts[bad[0]].as_py()!r}", bad)
        return None
    return pa.array(numbers, pa.float64())


def _moments(values: Sequence[str | None], add_problem: AddProblem) -> Any:
    known: dict[str | None, float | None] = {None: None, "": None}
    bad = []
    for row, value in enumerate(values):
        if value in known:
            continue
        try:
            known[value] = seconds(str(value))
        except (ValueError, OverflowError, OSError):
            bad.append(row)
    if bad:
        add_problem("value", f"a time must be like 2026-03-01T12:30:00, got {values[bad[0]]!r}", bad)
        return None
    return pa.array([known[value] for value in values], pa.float64())


def _numbers_one_by_one(values: Sequence[Any], add_problem: AddProblem) -> Any:
    numbers, bad = [], []
    for row, value in enumerate(values):
        try:
            numbers.append(None if value is None or not value.strip() else decimal(value))
        except ValueError:
            bad.append(row)
            numbers.append(1.0)  # as without a grade, so that the others can be checked; nothing is loaded
    if bad:
        add_problem("grade", f"a grade must be a number, got {values[bad[0]]!r}", bad)
    if len(bad) == len(values):
        return None
    return as_grades(pa.array(numbers, pa.float64()), add_problem)


def _rows(mask: Any) -> list[int]:
    flags = np.asarray(mask.fill_null(True) if mask.null_count else mask)
    return [int(row) for row in np.flatnonzero(flags)]


CONVERTERS = {
    "id": as_ids,
    "text": as_written,
    "grade": as_grades,
    "ids": as_lists,
    "count": as_counts,
    "time": as_times,
}
"""By the kind of a field."""
