"""`steelyard list`: tasks, groups, benchmarks, models, metrics or results as a table."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from steelyard.cli._ui.options import TYPES, add_languages, add_results, note_unknown_languages

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser
    from steelyard.cli.list.listing import Listing

CATEGORIES = ("natural_language", "code")
COMMANDS = {
    "tasks": "List tasks with their size and published scores",
    "groups": "List groups of tasks",
    "benchmarks": "List benchmarks for `steelyard run -b`",
    "models": "List models with a card, and model families",
    "metrics": "List metrics and their names in trec_eval",
    "results": "List stored results",
}
MODULES = {
    "tasks": "tasks",
    "groups": "tasks",
    "benchmarks": "tasks",
    "models": "models",
    "metrics": "listing",
    "results": "stored",
}
"""The module that makes each list, in a function of the list's name."""


def configure(parser: Parser) -> None:
    """Add the arguments of `steelyard list`."""
    parser.add_commands(COMMANDS, _configure, default="tasks")


def _configure(name: str, parser: Parser) -> None:
    if name == "metrics":
        return
    add = parser.add_argument_group("filters").add_argument
    add_languages(add, name)
    if name == "models":
        add("--family", metavar="FAMILY", help="Only models of this family, such as dense or rerank (default: all).")
        add(
            "--installed",
            action="store_true",
            dest="installed_only",
            help="Only models whose packages and weights are on this machine.",
        )
        return
    add(
        "--type",
        choices=TYPES,
        metavar="TYPE",
        help="Only tasks of this type, such as retrieval or sts (default: all).",
    )
    add("--category", choices=CATEGORIES, help="Only tasks of this category (default: both).")
    add("--group", metavar="GROUP", help="Only tasks of this group; builtin lists those that need no download.")
    if name == "results":
        add_results(parser.add_argument)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print the list and return the exit code."""
    languages = getattr(arguments, "languages", [])
    note_unknown_languages(languages, output)
    name = arguments.command
    module = importlib.import_module(f"steelyard.cli.list.{MODULES[name]}")
    make: Callable[[argparse.Namespace, Output], Listing] = getattr(module, name)
    listing = make(arguments, output)
    if output.json:
        output.data(listing.rows)
        return 0
    output.table(*listing.table())
    output.note(_closing(arguments, len(listing.rows)))
    return 0


def _closing(arguments: argparse.Namespace, count: int) -> str:
    """Return the number of rows and the next command."""
    name = arguments.command
    if count:
        noun = name.removesuffix("s") if count == 1 else name
        return f"{count:,} {noun}; `steelyard show {'KEY' if name == 'results' else 'NAME'}` shows one"
    filters = ("languages", "type", "category", "group")
    if name == "results" and not any(getattr(arguments, option) for option in filters):
        folder = arguments.results or arguments.settings.results
        return f"no results in {folder}; evaluate with `steelyard run`, or name another folder with -o"
    codes = "; languages are codes such as zh, deu or cmn-Hans" if getattr(arguments, "languages", []) else ""
    return f"no {name} match{codes}"
