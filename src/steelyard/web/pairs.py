"""Models compared in pairs, query by query, with the statistics of `steelyard compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from steelyard.comparison import Comparison, Difference
from steelyard.comparison.changed_queries import changed_queries
from steelyard.comparison.compare_models import from_results
from steelyard.comparison.model import QueryChange
from steelyard.errors import DataError, UsageError
from steelyard.results import Result, Results
from steelyard.stats.corrections import holm

CHANGED = 20
"""Queries with the largest differences that are listed."""
Pairs = dict[tuple[str, str], dict[str, Any]]


def compare_pairs(results: Results, models: Sequence[str], tasks: Sequence[str]) -> Pairs:
    """Return the comparison of every pair of models, the earlier minus the later one, on the tasks that all have.

    p-values of tasks are corrected by Holm's method over the tasks of one pair, so that a pair has the same numbers
    whatever it is shown with. Where nothing can be compared, `error` is the reason.
    """
    order = list(reversed(models))  # `compare` subtracts the earlier model
    view = Results(result for result in results if result.model in models)
    try:
        comparison, cells = from_results(order, view)
    except (DataError, UsageError) as error:
        pairs = [(a, b) for i, a in enumerate(models) for b in models[i + 1 :]]
        return {(a, b): {"model": a, "baseline": b, "error": error.message} for a, b in pairs}
    places = {task: place for place, task in enumerate(tasks)}
    changes = _changes(comparison, cells)
    contents = {}
    for i, model in enumerate(models):
        for baseline in models[i + 1 :]:
            content = _pair(comparison, model, baseline, places)
            content["changes"] = [
                {
                    "task": places[one.task],
                    "query": one.query_id,
                    "scores": [round(one.score, 4), round(one.baseline_score, 4)],
                    "ranks": [one.first_rank, one.baseline_first_rank],
                }
                for one in changes
                if (one.model, one.baseline) == (model, baseline) and one.task in places
            ]
            contents[model, baseline] = content
    return contents


def _changes(comparison: Comparison, cells: Mapping[str, Sequence[Result]]) -> tuple[QueryChange, ...]:
    return changed_queries(comparison, cells, {}, CHANGED)


def _pair(comparison: Comparison, model: str, baseline: str, places: Mapping[str, int]) -> dict[str, Any]:
    alpha = comparison.method.alpha
    tasks = [(task, _between(task.differences, model, baseline)) for task in comparison.tasks if task.task in places]
    tested = [number for number, (_, one) in enumerate(tasks) if one.p_value is not None]
    corrected = holm([tasks[number][1].p_value or 0.0 for number in tested])
    for number, value in zip(tested, corrected, strict=True):
        tasks[number] = (tasks[number][0], replace(tasks[number][1], p_holm=float(value)))
    overall = None
    if comparison.overall is not None:
        mean_difference = _between(comparison.overall.differences, model, baseline)
        overall = _values(replace(mean_difference, p_holm=mean_difference.p_value), alpha)
    return {
        "model": model,
        "baseline": baseline,
        "alpha": alpha,
        "overall": overall,
        "queries": comparison.overall.queries if comparison.overall else 0,
        "tasks": [
            {"task": places[task.task], "queries": task.queries, **_values(difference, alpha)}
            for task, difference in tasks
        ],
        "flags": [f"{flag.task}: {flag.reason}" for flag in comparison.flags],
    }


def _between(differences: Sequence[Difference], model: str, baseline: str) -> Difference:
    return next(one for one in differences if (one.model, one.baseline) == (model, baseline))


def _values(one: Difference, alpha: float) -> dict[str, Any]:
    """Return what the page shows of a difference."""
    shown = ("difference", "low", "high", "p_value", "p_holm", "wins", "ties", "losses")
    values = {name: getattr(one, name) for name in shown}
    return {**{name: _short(value) for name, value in values.items()}, "verdict": one.verdict(alpha)}


def _short(value: float | None) -> float | None:
    """Return a number as the page needs it; one that is not finite becomes None."""
    if isinstance(value, float):
        return round(value, 6) if isfinite(value) else None
    return value
