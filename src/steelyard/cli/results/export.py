"""`steelyard results export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.results import add_warehouse, warehouse_of
from steelyard.config import Settings

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output

FORMATS = ("csv", "parquet", "markdown", "latex", "mteb", "eval-results", "model-index")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the job."""
    parser.add_argument("form", choices=FORMATS, metavar="FORMAT", help=f"One of {', '.join(FORMATS)}.")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="PATH", help="File or folder to write.")
    add_warehouse(parser)
    parser.add_argument("-m", "--model", action="append", default=[], help="Only this model; repeat it for several.")
    parser.add_argument("-t", "--tasks", nargs="+", default=[], help="Only these tasks.")
    parser.add_argument("-b", "--benchmark", help="Only the tasks of this benchmark, with its splits and subsets.")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Write the files and name them."""
    from steelyard.warehouse.export import Selection, export

    selection = Selection(tuple(arguments.model), tuple(arguments.tasks), arguments.benchmark)
    written = export(warehouse_of(arguments, Settings.load()), arguments.form, arguments.output, selection)
    if output.json:
        output.data({"written": [str(path) for path in written]})
    else:
        output.line(f"{written[0]}" if len(written) == 1 else f"{len(written):,} files in {arguments.output}")
    return 0
