"""Which model leads, which others cannot be distinguished from it, and the rank of every model with its uncertainty.

A paired randomisation test compares every model with the one that has the highest score, on the same queries; p-values
are corrected by Holm's method over the models. A model with p >= 0.05 is tied with the leader. Scores that are not
means over queries are compared by their intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import hypot
from typing import TYPE_CHECKING

import numpy as np

from steelyard.errors import DataError
from steelyard.results.per_query import Column, aligned
from steelyard.stats.corrections import holm
from steelyard.stats.group_means import GroupScores, task_pair_p_values
from steelyard.stats.intervals import DRAWS, NORMAL
from steelyard.stats.randomisation import p_values
from steelyard.stats.rank_overlap import RankAgreement, rank_agreement
from steelyard.stats.ranks import rank_models
from steelyard.types import Float64, Interval

if TYPE_CHECKING:
    from steelyard.results.table import Results

ALPHA = 0.05


@dataclass(frozen=True)
class Leaders:
    """The model with the highest score and those that are tied with it.

    >>> Leaders("dense", 0.8, tied=("bm25",), p_values={"bm25": 0.4}).best
    ('dense', 'bm25')
    """

    model: str
    score: float
    tied: tuple[str, ...] = ()
    """The other models that cannot be distinguished from the first, the highest score first."""
    p_values: Mapping[str, float] = field(default_factory=dict)
    """Of every model that was tested against the first, corrected by Holm's method; empty if no test was possible."""

    @property
    def best(self) -> tuple[str, ...]:
        """All models that may be the best: the leader and the tied ones."""
        return (self.model, *self.tied)


def task_leaders(
    task: str,
    scores: Mapping[str, float],
    queries: Mapping[str, Column],
    intervals: Mapping[str, Interval] | None = None,
) -> Leaders | None:
    """Return the leaders of one task from its scores and, where models have them, per-query scores.

    A score without per-query scores of which it is the mean (a correlation, an average precision over pairs) is tested
    by the intervals of both models, taken as independent, which finds less than a paired test. A model without an
    interval is tied only if its score equals the highest one.
    """
    if not scores:
        return None
    ranked = sorted(scores, key=lambda model: -scores[model])
    first, *others = ranked
    raw: dict[str, float] = {}
    tested = [model for model in others if model in queries] if first in queries else []
    if tested:
        with suppress(DataError):  # other queries under the same data: nothing to test
            _, rows = aligned({model: queries[model] for model in (first, *tested)})
            p = p_values(rows[0] - rows[1:])
            raw = dict(zip(tested, p.tolist(), strict=True))
    known = intervals or {}
    for model in others:
        if model not in raw and model in known and first in known:
            raw[model] = _independent(scores[first] - scores[model], known[first], known[model])
    adjusted = dict(zip(raw, holm(list(raw.values())).tolist(), strict=True))
    return _leaders(ranked, scores, adjusted)


def _independent(difference: float, first: Interval, second: Interval) -> float:
    """Return the two-sided p-value of a difference of two scores whose intervals are those of normal variables.

    >>> round(_independent(0.1, Interval(0.45, 0.55), Interval(0.35, 0.45)), 4)
    0.0056
    """
    errors = [(one.high - one.low) / (2 * NORMAL.inv_cdf((1 + one.level) / 2)) for one in (first, second)]
    error = hypot(*errors)
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return 2 * (1 - NORMAL.cdf(abs(difference) / error))


def group_leaders(tasks: Sequence[str], scores: Mapping[str, Sequence[float]], queries: Sequence[Float64]) -> Leaders:
    """Return the leaders of the mean over tasks.

    `scores` has one score of each task for every model. `queries` has one (models, queries) matrix for each task, in
    the order of `scores`; if it is empty, tasks instead of queries are the unit of the test.
    """
    models = list(scores)
    table = np.array([scores[model] for model in models], dtype=np.float64)
    means = dict(zip(models, table.mean(axis=1).tolist(), strict=True))
    ranked = sorted(models, key=lambda model: -means[model])
    if len(models) < 2:
        return Leaders(ranked[0], means[ranked[0]])
    matrix = GroupScores(tuple(tasks), tuple(queries)).pair_p_values() if queries else task_pair_p_values(table)
    row = matrix[models.index(ranked[0])]
    raw = [float(row[models.index(model)]) for model in ranked[1:]]
    return _leaders(ranked, means, dict(zip(ranked[1:], holm(raw).tolist(), strict=True)))


def _leaders(ranked: Sequence[str], scores: Mapping[str, float], adjusted: Mapping[str, float]) -> Leaders:
    first = ranked[0]
    tied = [m for m in ranked[1:] if adjusted.get(m, 0.0) >= ALPHA or scores[m] == scores[first]]
    return Leaders(first, scores[first], tuple(tied), dict(adjusted))


@dataclass(frozen=True)
class RankedModel:
    """A model in the ranking of several models by their mean."""

    model: str
    mean: float
    rank: float
    """1 is the highest mean; equal means share the mean of their ranks."""
    low: float
    """The best rank in the interval."""
    high: float
    """The worst rank in the interval."""
    group: int
    """Models of one group cannot be distinguished from the best model of the group."""
    borda: float
    mean_by_type: float | None = None
    """The mean of the means of the types of tasks."""
    wins_against: Mapping[str, float] = field(default_factory=dict)
    """Probability of a higher mean than each other model."""


def ranked(
    models: Sequence[str],
    scores: GroupScores,
    types: Sequence[str],
    *,
    level: float = 0.95,
    alpha: float = 0.05,
    draws: int = DRAWS,
) -> tuple[RankedModel, ...]:
    """Rank models by per-query scores; `types` has the type of each task. See `steelyard.stats.ranks`."""
    ranking = rank_models(scores, level=level, alpha=alpha, draws=draws)
    kinds = dict.fromkeys(types)
    by_type = np.stack([scores.task_means[:, [own == kind for own in types]].mean(axis=1) for kind in kinds]).mean(
        axis=0
    )
    rows = [
        RankedModel(
            model=model,
            mean=float(ranking.means[i]),
            rank=float(ranking.ranks[i]),
            low=float(ranking.low[i]),
            high=float(ranking.high[i]),
            group=int(ranking.groups[i]),
            borda=float(ranking.borda[i]),
            mean_by_type=float(by_type[i]),
            wins_against={m: float(ranking.win_probability[i, j]) for j, m in enumerate(models) if j != i},
        )
        for i, model in enumerate(models)
    ]
    return tuple(sorted(rows, key=lambda row: row.rank))


def rank_results(results: Results, metric: str | None = None) -> tuple[RankedModel, ...]:
    """Rank the models of results by their mean over the common tasks with per-query scores."""
    models, scores = group_scores(results, metric)
    types = [next(cell.facts.type for m in models if (cell := results.cell(t, m))) for t in scores.tasks]
    return ranked(models, scores, types)


def compare_rankings(
    first: Results, second: Results, metric: str | None = None, second_metric: str | None = None
) -> RankAgreement:
    """Return how well two sets of results rank the models that they share: other tasks, or another metric.

    Intervals come from resampling tasks and queries of both.
    """
    shared = [model for model in first.models if model in second.models]
    if len(shared) < 2:
        raise DataError(
            f"two rankings must share at least 2 models, got {len(shared)}", hint="evaluate the same models on both"
        )
    one_models, one = group_scores(first.select(models=shared), metric)
    other_models, other = group_scores(second.select(models=shared), second_metric or metric)
    order = [other_models.index(model) for model in one_models]
    return rank_agreement(
        one.means,
        other.means[order],
        resampled=(one.resampled_means(), other.resampled_means()[order]),
    )


def group_scores(results: Results, metric: str | None = None) -> tuple[list[str], GroupScores]:
    """Return the models and their per-query scores on all common tasks whose score is a mean over queries."""
    tasks, matrices = [], []
    models: list[str] = []
    for label in results.common_tasks(metric):
        columns = results.query_columns(label, metric)
        models = models or list(columns)
        if list(columns) == models and all(len(column.ids) > 1 for column in columns.values()):
            tasks.append(label)
            matrices.append(aligned(columns, where=label)[1])
    if not tasks or len(models) < 2:
        raise DataError(
            "a ranking needs at least 2 models with per-query scores on a common task", hint="evaluate them together"
        )
    return models, GroupScores(tuple(tasks), tuple(matrices))
