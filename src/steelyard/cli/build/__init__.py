"""`steelyard build`: sample a Nano-set, add candidate lists, measure fidelity, publish a set."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser

COMMANDS = {
    "sample": "Sample a Nano-set from a full dataset or your own files",
    "candidates": "Add candidate lists to a set, or report their quality",
    "fidelity": "Measure how well samples rank models as the full task does",
    "publish": "Publish a finished set on the Hugging Face hub",
}


def configure(parser: Parser) -> None:
    """Add the arguments of `steelyard build`."""
    parser.add_commands(COMMANDS, _configure, default="sample", shown=False)


def _configure(command: str, parser: Parser) -> None:
    importlib.import_module(f"steelyard.cli.build.{command}").configure(parser)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Run the subcommand and return its exit code."""
    if arguments.implied:  # the spelling of earlier versions
        output.note("deprecated: use `steelyard build sample SOURCE -o DIR` instead of `steelyard build SOURCE -o DIR`")
    return int(importlib.import_module(f"steelyard.cli.build.{arguments.command}").run(arguments, output))
