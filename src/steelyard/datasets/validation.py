"""Checks of tables: ids, texts, grades, and references between the tables.

Each check adds its problems to the report and returns what the next step needs; `docs/data.md` lists the kinds with
their severities. Nothing here loops over rows unless there is a problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from steelyard.datasets.problems import Report
from steelyard.datasets.tables.tabular import Table
from steelyard.types import Float64, Int32, Int64

NOWHERE = pa.scalar(-1, pa.int32())
"""A typed scalar: Arrow infers the type of a plain number each time, which reads package metadata from disk."""
NO_GRADE = pa.scalar(0.0, pa.float64())

Mask = np.ndarray[Any, np.dtype[np.bool_]]


def unique_ids(table: Table, report: Report) -> Table:
    """Return the table with each id once: the first row of repeated ids is kept."""
    ids = table["id"]
    if ascending(ids) or pc.count_distinct(ids).as_py() == len(ids):
        return table
    codes = np.asarray(ids.dictionary_encode().indices)
    _, first = np.unique(codes, return_index=True)
    again = np.setdiff1d(np.arange(len(codes)), first)
    example = ids[int(again[0])].as_py()
    table.add_problem(report, "duplicate-id", f"the id {example!r} again", again)
    return table.take(np.sort(first))


def ascending(ids: Any) -> bool:
    """Return whether ids ascend in byte order, as in most files: then none is repeated."""
    return bool(pc.all(pc.less(ids[:-1], ids[1:])).as_py())


def empty_texts(table: Table, kind: str, report: Report) -> None:
    """Report rows whose title and text are only white space."""
    blank = _blank(table["text"])
    if "title" in table:
        blank &= _blank(table["title"])
    if blank.any():
        rows = np.flatnonzero(blank)
        table.add_problem(report, kind, f"an empty text (id {table['id'][int(rows[0])].as_py()!r})", rows)


def rows_of(table: Table, field: str, ids: Any) -> Int64:
    """Return for each value of the field its position among the ids; -1 for none."""
    positions = pc.index_in(table[field], value_set=ids)
    return np.asarray(pc.fill_null(positions, NOWHERE) if positions.null_count else positions, dtype=np.int64)


def known(table: Table, field: str, rows: Int64, kind: str, ids: Any, place: str, report: Report) -> Mask:
    """Return which rows refer to an existing id of a table; the others are reported."""
    exists: Mask = rows >= 0
    if not exists.all():
        lost = np.flatnonzero(~exists)
        example = table[field][int(lost[0])]
        message = f"{example.as_py()!r} is not in the {place}"
        if (near := _near(example, ids)) is not None:
            message += f", but {near!r} is"
        if len(lost) > 1:
            message += f" ({len(lost):,} of {len(rows):,} rows)"
        table.add_problem(report, kind, message, lost)
    return exists


def _near(id_: Any, ids: Any) -> str | None:
    """Return an id that some tool may have changed into this one: `007` into `7`, `7` into `7.0`, ` A` into `a`."""
    same = pc.equal(_bare(ids), _bare(pa.array([id_], ids.type))[0])
    return str(ids[place].as_py()) if (place := pc.index(same, True).as_py()) >= 0 else None


def _bare(ids: Any) -> Any:
    """Return ids without case, surrounding blanks, leading zeros, and a trailing `.0`."""
    return pc.replace_substring_regex(pc.utf8_lower(ids), r"^\s*0*(.*?)(\.0)?\s*$", r"\1")


def whole_grades(table: Table, report: Report) -> tuple[Int32, Mask]:
    """Return grades as integers, 1 if there is no such column, and which rows have a grade."""
    if "grade" not in table:
        return np.ones(len(table), dtype=np.int32), np.ones(len(table), dtype=bool)
    column = table["grade"]
    filled = pc.fill_null(column, NO_GRADE) if column.null_count else column
    given: Mask = np.asarray(pc.is_valid(column)) & np.asarray(pc.is_finite(filled))
    if not given.all():
        table.add_problem(report, "missing-grade", "the grade is missing, NaN or infinite", np.flatnonzero(~given))
    values: Float64 = np.where(given, np.asarray(filled, dtype=np.float64), 0.0)
    floor = np.floor(values)
    if (fractional := floor != values).any():
        rows = np.flatnonzero(fractional)
        table.add_problem(report, "fractional-grade", f"the grade {values[rows[0]]:g}", rows)
    if (negative := floor < 0).any():
        rows = np.flatnonzero(negative)
        table.add_problem(report, "negative-grade", f"the grade {values[rows[0]]:g}", rows)
    limit = np.iinfo(np.int32).max
    if (too_large := np.abs(floor) > limit).any():
        table.add_problem(report, "grade", f"a grade must be at most {limit:,}", np.flatnonzero(too_large))
        floor = np.clip(floor, -limit, limit)
    return floor.astype(np.int32), given


def one_per_pair(table: Table, queries: Int64, documents: Int64, grades: Int32, usable: Mask, report: Report) -> Mask:
    """Return which rows to keep so that each (query, document) is judged once: the last of several.

    `documents` are any distinct numbers of documents, including those outside the corpus.
    """
    rows = np.flatnonzero(usable)
    keys = queries[rows] * (int(documents.max(initial=0)) + 1) + documents[rows]
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    if not same.any():
        return usable
    earlier, later = rows[order][:-1][same], rows[order][1:][same]
    disagree = grades[earlier] != grades[later]
    if (~disagree).any():
        table.add_problem(
            report, "repeated-judgement", _pair(table, later[~disagree][0]) + " again", np.sort(later[~disagree])
        )
    if disagree.any():
        a, b = earlier[disagree][0], later[disagree][0]
        message = f"{_pair(table, b)} has the grade {grades[b]}, but {grades[a]} in row {a + 1}"
        table.add_problem(report, "contradiction", message, np.sort(later[disagree]))
    remaining = usable.copy()
    remaining[earlier] = False
    return remaining


def _pair(table: Table, row: int) -> str:
    return f"query {table['query'][int(row)].as_py()!r} with document {table['document'][int(row)].as_py()!r}"


def _blank(texts: Any) -> Mask:
    """Return which texts are only white space."""
    blank: Mask = np.asarray(pc.binary_length(texts)) == 0
    blank |= np.asarray(pc.utf8_is_space(texts))
    return blank
