"""Measure all values of a group's page from those of its tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.reports.pages.measure.page_inputs import KINDS, Kind
from steelyard.reports.pages.measure.page_values import GroupValues, LanguageRow, TaskValues
from steelyard.reports.pages.measure.profile_scores import compare_values


def measure_group(name: str, tasks: Sequence[TaskValues]) -> GroupValues:
    """Return all values of a group's page."""
    distinct = dict.fromkeys(source for task in tasks for source in task.sources)
    common = [kind for kind in KINDS if tasks and all(task.profile(kind) for task in tasks)]
    values = {kind: np.array([_ndcg(task, kind) for task in tasks]) for kind in common}
    return GroupValues(
        name=name,
        tasks=tuple(tasks),
        languages=_languages(tasks),
        sources=tuple(distinct),
        means={kind: float(scores.mean()) for kind, scores in values.items()},
        comparisons=compare_values(values),
    )


def _ndcg(task: TaskValues, kind: Kind) -> float:
    profile = task.profile(kind)
    assert profile is not None
    return profile.ndcg_at_10


def _languages(tasks: Sequence[TaskValues]) -> tuple[LanguageRow, ...]:
    """Return the queries by language. A task in one language with few exceptions counts as a whole."""
    sums: dict[str, tuple[int, int, dict[Kind, float]]] = {}
    for task in tasks:
        for language, queries, means in _task_languages(task):
            count, total, weighted = sums.get(language, (0, 0, {}))
            added = {kind: weighted.get(kind, 0.0) + mean * queries for kind, mean in means.items()}
            sums[language] = (count + 1, total + queries, added)
    ranked = sorted(sums.items(), key=lambda item: (-item[1][1], item[0]))
    return tuple(
        LanguageRow(language, count, total, {kind: value / total for kind, value in weighted.items()})
        for language, (count, total, weighted) in ranked
    )


def _task_languages(task: TaskValues) -> list[tuple[str, int, dict[Kind, float]]]:
    cut = [part for part in task.slices if part.dimension == "language"]
    if cut:
        return [(part.name, part.queries, dict(part.ndcg_at_10)) for part in cut]
    whole = {profile.kind: profile.ndcg_at_10 for profile in task.main}
    shown = next(iter(task.language_profile.query_languages), task.language) if task.language_profile else task.language
    return [(shown, task.queries, whole)]
