"""`steelyard results import`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli._ui.progress import Progress
from steelyard.cli.results import add_warehouse, warehouse_of
from steelyard.config import Settings

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output

SHOWN = 10
"""Unreadable files that are listed without --verbose."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the job."""
    parser.add_argument(
        "folders", nargs="+", metavar="DIR", help="Folders or files of results; a folder is searched for result files."
    )
    add_warehouse(parser)
    parser.add_argument(
        "--workers", type=int, metavar="N", help="Processes that read files (default: the number of cores)."
    )


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Import, report what was read and what could not be; 1 if no file could be read."""
    from steelyard.warehouse import import_results

    target = warehouse_of(arguments, Settings.load())
    bar = Progress.for_output(output)
    report = import_results(
        arguments.folders,
        target,
        workers=arguments.workers,
        progress=lambda done, total: bar.show(done / total, f"{done:,} of {total:,} files"),
    )
    bar.close()
    if output.json:
        counts = {"read": report.read, "unchanged": report.unchanged, "removed": report.removed}
        output.data(
            {
                "warehouse": str(target),
                **counts,
                "unreadable": [list(row) for row in report.bad],
                "seconds": report.seconds,
            }
        )
    else:
        output.line(f"{target}: {report}")
        shown = report.bad if output.verbose else report.bad[:SHOWN]
        for path, reason in shown:
            output.failure(f"unreadable: {path}: {reason}")
        if len(report.bad) > len(shown):
            output.note(f"{len(report.bad) - len(shown):,} more unreadable files: -v lists all")
    return 1 if report.bad and len(report.bad) == report.read + report.unchanged else 0
