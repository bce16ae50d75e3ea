"""`steelyard results query`."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING, Any

from steelyard.cli.results import add_warehouse, warehouse_of
from steelyard.config import Settings

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the job."""
    parser.add_argument("sql", metavar="SQL", help="One SQL statement; 'SHOW TABLES' lists the tables.")
    add_warehouse(parser)
    parser.add_argument("--csv", action="store_true", help="Print CSV.")
    parser.add_argument(
        "--other-files", action="store_true", help="Let the SQL read and write files outside the warehouse."
    )


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Run the statement and print its rows."""
    from steelyard.warehouse import query

    table = query(warehouse_of(arguments, Settings.load()), arguments.sql, other_files=arguments.other_files)
    columns = table.column_names if table is not None else []
    rows = table.to_pylist() if table is not None else []
    if output.json:
        output.data([{name: _plain(value) for name, value in row.items()} for row in rows])
    elif arguments.csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(columns)
        writer.writerows([_plain(value) for value in row.values()] for row in rows)
    else:
        output.table(columns, [[_cell(value) for value in row.values()] for row in rows])
        output.note(f"{len(rows):,} rows")
    return 0


def _plain(value: Any) -> Any:
    """Return a value that JSON and CSV have; NaN becomes None."""
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | bool | None) else str(value)


def _cell(value: Any) -> str | int | float | None:
    plain = _plain(value)
    return ", ".join(map(str, plain)) if isinstance(plain, list) else plain
