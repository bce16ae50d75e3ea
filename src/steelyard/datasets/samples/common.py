"""Steps of every type: unfold lists, remove rows without a value, report empty texts."""

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
    """Return one value per row. The lists of a row must be equally long; else None."""
    lists = [field for field in fields if is_list(table[field])]
    if not lists:
        return table
    if single := [field for field in fields if field not in lists]:
        message = f"{', '.join(lists)} are lists, but {', '.join(single)} single values"
        report.add("columns", table.name, message, remedy="write lists in all of them, or one value per row")
        return None
    lengths = lengths_of(table, lists[0])
    for field in lists[1:]:
        others = lengths_of(table, field)
        if (bad := np.flatnonzero(others != lengths)).size:
            row = int(bad[0])
            table.add_problem(
                report,
                "ragged",
                f"the lists must be equally long, got {lengths[row]:,} in {lists[0]} and {others[row]:,} in {field}",
                bad,
            )
            return None
    owner = np.repeat(np.arange(len(table)), lengths)
    columns = {
        name: table[name].flatten() if name in lists else table[name].take(pa.array(owner)) for name in table.columns
    }
    return replace(table, columns=columns, rows=owner if table.rows is None else table.rows[owner])


def lengths_of(table: Table, field: str) -> Int64:
    """Return the length of the list of each row."""
    return np.asarray(pc.list_value_length(table[field]), dtype=np.int64)


def rows_with(table: Table, field: str, kind: str, found: str, report: Report) -> Table:
    """Return the rows that have a value in the field; the others are reported and removed."""
    present: Mask = np.asarray(pc.is_valid(table[field]))
    if present.all():
        return table
    table.add_problem(report, kind, found, np.unique(np.flatnonzero(~present)))
    return table.take(np.flatnonzero(present).astype(np.int64))


def empty_texts(table: Table, fields: Sequence[str], report: Report) -> None:
    """Report texts that are only white space, with their number."""
    for field in fields:
        blank: Mask = np.asarray(pc.equal(pc.utf8_trim_whitespace(pc.fill_null(table[field], "")), ""))
        if blank.any():
            rows = np.flatnonzero(blank)
            table.add_problem(report, "empty-text", f"{len(rows):,} empty texts ({field})", rows)


def not_empty(table: Table, report: Report) -> bool:
    """Return whether the table has rows; report if it does not."""
    if not len(table):
        report.add("nothing-there", table.name, f"no {table.role.name}")
    return len(table) > 0


def texts(table: Table, field: str) -> tuple[str, ...]:
    """Return the column as strings."""
    return tuple(pc.fill_null(table[field], "").to_pylist())
