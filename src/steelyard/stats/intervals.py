"""How sure is a mean? Confidence intervals from the values of the single queries.

Random resamples are matrices, so that a statistic of all of them is one product; the same seed and sizes give the same
matrices on every machine (numpy's PCG64).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import fsum, hypot, inf, isfinite, sqrt
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.stats.student import t_quantile
from steelyard.types import Float64, Interval
from steelyard.vectors.threads import single_threaded_blas

Method = Literal["bootstrap", "percentile", "t"]
"""`bootstrap`: corrected for bias and skew (BCa); `percentile`: the plain one; `t`: Student's."""

Bounds = tuple[float, float]
"""The least and the most that a value can be; infinite where there is no bound."""

DRAWS = 2000
BOUNDS: Bounds = (0.0, 1.0)
ROUNDING = 1e-9
"""So far beyond its bounds a value may lie by rounding alone."""
NORMAL = NormalDist()


def mean_interval(
    values: npt.ArrayLike,
    level: float = 0.95,
    *,
    method: Method = "bootstrap",
    draws: int = DRAWS,
    seed: int = 0,
    bounds: Bounds = BOUNDS,
) -> Interval:
    """A range that holds the true mean with probability `level`, from a sample of values; see `intervals`.

    >>> interval = mean_interval([0.2, 0.4, 0.4, 0.9, 1.0], method="t")
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.1463, 1.0)
    """
    by_name = intervals({"values": np.asarray(values)}, level, method=method, draws=draws, seed=seed, bounds=bounds)
    return by_name.get("values", Interval(-inf, inf, level))


def intervals(
    per_query: Mapping[str, npt.ArrayLike],
    level: float = 0.95,
    *,
    method: Method = "bootstrap",
    draws: int = DRAWS,
    seed: int = 0,
    bounds: Bounds | Mapping[str, Bounds] = BOUNDS,
) -> dict[str, Interval]:
    """The interval of the mean of every metric, over the same resamples of queries.

    No interval leaves the `bounds` of its metric, given for all alike or by name; a bound that a value exceeds is
    none. One query gives no information: its interval is the bounds themselves, and without bounds there is none.
    Where all queries have the best (or the worst) value, resampling sees no spread; the exact bound is given instead:
    64 hits of 64 still leave room for a true hit rate of 0.944.

    >>> found = intervals({"hit_rate_at_10": [1, 1, 0, 1, 1, 0, 1, 1], "mrr_at_10": [1, 0.5, 0, 1, 1, 0, 1, 0.5]})
    >>> {name: (round(i.low, 3), round(i.high, 3)) for name, i in found.items()}
    {'hit_rate_at_10': (0.375, 1.0), 'mrr_at_10': (0.312, 0.875)}
    """
    if not 0 < level < 1:
        raise UsageError.invalid("level", expected="between 0 and 1", found=level, hint="pass level=0.95")
    if method not in get_args(Method):
        raise UnknownName("method", method, get_args(Method), hint=f"known: {', '.join(get_args(Method))}")
    if not per_query:
        return {}
    values = stack(per_query)
    least, most = bounds_of(per_query, bounds)
    least = np.where((values < least - ROUNDING).any(axis=0), -inf, least)
    most = np.where((values > most + ROUNDING).any(axis=0), inf, most)
    if len(values) < 2:
        lows, highs = least, most
    else:
        lows, highs = _student(values, level) if method == "t" else _bootstrap(values, level, method, draws, seed)
        lows, highs = np.clip(lows, least, most), np.clip(highs, least, most)
        lows, highs = _at_a_bound(values, level, least, most, lows, highs)
    ends = zip(per_query, lows.tolist(), highs.tolist(), strict=True)
    return {name: Interval(low, high, level) for name, low, high in ends if isfinite(high - low)}


def interval_of_mean(scores: Sequence[float], ranges: Sequence[Interval]) -> Interval:
    """The interval of the mean of independent scores, such as those of tasks, from their intervals.

    The distances from the scores to the lower ends are added as errors are, and those to the upper ends likewise
    (Zou and Donner's MOVER). A score near a bound has a short distance on that side, so the result stays within the
    bounds that the intervals keep, and the interval of one score is its own.

    >>> found = interval_of_mean([0.98, 0.5], [Interval(0.9, 1.0), Interval(0.4, 0.6)])
    >>> round(found.low, 4), round(found.high, 4)
    (0.676, 0.791)
    """
    below = hypot(*(score - one.low for score, one in zip(scores, ranges, strict=True))) / len(scores)
    above = hypot(*(one.high - score for score, one in zip(scores, ranges, strict=True))) / len(scores)
    mean = fsum(scores) / len(scores)
    return Interval(mean - below, mean + above, ranges[0].level)


def bounds_of(names: Iterable[str], bounds: Bounds | Mapping[str, Bounds]) -> tuple[Float64, Float64]:
    """The least and the most of every metric; those that a mapping does not name lie between 0 and 1.

    >>> [ends.tolist() for ends in bounds_of(["ndcg_at_10", "utility"], {"utility": (-inf, inf)})]
    [[0.0, -inf], [1.0, inf]]
    """
    pairs = [bounds.get(name, BOUNDS) if isinstance(bounds, Mapping) else bounds for name in names]
    least, most = np.array(pairs, dtype=np.float64).T
    return least, most


def stack(per_query: Mapping[str, npt.ArrayLike]) -> Float64:
    """The values as one matrix (queries, metrics); all metrics must have the same number, none may be NaN."""
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in per_query.items()}
    sizes = {name: column.shape for name, column in columns.items()}
    if len(set(sizes.values())) > 1 or any(len(shape) != 1 for shape in sizes.values()):
        raise DataError(
            f"every metric must have one value for each query, got arrays of the shapes {sizes}",
            hint="pass the values of one run, as lists of the same length",
            found=sizes,
        )
    values = np.column_stack(list(columns.values()))
    if not np.isfinite(values).all():
        name, column = next((name, column) for name, column in columns.items() if not np.isfinite(column).all())
        row = int(np.flatnonzero(~np.isfinite(column))[0])
        raise DataError(
            f"{name} of query number {row} must be a finite number, got {column[row]}",
            hint="remove the query from every metric, or score it again",
            field=name,
            row=row,
            found=column[row],
        )
    return values


def _student(values: Float64, level: float) -> tuple[Float64, Float64]:
    count = len(values)
    reach = t_quantile((1 + level) / 2, count - 1) * values.std(axis=0, ddof=1) / sqrt(count)
    centre = values.mean(axis=0)
    return centre - reach, centre + reach


def _at_a_bound(
    values: Float64, level: float, least: Float64, most: Float64, lows: Float64, highs: Float64
) -> tuple[Float64, Float64]:
    """Exact bounds for metrics whose every value is the lowest or the highest there is.

    A metric within 0 and 1 whose mean is m is 1 with a chance of at most m, so n ones have a chance of at most
    m ** n; this falls below (1 - level) / 2 where m is below its n-th root.
    """
    width = np.where(np.isfinite(least) & np.isfinite(most), most - least, 0.0)  # without it nothing is known
    margin = (1 - ((1 - level) / 2) ** (1 / len(values))) * width
    lows = np.where((values == most).all(axis=0), most - margin, lows)
    highs = np.where((values == least).all(axis=0), least + margin, highs)
    return lows, highs


def _bootstrap(values: Float64, level: float, method: Method, draws: int, seed: int) -> tuple[Float64, Float64]:
    means = np.sort(bootstrap_means(values, draws, seed), axis=0)
    shares = np.array([[(1 - level) / 2], [(1 + level) / 2]]) * np.ones(values.shape[1])
    if method == "bootstrap":
        shares = _corrected(shares, values, means)
    low, high = _quantile(means, shares[0]), _quantile(means, shares[1])
    # The matrix product may round a mean of ones to 1 + 1e-16.
    least, most = values.min(axis=0), values.max(axis=0)
    return np.clip(low, least, most), np.clip(high, least, most)


def _corrected(shares: Float64, values: Float64, means: Float64) -> Float64:
    """BCa: where to read the bootstrap distribution instead, for its bias and the skew of the values."""
    centre = values.mean(axis=0)
    largest = np.abs(values - centre).max(axis=0)
    # Scaled first, so that the cubes of tiny values do not vanish.
    centred = np.divide(values - centre, largest, out=np.zeros_like(values), where=largest > 0)
    spread = np.square(centred).sum(axis=0)
    skew = np.power(centred, 3).sum(axis=0) / (6 * np.maximum(spread, 1) ** 1.5)
    below = ((means < centre - 1e-12).mean(axis=0) + (means <= centre + 1e-12).mean(axis=0)) / 2
    half = 0.5 / len(means)  # a share of 0 or 1 would lie infinitely far out
    bias = np.array([NORMAL.inv_cdf(share) for share in np.clip(below, half, 1 - half).tolist()])
    moved = bias + np.array([[NORMAL.inv_cdf(share) for share in row] for row in shares.tolist()])
    corrected = bias + moved / (1 - skew * moved)
    return np.array([[NORMAL.cdf(z) for z in row] for row in corrected.tolist()])


def _quantile(ordered: Float64, share: Float64) -> Float64:
    """The quantile of every column, each at its own share, interpolated between neighbours."""
    place = share * (len(ordered) - 1)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, len(ordered) - 1)
    columns = np.arange(ordered.shape[1])
    low, high = ordered[below, columns], ordered[above, columns]
    return np.asarray(low + (high - low) * (place - below))


BLOCK = 1 << 22
"""Entries of a matrix made at a time, so that memory stays small however many queries there are."""
CACHED = 1 << 15
"""Entries of a matrix that are drawn at a time."""


def bootstrap_means(values: Float64, draws: int, seed: int) -> Float64:
    """Means of resamples with replacement, all columns resampled alike: (queries, columns) to (draws, columns).

    >>> bootstrap_means(np.ones((3, 2)), draws=2, seed=0).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    with single_threaded_blas():  # small ones, after which threads of BLAS would only be in the way
        return np.concatenate([weights @ values for weights in _weights(len(values), draws, seed)])


def _weights(count: int, draws: int, seed: int) -> Iterator[Float64]:
    """Blocks of (draws, queries): how often each query was drawn, over their number."""
    if count * draws <= BLOCK:
        yield _kept_weights(count, draws, seed)
        return
    generator = np.random.default_rng(seed)
    for size in _block_sizes(count, draws):
        yield _draw(generator, size, count)


@lru_cache(maxsize=4)
def _kept_weights(count: int, draws: int, seed: int) -> Float64:
    # A batch has many tasks of 200 queries: one matrix serves all of them.
    weights = _draw(np.random.default_rng(seed), draws, count)
    weights.flags.writeable = False
    return weights


def _draw(generator: np.random.Generator, size: int, count: int) -> Float64:
    weights = np.empty((size, count))
    step = max(CACHED // max(count, 1), 1)
    for start in range(0, size, step):  # in memory that is used again; the random numbers are the same
        lines = min(step, size - start)
        picks = generator.integers(0, count, (lines, count))
        picks += np.arange(lines)[:, None] * count
        drawn = np.bincount(picks.ravel(), minlength=lines * count).reshape(lines, count)
        np.divide(drawn, count, out=weights[start : start + lines])
    return weights


def _block_sizes(count: int, draws: int) -> Iterator[int]:
    step = max(BLOCK // max(count, 1), 1)
    for start in range(0, draws, step):
        yield min(step, draws - start)
