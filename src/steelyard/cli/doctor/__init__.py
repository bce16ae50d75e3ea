"""`steelyard doctor`: check this machine, or how stable the scores of a model are."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser

JOBS = {
    "machine": "Check what is installed, missing or slow",
    "stability": "Evaluate a model under other batch sizes, dtypes, thread counts and devices",
}


def configure(parser: Parser) -> None:
    """Add a subcommand per job."""
    parser.add_commands(JOBS, _configure, default="machine")


def _configure(job: str, parser: Parser) -> None:
    importlib.import_module(f"steelyard.cli.doctor.{job}").configure(parser)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Run the job."""
    return int(importlib.import_module(f"steelyard.cli.doctor.{arguments.command}").run(arguments, output))
