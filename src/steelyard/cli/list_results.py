"""The rows of `steelyard list results`: what was weighed, and how it went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli.listing import Listing, same_names
from steelyard.cli.stored_results import stored_results

if TYPE_CHECKING:
    import argparse

    from steelyard.cli.output import Output
    from steelyard.results import Result


def results(arguments: argparse.Namespace, output: Output) -> Listing:
    """The results on tasks that the filters leave."""
    rows = [
        {
            "task": result.task,
            "model": result.model,
            "status": result.status,
            "metric": result.main_metric,
            "score": result.score,
            "key": result.key,
            "created": result.created,
            "path": str(result.path) if result.path else None,
        }
        for result in stored_results(arguments, output)
        if _wanted(result, arguments)
    ]
    rows.sort(key=lambda row: (str(row["task"]), str(row["model"]), str(row["created"])))
    return Listing(rows, same_names("task", "model", "status", "metric", "score", "created", "key"))


def _wanted(result: Result, arguments: argparse.Namespace) -> bool:
    from steelyard.datasets.languages import language_code

    facts, languages = result.facts, set(map(language_code, arguments.languages))
    if languages and languages.isdisjoint({facts.language, *facts.languages}):
        return False
    if arguments.group and not result.task.startswith(f"{arguments.group}/"):
        return False
    return arguments.type in (None, facts.type) and arguments.category in (None, facts.category)
