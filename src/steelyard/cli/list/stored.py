"""The rows of `steelyard list results`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.options import stored_results
from steelyard.cli.list.listing import Listing, Row, same_names

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from steelyard.cli._ui.output import Output
    from steelyard.results import Result
    from steelyard.types.protocols import ModelSettings


def results(arguments: argparse.Namespace, output: Output) -> Listing:
    """Return the results on the tasks that match the filters."""
    rows: list[Row] = [
        {
            "task": result.task,
            "model": result.model,
            "status": result.status,
            "metric": result.main_metric,
            "score": result.score,
            "conditions": _conditions(result.settings),
            "data": result.facts.data_hash,
            "key": result.key,
            "created": result.created,
            "path": str(result.path) if result.path else None,
        }
        for result in stored_results(arguments, output)
        if _matches(result, arguments)
    ]
    rows.sort(key=lambda row: (str(row["task"]), str(row["model"]), str(row["created"])))
    data: dict[str, set[str]] = {}
    for row in rows:
        data.setdefault(row["task"], set()).update([row["data"]] if row["data"] else [])

    def task(row: Row) -> str:
        """Return the name of the task, with the hash of its data where several datasets have that name."""
        return f"{row['task']}@{row['data'][:8]}" if row["data"] and len(data[row["task"]]) > 1 else row["task"]

    conditions = {"conditions": lambda row: _text(row["conditions"])} if any(row["conditions"] for row in rows) else {}
    first, last = same_names("model", "status", "metric", "score"), same_names("created", "key")
    return Listing(rows, {"task": task, **first, **conditions, **last})


def _conditions(settings: ModelSettings) -> dict[str, Any]:
    """Return the conditions that differ from the defaults: limit, depth, additional metrics."""
    from steelyard.engine.plan import Conditions
    from steelyard.results.table import CONDITIONS

    defaults = {name: getattr(Conditions(), name) for name in CONDITIONS}
    changed = {name: settings[name] for name in CONDITIONS if settings.get(name, defaults[name]) != defaults[name]}
    more = [metric for metric in settings.get("metrics", ()) if metric != "default"]
    return {**changed, "metrics": more} if more else changed


def _text(conditions: Mapping[str, Any]) -> str:
    """Return the conditions as text.

    >>> _text({"limit": 5, "metrics": ["ndcg_at_7", "bpref"]})
    'limit 5, metrics ndcg_at_7 bpref'
    """
    values = ((name, " ".join(value) if isinstance(value, list) else value) for name, value in conditions.items())
    return ", ".join(f"{name} {value}" for name, value in values)


def _matches(result: Result, arguments: argparse.Namespace) -> bool:
    from steelyard.datasets.language_codes import same_languages

    facts, languages = result.facts, same_languages(arguments.languages)
    if languages and languages.isdisjoint(same_languages([facts.language, *facts.languages])):
        return False
    if arguments.group and not result.task.startswith(f"{arguments.group}/"):
        return False
    return arguments.type in (None, facts.type) and arguments.category in (None, facts.category)
