"""`steelyard show`: one task, group, model, metric or result, or data of your own.

`steelyard show NAME` detects what the name is. Each kind has a module with a function `run`, like a verb.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Literal

from steelyard.cli._ui.options import TYPES, add_locations, add_results, add_type
from steelyard.errors import MissingPart, UnknownName, UsageError

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser

Kind = Literal["task", "group", "model", "metric", "data", "result"]
COMMANDS = {
    "any": "Show a name or path; detect what it is",
    "task": "Show the facts, profile and results of one task",
    "group": "Show the tasks of a group, or of a pattern",
    "model": "Show the card, files and results of a model",
    "metric": "Show the definition of a metric",
    "result": "Show a stored result by the start of its key",
    "data": "Check your own data and list every problem",
}
METAVARS = {"any": "NAME", "metric": "METRIC", "result": "KEY", "data": "PATH"}


def configure(parser: Parser) -> None:
    """Add the arguments of `steelyard show`."""
    parser.add_commands(COMMANDS, _configure, default="any")


def _configure(command: str, parser: Parser) -> None:
    name = "a task, group, model, metric, result key or path" if command == "any" else f"a {command}"
    help = "A path to your own data." if command == "data" else f"The name of {name}."
    parser.add_argument("name", metavar=METAVARS.get(command, "NAME"), help=help)
    add = parser.add_argument
    if command in ("any", "task", "model"):
        group = parser.add_argument_group("loading").add_argument
        group("--load", action="store_true", help="Load the task or model to show its profile or settings.")
        group("--revision", metavar="REV", help="Commit, tag or branch to load (default: the newest).")
    if command in ("any", "task", "data"):
        add_type(add)
    if command in ("any", "data"):
        add("--all", action="store_true", help="Check every task of your own data (default: the first 100).")
    if command not in ("metric", "result"):
        add_locations(parser.add_argument_group("data").add_argument)
    if command in ("any", "task", "model", "result", "data"):
        add_results(add)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Show what is known of the name; exit code 2 if your own data has an error."""
    from steelyard.datasets import with_type

    kind = arguments.command
    if kind != "model":
        arguments.name = with_type(arguments.name, getattr(arguments, "type", None))
    if kind == "any":
        kind = _detect(arguments.name) or "result"
    if kind == "result":
        return _show_result(arguments, output, only=arguments.command == "result")
    return int(importlib.import_module(f"steelyard.cli.show.{kind}").run(arguments, output))


def _detect(name: str) -> Kind | None:
    """Return what the name is, without loading anything; None if only a result can have it."""
    from steelyard.datasets import task_names
    from steelyard.datasets.hubs import published
    from steelyard.datasets.names import names_several
    from steelyard.datasets.options import LoadOptions
    from steelyard.datasets.sources import SOURCES, FolderSource, source_of

    if "://" in name or name.startswith(("ir_datasets:", "irds:", "mteb:")):
        return "task"
    if name.startswith(tuple(f"{type}:" for type in TYPES)):
        return "data"
    if published.entry_of(name) is not None:
        return "task"
    for source in ("builtin", "catalogue"):
        tasks = SOURCES.get(source)(LoadOptions())
        if tasks.accepts(name):
            return "task" if len(tasks.names(name)) == 1 and name.count("/") else "group"
    if (kind := _model_or_metric(name)) is not None:
        return kind
    if names_several(name):
        return "task" if len(task_names([name])) == 1 else "group"
    try:
        owner = source_of(name, LoadOptions())
    except MissingPart:  # a plug-in that does not load; a result may still have this key
        return None
    return None if owner is None else "data" if isinstance(owner, FolderSource) else "task"


def _model_or_metric(name: str) -> Kind | None:
    """Return the kind of a name that may be both: with a slash, a metric is more likely."""
    from steelyard.cli.show.model import is_model
    from steelyard.metrics.names import parse_many

    if "/" not in name and is_model(name):
        return "model"
    try:
        parse_many(name)
    except UsageError:
        return "model" if is_model(name) else None
    return "metric"


def _show_result(arguments: argparse.Namespace, output: Output, *, only: bool) -> int:
    """Show the result whose key starts with the name."""
    from steelyard.cli._ui.options import store_of

    store = store_of(arguments)
    try:
        result = store.get(arguments.name)
    except UnknownName as error:
        ambiguous = any(result.key.startswith(arguments.name) for result in store.all(lambda damaged: None))
        raise (error if only or ambiguous else _unknown(arguments.name)) from None
    output.data(result.to_dict()) if output.json else output.line(str(result))
    return 0


def _unknown(name: str) -> UnknownName:
    from steelyard.datasets import known_names
    from steelyard.datasets.names import same_task
    from steelyard.metrics import METRICS
    from steelyard.models import cards
    from steelyard.retrievers import RETRIEVERS

    kinds = "task, group, model, metric, result or path"
    if namesakes := same_task(name):
        return UnknownName(kinds, name, (), hint=namesakes)
    groups = {task.rpartition("/")[0] for task in known_names()}
    everything = [*known_names(), *sorted(groups), *RETRIEVERS, *cards(), *METRICS]
    return UnknownName(kinds, name, everything, hint="run `steelyard list tasks` or `steelyard list models`")
