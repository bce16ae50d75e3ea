"""What every type does to its table: unfold lists, leave rows out, tell of empty texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from steelyard.datasets.problems import Report
from steelyard.datasets.tables.tabular import Table
from steelyard.datasets.tables.values import is_list
from steelyard.types import Int64

Mask = np.ndarray[Any, np.dtype[np.bool_]]


def unfold(table: Table, fields: Sequence[str], report: Report) -> Table | None:
    """One value a row. Lists of a row stand side by side, so they must be equally long; else None."""
    lists = [field for field in fields if is_list(table[field])]
    if not lists:
        return table
    if single := [field for field in fields if field not in lists]:
        found = f"{', '.join(lists)} hold lists, {', '.join(single)} single values"
        report.add("columns", table.name, found, remedy="write lists in all of them, or one value a row")
        return None
    lengths = lengths_of(table, lists[0])
    for field in lists[1:]:
        others = lengths_of(table, field)
        if (bad := np.flatnonzero(others != lengths)).size:
            row = int(bad[0])
            table.add_problem(report, "ragged", f"{lengths[row]:,} in {lists[0]}, {others[row]:,} in {field}", bad)
            return None
    owner = np.repeat(np.arange(len(table)), lengths)
    columns = {
        name: table[name].flatten() if name in lists else table[name].take(pa.array(owner)) for name in table.columns
    }
    return replace(table, columns=columns, rows=owner if table.rows is None else table.rows[owner])


def lengths_of(table: Table, field: str) -> Int64:
    """How long the list of each row is."""
    return np.asarray(pc.list_value_length(table[field]), dtype=np.int64)


def given(table: Table, field: str, kind: str, found: str, report: Report) -> Table:
    """The rows that have a value in the field; the others are told and left out."""
    there: Mask = np.asarray(pc.is_valid(table[field]))
    if there.all():
        return table
    table.add_problem(report, kind, found, np.unique(np.flatnonzero(~there)))
    return table.take(np.flatnonzero(there).astype(np.int64))


def empty_texts(table: Table, fields: Sequence[str], report: Report) -> None:
    """AddProblem of texts that hold nothing but white space, and how many there are."""
    for field in fields:
        blank: Mask = np.asarray(pc.equal(pc.utf8_trim_whitespace(pc.fill_null(table[field], "")), ""))
        if blank.any():
            rows = np.flatnonzero(blank)
            table.add_problem(report, "empty-text", f"{len(rows):,} empty texts ({field})", rows)


def some(table: Table, report: Report) -> bool:
    """Whether there are rows at all; if not, that is told."""
    if not len(table):
        report.add("nothing-there", table.name, f"no {table.role.name}")
    return len(table) > 0


def texts(table: Table, field: str) -> tuple[str, ...]:
    """The column as strings."""
    return tuple(pc.fill_null(table[field], "").to_pylist())
