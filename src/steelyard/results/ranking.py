"""Models ranked by their mean over tasks, with the uncertainty of every rank; the agreement of two rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from steelyard.errors import DataError
from steelyard.results.per_query import aligned
from steelyard.stats.group_means import GroupScores
from steelyard.stats.intervals import DRAWS
from steelyard.stats.rank_overlap import RankAgreement, rank_agreement
from steelyard.stats.ranks import rank_models

if TYPE_CHECKING:
    from steelyard.results.table import Results


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
