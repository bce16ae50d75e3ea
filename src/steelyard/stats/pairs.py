"""Every statistic of pairs of models on the same queries, for many pairs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.stats.intervals import DRAWS, NORMAL, bootstrap_means
from steelyard.stats.power import detectable_difference
from steelyard.stats.randomisation import FLIPS, SignChanges, pair_tests
from steelyard.types import Float64

LEVEL = 0.95
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """Statistics of pairs of models, first minus second; every array has one entry for each pair."""

    pairs: tuple[Pair, ...]
    """Row numbers of the models."""
    difference: Float64
    low: Float64
    """Interval of the difference: paired bootstrap over queries, BCa."""
    high: Float64
    p_value: Float64
    """Two-sided paired randomisation test."""
    effect_size: Float64
    """Cohen's d_z: the mean difference in standard deviations of the differences; NaN if those are all equal."""
    probability: Float64
    """Share of the bootstrap resamples in which the first has the higher mean; ties count half."""
    wins: npt.NDArray[np.int64]
    ties: npt.NDArray[np.int64]
    losses: npt.NDArray[np.int64]
    detectable: Float64
    """The smallest difference that this number of queries detects with power 0.8 at the level's alpha."""
    queries: int
    level: float = LEVEL


def pair_statistics(
    values: npt.ArrayLike,
    pairs: Sequence[Pair] | None = None,
    *,
    level: float = LEVEL,
    flips: int = FLIPS,
    draws: int = DRAWS,
    seed: int = 0,
) -> PairStatistics:
    """Return the statistics of the given pairs, or of all pairs, of models from per-query scores (models, queries).

    >>> found = pair_statistics([[0.9, 0.8, 0.7, 0.9, 1.0, 0.8], [0.5, 0.8, 0.6, 0.4, 0.7, 0.9]])
    >>> found.difference.round(4).tolist(), found.p_value.tolist(), found.wins.tolist()
    ([0.2], [0.1875], [4])
    """
    scores = checked_scores(values)
    chosen = tuple(combinations(range(len(scores)), 2)) if pairs is None else tuple(pairs)
    tests, _ = pair_tests([scores], SignChanges(flips, seed))
    resampled = resampled_means(scores, draws, seed)
    return statistics_of_tasks(scores[:, None], resampled[:, None], tests, chosen, level)[0]


def statistics_of_tasks(
    scores: Float64, resampled: Float64, tests: Sequence[Float64], pairs: tuple[Pair, ...], level: float = LEVEL
) -> list[PairStatistics]:
    """Return the statistics of pairs on each of several tasks with as many queries, computed together.

    Scores are (models, tasks, queries), their bootstrap means (models, tasks, draws); `tests` has the p-values of
    `pair_tests` of each task.
    """
    _, tasks, queries = scores.shape
    shape = len(pairs), tasks
    first, second = (np.array([pair[end] for pair in pairs], dtype=np.intp) for end in (0, 1))
    differences = (scores[first] - scores[second]).reshape(-1, queries)
    low, high, probability = (ends.reshape(shape) for ends in _bootstrap(resampled, differences, first, second, level))
    mean, deviation = differences.mean(axis=1).reshape(shape), differences.std(axis=1, ddof=1).reshape(shape)
    effect = np.divide(mean, deviation, out=np.full(shape, np.nan), where=deviation > 1e-15)
    wins, losses = (np.count_nonzero(side, axis=1).reshape(shape) for side in (differences > 0, differences < 0))
    scale = detectable_difference(1.0, queries, alpha=1 - level)
    return [
        PairStatistics(
            pairs=pairs,
            difference=mean[:, task],
            low=low[:, task],
            high=high[:, task],
            p_value=tests[task][first, second],
            effect_size=effect[:, task],
            probability=probability[:, task],
            wins=wins[:, task],
            ties=queries - wins[:, task] - losses[:, task],
            losses=losses[:, task],
            detectable=scale * deviation[:, task],
            queries=queries,
            level=level,
        )
        for task in range(tasks)
    ]


def resampled_means(scores: Float64, draws: int, seed: int) -> Float64:
    """Return the bootstrap means of every model: (models, queries) to (models, draws)."""
    return np.ascontiguousarray(bootstrap_means(np.ascontiguousarray(scores.T), draws, seed).T)


def checked_scores(values: npt.ArrayLike) -> Float64:
    """Return the scores as a (models, queries) matrix of two or more queries, all finite, or raise a DataError."""
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 2:
        raise DataError(f"scores must be a (models, queries) matrix, got shape {scores.shape}", hint="stack the rows")
    if scores.shape[1] < 2:
        raise DataError(
            f"a paired comparison needs at least 2 queries, got {scores.shape[1]}", hint="use a task with more queries"
        )
    if not np.isfinite(scores).all():
        model, query = np.argwhere(~np.isfinite(scores))[0].tolist()
        raise DataError(
            f"every score must be a finite number, got {scores[model, query]} for model {model}, query {query}",
            hint="check the metric",
        )
    return scores


def _bootstrap(
    resampled: Float64,
    differences: Float64,
    first: npt.NDArray[np.intp],
    second: npt.NDArray[np.intp],
    level: float,
    block: int = 64,
) -> tuple[Float64, Float64, Float64]:
    """Return the ends of the BCa interval and the share of resamples above 0 of every pair and task."""
    rows, tasks = len(differences), resampled.shape[1]
    low, high, above = np.empty(rows), np.empty(rows), np.empty(rows)
    for start in range(0, rows, block):  # a block stays in the cache of the CPU
        part = slice(start, start + block)
        pair, task = np.divmod(np.arange(rows)[part], tasks)
        means = resampled[first[pair], task]
        means -= resampled[second[pair], task]
        above[part] = 1 - _shares_below(means, np.zeros(len(means)))
        ends = bca_interval(means, differences[part], level)
        # The matrix product may round a mean of equal values.
        least, most = differences[part].min(axis=1), differences[part].max(axis=1)
        low[part], high[part] = (np.clip(end, least, most) for end in ends)
    return low, high, above


def bca_interval(means: Float64, values: Float64, level: float = LEVEL) -> tuple[Float64, Float64]:
    """Return the BCa interval of every row's mean from its bootstrap means (rows, draws) and its values.

    Efron and Tibshirani (1993), chapter 14: bias from the share of resamples below the mean, acceleration from the
    skew of the values. A row whose values are all equal has an interval of length 0. The bootstrap means are put in
    order in place.
    """
    draws = means.shape[1]
    centre = values.mean(axis=1)
    centred = values - centre[:, None]
    largest = np.abs(centred).max(axis=1)
    scaled = np.divide(centred, largest[:, None], out=np.zeros_like(centred), where=largest[:, None] > 0)
    squares = np.square(scaled)
    acceleration = (squares * scaled).sum(axis=1) / (6 * np.maximum(squares.sum(axis=1), 1) ** 1.5)
    half = 0.5 / draws
    below = np.clip(_shares_below(means, centre), half, 1 - half).tolist()
    ends = np.array([NORMAL.inv_cdf((1 - level) / 2), NORMAL.inv_cdf((1 + level) / 2)])
    bias = np.array([NORMAL.inv_cdf(share) for share in below])
    moved = bias[:, None] + ends
    corrected = bias[:, None] + moved / (1 - acceleration[:, None] * moved)
    shares = np.array([[NORMAL.cdf(z) for z in row] for row in corrected.tolist()])
    return _quantiles(means, shares)


def _quantiles(means: Float64, shares: Float64) -> tuple[Float64, Float64]:
    """Return two quantiles of each row, interpolated between neighbours; only the tails that hold them are sorted."""
    rows, draws = means.shape
    place = shares * (draws - 1)
    under = np.floor(place).astype(np.intp)
    over = np.minimum(under + 1, draws - 1)
    left, right = int(over[:, 0].max()) + 1, int(under[:, 1].min())
    if left < right:
        means.partition([left, right], axis=1)
        means[:, :left].sort(axis=1)
        means[:, right:].sort(axis=1)
    else:
        means.sort(axis=1)
    row = np.arange(rows)[:, None]
    bottom, top = means[row, under], means[row, over]
    quantiles = bottom + (top - bottom) * (place - under)
    return quantiles[:, 0], quantiles[:, 1]


def _shares_below(means: Float64, centre: Float64) -> Float64:
    """Return the share of each row below its centre; values within rounding of it count half."""
    under = np.count_nonzero(means < (centre - 1e-12)[:, None], axis=1)
    up_to = np.count_nonzero(means <= (centre + 1e-12)[:, None], axis=1)
    return np.asarray((under + up_to) / 2 / means.shape[1])
