"""`steelyard results`: import result files into a warehouse, query, export and compare them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.files import with_home

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser
    from steelyard.config import Settings

JOBS = {
    "import": "Read result files of Steelyard, mteb and HAKARI, and tables of scores, into a warehouse",
    "query": "Run one SQL statement on a warehouse",
    "export": "Write results as CSV, Parquet, Markdown, LaTeX, mteb files or hub metadata",
    "diff": "Compare two folders of results key by key",
}


def configure(parser: Parser) -> None:
    """Add a subcommand per job."""
    parser.add_commands(JOBS, _configure, default="")


def _configure(job: str, parser: Parser) -> None:
    importlib.import_module(f"steelyard.cli.results.{_module(job)}").configure(parser)


def _module(job: str) -> str:
    return "importing" if job == "import" else job


def add_warehouse(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the warehouse."""
    parser.add_argument(
        "--warehouse",
        type=Path,
        metavar="DIR",
        help="Folder of the warehouse (default: warehouse in the cache folder).",
    )


def warehouse_of(arguments: argparse.Namespace, settings: Settings) -> Path:
    """Return the folder of the warehouse."""
    folder: Path = arguments.warehouse or settings.home / "warehouse"
    return with_home(folder)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Run the job."""
    return int(importlib.import_module(f"steelyard.cli.results.{_module(arguments.command)}").run(arguments, output))
