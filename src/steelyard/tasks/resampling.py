"""Intervals of figures that are no means: the figure of many resamples, read at shares corrected for bias."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from steelyard.types import Float64, Interval

Counts = npt.NDArray[np.uint16]
"""How often items were drawn: small numbers, which are read many times."""
LEVEL = 0.95
SEED = 0
MOST, FEWEST = 1000, 200
WORK = 1 << 21
"""Items resampled in all: with many items, fewer draws tell as much, as each of them varies less."""
BLOCK = 1 << 18
"""Items resampled at a time: what is held stays small."""
NORMAL = NormalDist()


def draws_for(items: int) -> int:
    """How many resamples of so many items are made.

    >>> draws_for(200), draws_for(8_000), draws_for(140_000)
    (1000, 262, 200)
    """
    return max(FEWEST, min(MOST, WORK // max(items, 1)))


def resampled_counts(items: int, seed: int = SEED) -> Iterator[Counts]:
    """Blocks of (draws, items): how often each item was drawn. The same on every machine (numpy's PCG64).

    >>> {int(block.sum(axis=1).min()) for block in resampled_counts(5)}
    {5}
    """
    generator = np.random.default_rng(seed)
    draws = draws_for(items)
    step = max(1, BLOCK // max(items, 1))
    for start in range(0, draws, step):
        picks = generator.integers(0, items, (min(step, draws - start), items))
        counts = np.empty(picks.shape, dtype=np.uint16)
        for row, picked in zip(counts, picks, strict=True):  # a row at a time stays in the cache
            row[:] = np.bincount(picked, minlength=items)
        yield counts


def interval_of(values: Float64, found: float | None, bounds: tuple[float, float] = (0.0, 1.0)) -> Interval | None:
    """The interval of a figure from its values on resamples: their percentiles, moved by the bias of resampling.

    Resamples hold copies, which make some figures better than they are; so the shares at which the percentiles are
    read are moved by how many of the values lie below the figure itself (Efron's BC). None where the figure, or that
    of most resamples, is undefined.

    >>> values = np.linspace(0.4, 0.6, 1001)
    >>> interval = interval_of(values, 0.5)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.405, 0.595)
    """
    values = values[np.isfinite(values)]
    if found is None or not np.isfinite(found) or len(values) < FEWEST // 2:
        return None
    half = 0.5 / len(values)
    below = float(((values < found - 1e-12).mean() + (values <= found + 1e-12).mean()) / 2)
    bias = NORMAL.inv_cdf(min(max(below, half), 1 - half))
    shares = [NORMAL.cdf(2 * bias + NORMAL.inv_cdf(share)) for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)]
    low, high = np.clip(np.quantile(values, shares), *bounds).tolist()
    return Interval(low, high, LEVEL)


def described(items: int, over: str) -> dict[str, object]:
    """How intervals were made, for the result."""
    return {"method": "bias-corrected percentile", "over": over, "draws": draws_for(items), "seed": SEED}
