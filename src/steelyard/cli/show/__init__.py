"""`steelyard show`: open one thing: a task, a group, a model, a metric, a result, or data of one's own.

What each is like to look at is in a module of its own, `show.task` and so on, with a function `run` like a verb's.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from steelyard.cli._ui.data_options import RESULTS, TYPES, add_data_options
from steelyard.errors import MissingPart, UnknownName, UsageError

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output

Kind = Literal["task", "group", "model", "metric", "data"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `steelyard show`."""
    parser.add_argument(
        "name",
        nargs="+",
        help="a task, several (NAME,NAME or a pattern), a group, model, metric, key of a result, or a path to data; "
        "`model NAME` where it could be another",
    )
    parser.add_argument(
        "--load", action="store_true", help="fetch a task or model: a task's profile and examples, a model's settings"
    )
    parser.add_argument("--revision", metavar="REV", help="with --load: the commit, tag or branch to fetch")
    parser.add_argument("--offline", action="store_true", help="with --load: only what is on this machine")
    add_data_options(parser)
    parser.add_argument("-o", "--output", "--results", dest="results", metavar="DIR", type=Path, help=RESULTS)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print what is known of the name; 2 where data of one's own has an error."""
    from steelyard.datasets import with_type

    *said, name = arguments.name
    if said and said != ["model"]:
        raise UsageError(f"show takes one name, found {len(said) + 1}", hint="steelyard show NAME, or show model NAME")
    arguments.name = name if said else with_type(name, arguments.type)
    kind = "model" if said else _kind(arguments.name)
    if kind is None:
        return _show_result(arguments, output)
    return int(importlib.import_module(f"steelyard.cli.show.{kind}").run(arguments, output))


def _kind(name: str) -> Kind | None:
    """What the name stands for, told without loading anything; None: nothing but a result can have it."""
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
    except MissingPart:  # of a plug-in that does not load: a result may have the name all the same
        return None
    return None if owner is None else "data" if isinstance(owner, FolderSource) else "task"


def _model_or_metric(name: str) -> Kind | None:
    """Some names could be both: with a slash in it, a metric is the better guess."""
    from steelyard.cli.show.model import is_model
    from steelyard.metrics.names import parse_many

    if "/" not in name and is_model(name):
        return "model"
    try:
        parse_many(name)
    except UsageError:
        return "model" if is_model(name) else None
    return "metric"


def _show_result(arguments: argparse.Namespace, output: Output) -> int:
    """The result whose key begins so."""
    from steelyard.cli._ui.stored_results import store_of

    store = store_of(arguments)
    try:
        result = store.get(arguments.name)
    except UnknownName as error:
        begun = any(result.key.startswith(arguments.name) for result in store.all(lambda damaged: None))
        raise (error if begun else _unknown(arguments.name)) from None
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
    return UnknownName(kinds, name, everything, hint="steelyard list names them")
