"""A list of things: rows as JSON has them, and the columns that people see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.cli._ui.output import Cell

Row = dict[str, Any]
Column = str | Callable[[Row], Any]
"""The key of a row's fact, or what makes a cell of the row."""


@dataclass(frozen=True)
class Listing:
    """Rows and columns, by their titles.

    >>> Listing([{"name": "x", "languages": ["de", "en"]}], {"name": "name", "languages": "languages"}).table()
    (['name', 'languages'], [['x', 'de, en']])
    """

    rows: list[Row]
    columns: Mapping[str, Column]

    def table(self) -> tuple[list[str], list[list[Cell]]]:
        """Titles and cells."""
        return list(self.columns), [[_cell(row, column) for column in self.columns.values()] for row in self.rows]


def _cell(row: Row, column: Column) -> Cell:
    value = row.get(column) if isinstance(column, str) else column(row)
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def same_names(*names: str) -> dict[str, Column]:
    """Columns whose titles are the keys of the rows."""
    return {name: name for name in names}


def few(items: Sequence[str], most: int = 4) -> str:
    """The first of many, and how many more.

    >>> few(["de", "en", "fr"], 2)
    'de, en and 1 more'
    """
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more} more" if more > 0 else "")
