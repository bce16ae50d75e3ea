"""`steelyard list`: what there is to weigh, to weigh with, and what was weighed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli._ui.data_options import RESULTS, TYPES, add_languages
from steelyard.cli._ui.languages import tell_unknown
from steelyard.cli.list import metrics as list_metrics
from steelyard.cli.list import models as list_models
from steelyard.cli.list import results as list_results
from steelyard.cli.list import tasks as list_tasks
from steelyard.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from steelyard.cli._ui.output import Output
    from steelyard.cli.list.listing import Listing

CATEGORIES = ("natural_language", "code")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `steelyard list`."""
    parser.add_argument("what", nargs="?", default="tasks", choices=tuple(LISTS), help="what to list (default: tasks)")
    add_languages(parser, "what is")
    parser.add_argument("--type", choices=TYPES, help="only tasks of this type")
    parser.add_argument("--category", choices=CATEGORIES, help="only tasks of this category")
    parser.add_argument("--group", metavar="GROUP", help="only tasks of this group; builtin for those without download")
    parser.add_argument("--family", metavar="FAMILY", help="only models of this family, such as dense or rerank")
    parser.add_argument(
        "--installed",
        action="store_true",
        dest="installed_only",
        help="only models whose packages and weights are on this machine",
    )
    parser.add_argument("-o", "--output", "--results", dest="results", metavar="DIR", type=Path, help=RESULTS)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print the list; returns the exit code."""
    if arguments.languages and arguments.languages[-1] in LISTS:  # `list -l zh tasks`
        arguments.what = arguments.languages.pop()
    _refuse_filters(arguments)
    tell_unknown(arguments.languages, output)
    listing = LISTS[arguments.what](arguments, output)
    if output.json:
        output.data(listing.rows)
        return 0
    output.table(*listing.table())
    output.note(_closing(arguments, len(listing.rows)))
    return 0


def _closing(arguments: argparse.Namespace, count: int) -> str:
    """How many there are, and what to do next."""
    if count:
        what = arguments.what.removesuffix("s") if count == 1 else arguments.what
        return f"{count:,} {what}; steelyard show {'KEY' if arguments.what == 'results' else 'NAME'} opens one"
    if arguments.what == "results" and not any(getattr(arguments, name) for name in TASK_FILTERS):
        folder = arguments.results or arguments.settings.results
        return f"no results in {folder}: steelyard run puts them there, -o names another folder"
    codes = "; languages are codes such as zh, deu or cmn-Hans" if arguments.languages else ""
    return f"no {arguments.what} of that kind{codes}"


def _refuse_filters(arguments: argparse.Namespace) -> None:
    """A flag that the list would not heed is an error: nobody should take an unfiltered list for a filtered one."""
    allowed = FILTERS[arguments.what]
    for name in {name: None for names in FILTERS.values() for name in names}:
        if getattr(arguments, name) and name not in allowed:
            takes = f"it takes {', '.join(map(_flag, allowed))}" if allowed else "it lists them all"
            raise UsageError(f"list {arguments.what} takes no {_flag(name)}", hint=takes)


def _flag(name: str) -> str:
    return f"--{name.removesuffix('_only')}"


TASK_FILTERS = ("languages", "type", "category", "group")
FILTERS: dict[str, tuple[str, ...]] = {
    "tasks": TASK_FILTERS,
    "groups": TASK_FILTERS,
    "benchmarks": TASK_FILTERS,
    "models": ("languages", "family", "installed_only"),
    "metrics": (),
    "results": TASK_FILTERS,
}
"""The flags that a list understands."""

LISTS: dict[str, Callable[[argparse.Namespace, Output], Listing]] = {
    "tasks": list_tasks.tasks,
    "groups": list_tasks.groups,
    "benchmarks": list_tasks.benchmarks,
    "models": list_models.models,
    "metrics": list_metrics.metrics,
    "results": list_results.results,
}
"""What can be listed."""
