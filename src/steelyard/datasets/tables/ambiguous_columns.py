"""Two columns for one field in one table, such as `score` and `relevance`: which one is read, and how it is reported.

The order of the names in `columns` decides, and the other column is reported. Grades determine the scores: if two
columns of grades differ, the intended one is unknown, and nothing is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc

from steelyard.datasets.problems import Report
from steelyard.datasets.tables.columns import Role
from steelyard.datasets.tables.convert import as_grades, as_texts

REMEDY = "remove one of the two, or rename it"


def report_ambiguous_columns(held: Mapping[str, Mapping[str, Any]], role: Role, name: str, report: Report) -> None:
    """Report columns that are not read because another one is, unless they hold the same or nothing.

    `held` has the columns that could be a field, by field and by name, the one that is read first.
    """
    for field, columns in held.items():
        (read, first), *others = columns.items()
        for other, second in others:
            if role.field(field).kind == "grade":
                _compare_grades((read, first), (other, second), name, report)
            elif not _nothing_more(first, second):
                report.add("aside", name, aside(field, read, other), remedy=REMEDY)


def aside(field: str, read: str, other: str) -> str:
    """Return the message for a column that is not read.

    >>> aside("text", "text", "contents")
    "two columns could be the text: 'text' is read, 'contents' is not"
    """
    return f"two columns could be the {field}: {read!r} is read, {other!r} is not"


def _compare_grades(read: tuple[str, Any], other: tuple[str, Any], name: str, report: Report) -> None:
    first, second = (None if column is None else as_grades(column, _silent) for _, column in (read, other))
    if first is None or second is None:
        return  # not grades: the reader of the first column reports it
    same = pc.or_(pc.is_null(second), pc.fill_null(pc.equal(first, second), False))
    differing = np.flatnonzero(~np.asarray(same))
    if len(differing):
        one, two = (_shown(grades[int(differing[0])].as_py()) for grades in (first, second))
        message = f"two columns of grades differ: {read[0]!r} has {one}, {other[0]!r} has {two}"
        report.add("two-grades", name, message, differing + 1)


def _shown(grade: float | None) -> str:
    return "none" if grade is None else f"{grade:g}"


def _nothing_more(first: Any, second: Any) -> bool:
    """Return whether the second column is empty, or equal to the first."""
    if second is None or first is None:
        return False
    one, two = (as_texts(column, _silent) for column in (first, second))
    if one is None or two is None:
        return bool(first.equals(second))
    return bool(pc.all(pc.equal(two, "")).as_py() or one.equals(two))


def _silent(kind: str, found: str, rows: Iterable[int]) -> None:
    pass
