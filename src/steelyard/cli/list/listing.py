"""A list of rows, with the columns that are shown as a table; and the list of metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Cell, Output

Row = dict[str, Any]
Column = str | Callable[[Row], Any]
"""The key of a value in a row, or a function that returns the cell of a row."""


@dataclass(frozen=True)
class Listing:
    """Rows for JSON, and the columns of the table by title.

    >>> Listing([{"name": "x", "languages": ["de", "en"]}], {"name": "name", "languages": "languages"}).table()
    (['name', 'languages'], [['x', 'de, en']])
    """

    rows: list[Row]
    columns: Mapping[str, Column]

    def table(self) -> tuple[list[str], list[list[Cell]]]:
        """Return the titles and the cells."""
        return list(self.columns), [[_cell(row, column) for column in self.columns.values()] for row in self.rows]


def _cell(row: Row, column: Column) -> Cell:
    value = row.get(column) if isinstance(column, str) else column(row)
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def same_names(*names: str) -> dict[str, Column]:
    """Return columns whose titles are the keys of the rows."""
    return {name: name for name in names}


def few(items: Sequence[str], most: int = 4) -> str:
    """Return the first items and the number of the others.

    >>> few(["de", "en", "fr"], 2)
    'de, en and 1 more'
    """
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more} more" if more > 0 else "")


def metrics(arguments: argparse.Namespace, output: Output) -> Listing:
    """Return every metric, including those of plug-ins."""
    from steelyard.metrics import METRICS

    definitions = {name: METRICS.get(name) for name in METRICS}
    rows = [
        {
            "metric": name,
            "written": definition.example,
            "trec_eval": definition.trec[0],
            "description": definition.description,
            "formula": definition.formula,
            "from": METRICS.origin(name),
        }
        for name, definition in definitions.items()
    ]
    return Listing(rows, same_names("metric", "written", "trec_eval", "description"))
