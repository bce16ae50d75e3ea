"""Rankings of models with their uncertainty: rank intervals, tie groups, Borda counts, win probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.stats.agreement import DECIMALS
from steelyard.stats.corrections import holm
from steelyard.stats.group_means import GroupScores
from steelyard.stats.intervals import DRAWS
from steelyard.types import Float64, Int32

ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Ranking:
    """Models ranked by their group mean; every array has the order of the models that were given."""

    means: Float64
    ranks: Float64
    """By mean, 1 is the highest; equal means share the mean of their ranks."""
    low: Float64
    """The best rank within the interval."""
    high: Float64
    """The worst rank within the interval."""
    groups: Int32
    """The tie group of each model, from 1; see `tie_groups`."""
    borda: Float64
    """Borda points: over all tasks, how many models each one beats, ties counting half."""
    win_probability: Float64
    """(models, models): the share of resamples in which the row's model has a higher mean than the column's."""
    p_values: Float64
    """(models, models): paired randomisation tests, corrected by Holm's method over all pairs."""
    level: float = 0.95


def rank_models(
    scores: GroupScores, *, level: float = 0.95, alpha: float = ALPHA, draws: int = DRAWS, over_tasks: bool = True
) -> Ranking:
    """Rank models by their mean over tasks, with intervals from a bootstrap over queries and tasks.

    >>> values = np.random.default_rng(0).random((3, 40)) * 0.1 + np.array([[0.1], [0.5], [0.501]])
    >>> ranking = rank_models(GroupScores(("T/a",), (values,)))
    >>> ranking.ranks.tolist(), ranking.groups.tolist(), ranking.low.tolist()
    ([3.0, 2.0, 1.0], [2, 1, 1], [3.0, 1.0, 1.0])
    """
    resampled = scores.resampled_means(draws, over_tasks=over_tasks)
    by_draw = mean_ranks(resampled.T)
    low, high = np.quantile(by_draw, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    adjusted = holm_matrix(scores.pair_p_values())
    return Ranking(
        means=scores.means,
        ranks=mean_ranks(scores.means),
        low=low,
        high=high,
        groups=tie_groups(scores.means, adjusted, alpha=alpha),
        borda=borda(scores.task_means),
        win_probability=win_probability(resampled),
        p_values=adjusted,
        level=level,
    )


def mean_ranks(values: npt.ArrayLike) -> Float64:
    """Return the rank of each value in its row, 1 for the highest; equal values share the mean of their ranks.

    >>> mean_ranks([0.5, 0.9, 0.5, 0.1]).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    array = np.asarray(values, dtype=np.float64).round(DECIMALS)
    rows = np.atleast_2d(array)
    higher = (rows[:, None, :] > rows[:, :, None]).sum(axis=2)
    equal = (rows[:, None, :] == rows[:, :, None]).sum(axis=2)
    return np.asarray((higher + (equal + 1) / 2).reshape(array.shape))


def borda(task_means: npt.ArrayLike) -> Float64:
    """Return Borda points from means (models, tasks): on each task, the number of models below, ties counting half.

    >>> borda([[0.9, 0.2], [0.5, 0.2], [0.1, 0.8]]).tolist()
    [2.5, 1.5, 2.0]
    """
    table = np.asarray(task_means, dtype=np.float64)
    return np.asarray((len(table) - mean_ranks(table.T)).sum(axis=0))


def win_probability(resampled: npt.ArrayLike) -> Float64:
    """Return how often each model has a higher mean than each other one over resamples (models, draws).

    >>> win_probability([[0.9, 0.5], [0.1, 0.5]]).tolist()
    [[0.5, 0.75], [0.25, 0.5]]
    """
    means = np.asarray(resampled, dtype=np.float64).round(DECIMALS)
    rows = [((row > means).sum(axis=1) + (row == means).sum(axis=1) / 2) / means.shape[1] for row in means]
    return np.stack(rows)


def tie_groups(means: npt.ArrayLike, p_values: npt.ArrayLike, *, alpha: float = ALPHA) -> Int32:
    """Return the tie group of each model, from 1, by means and a matrix of p-values.

    The first group is the model with the highest mean and all that cannot be distinguished from it (p >= alpha). The
    best of the remaining models leads the next group, and so on. Models of one group cannot be distinguished from its
    leader; two of them may still differ from each other, since "cannot be distinguished" is not transitive.

    >>> tie_groups([0.9, 0.5, 0.88], [[1, 0.01, 0.4], [0.01, 1, 0.02], [0.4, 0.02, 1]]).tolist()
    [1, 2, 1]
    """
    scores, tests = np.asarray(means, dtype=np.float64), np.asarray(p_values, dtype=np.float64)
    if scores.ndim != 1 or tests.shape != (len(scores), len(scores)):
        raise DataError(
            f"p-values must be a square matrix of {len(scores)} models, got shape {tests.shape}",
            hint="pass one p-value for each pair",
        )
    groups = np.zeros(len(scores), dtype=np.int32)
    left = np.argsort(-scores, kind="stable").tolist()
    number = 0
    while left:
        number += 1
        leader = left[0]
        members = [model for model in left if model == leader or tests[leader, model] >= alpha]
        groups[members] = number
        left = [model for model in left if model not in members]
    return groups


def holm_matrix(p_values: Float64) -> Float64:
    """Return a symmetric matrix of p-values corrected by Holm's method over all pairs."""
    adjusted = np.ones_like(p_values)
    upper = np.triu_indices(len(p_values), 1)
    if len(upper[0]):
        adjusted[upper] = adjusted.T[upper] = holm(p_values[upper])
    return adjusted
