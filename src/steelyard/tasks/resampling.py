"""Intervals of metrics that are not means: bias-corrected percentiles over many resamples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from steelyard.types import Float64, Interval
from steelyard.vectors.threads import single_threaded_blas

Counts = npt.NDArray[np.uint16]
"""How often items were drawn, in few bytes."""
LEVEL = 0.95
SEED = 0
MAX_DRAWS, MIN_DRAWS = 1000, 200
WORK = 1 << 21
"""Items resampled in total: with many items fewer draws are enough, because each draw varies less."""
BLOCK = 1 << 18
"""Items resampled at a time, to limit memory."""
NORMAL = NormalDist()


def draws_for(items: int) -> int:
    """Return the number of resamples of so many items.

    >>> draws_for(200), draws_for(8_000), draws_for(140_000)
    (1000, 262, 200)
    """
    return max(MIN_DRAWS, min(MAX_DRAWS, WORK // max(items, 1)))


def resampled_counts(items: int, seed: int = SEED) -> Iterator[Counts]:
    """Yield blocks of (draws, items): how often each item was drawn. The same on every machine (numpy's PCG64).

    >>> {int(block.sum(axis=1).min()) for block in resampled_counts(5)}
    {5}
    """
    generator = np.random.default_rng(seed)
    draws = draws_for(items)
    step = max(1, BLOCK // max(items, 1))
    for start in range(0, draws, step):
        picks = generator.integers(0, items, (min(step, draws - start), items))
        counts = np.empty(picks.shape, dtype=np.uint16)
        for row, picked in zip(counts, picks, strict=True):  # one row at a time fits into the cache
            row[:] = np.bincount(picked, minlength=items)
        yield counts


def interval_of(values: Float64, score: float | None, bounds: tuple[float, float] = (0.0, 1.0)) -> Interval | None:
    """Return the interval of a score from its values on resamples: bias-corrected percentiles (Efron's BC).

    Resamples contain duplicates, which increase some metrics; so the percentiles are shifted by the fraction of values
    below the score itself. None if the score, or that of most resamples, is undefined.

    >>> values = np.linspace(0.4, 0.6, 1001)
    >>> interval = interval_of(values, 0.5)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.405, 0.595)
    """
    values = values[np.isfinite(values)]
    if score is None or not np.isfinite(score) or len(values) < MIN_DRAWS // 2:
        return None
    half = 0.5 / len(values)
    below = float(((values < score - 1e-12).mean() + (values <= score + 1e-12).mean()) / 2)
    bias = NORMAL.inv_cdf(min(max(below, half), 1 - half))
    shares = [NORMAL.cdf(2 * bias + NORMAL.inv_cdf(share)) for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)]
    low, high = np.clip(np.quantile(values, shares), *bounds).tolist()
    return Interval(low, high, LEVEL)


def mean_intervals(
    values: Mapping[str, Float64], metrics: Mapping[str, float | None], bounds: tuple[float, float] = (0.0, 1.0)
) -> dict[str, Interval]:
    """Return the intervals of metrics that are means of values of the same items, which are resampled together."""
    items = len(next(iter(values.values())))
    if items < 2:
        return {}
    columns = np.column_stack(list(values.values()))
    with single_threaded_blas():  # small products, between which threads of BLAS would spin
        means = np.concatenate([counts @ columns for counts in resampled_counts(items)]) / items
    intervals = {name: interval_of(line, metrics[name], bounds) for name, line in zip(values, means.T, strict=True)}
    return {name: interval for name, interval in intervals.items() if interval is not None}


def described(items: int, over: str) -> dict[str, object]:
    """Return how intervals were computed, for the result."""
    return {"method": "bias-corrected percentile", "over": over, "draws": draws_for(items), "seed": SEED}
