"""Correlations: do two sets of scores put models into the same order, and how uncertain is a correlation?

Rank correlations and the share of pairs that agree. A correlation is also a mean of influence values, one for each
pair, so that paired tests of means apply to it. The influence value of a pair is the correlation plus the (first-order)
effect of the pair on it: their mean is exactly the correlation, and their spread is that of the correlation over
samples (Hampel 1974; Croux and Dehon 2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError, UsageError
from steelyard.types import Float64, Interval

MEASURES = ("spearman", "kendall", "pairs")
DECIMALS = 12
"""Figures that are equal to so many decimals tie: the rest is the order in which they were summed."""
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well each row of scores agrees with the reference; 1 is the same order, one value for each row."""

    spearman: Float64
    """The correlation of ranks, ties having their mean rank; -1 to 1."""
    kendall: Float64
    """Kendall's tau-b; -1 to 1."""
    pairs: Float64
    """Return the share of the pairs that the reference distinguishes that have the same order; a tie counts half."""

    def __getitem__(self, measure: str) -> Float64:
        return {"spearman": self.spearman, "kendall": self.kendall, "pairs": self.pairs}[measure]


def agreement(reference: npt.ArrayLike, rows: npt.ArrayLike) -> Agreement:
    """Agreement of each row of `rows` (draws, models) with `reference` (models).

    A row in which all models tie has correlations of 0, and half of its pairs agree. A reference in which
    all tie has no order that anything could agree with: an error.

    >>> result = agreement([0.9, 0.5, 0.1], [[0.8, 0.4, 0.2], [0.4, 0.8, 0.2], [0.3, 0.3, 0.3]])
    >>> result.spearman.round(4).tolist(), result.kendall.round(4).tolist(), result.pairs.round(4).tolist()
    ([1.0, 0.5, 0.0], [1.0, 0.3333, 0.0], [1.0, 0.6667, 0.5])
    """
    expected = np.asarray(reference, dtype=np.float64).round(DECIMALS)
    scores = np.atleast_2d(np.asarray(rows, dtype=np.float64)).round(DECIMALS)
    if expected.ndim != 1 or scores.ndim != 2 or scores.shape[1:] != expected.shape:
        raise DataError(
            f"scores must have the shape {expected.shape}, got {scores.shape}", hint="pass one score for each model"
        )
    if not (np.isfinite(expected).all() and np.isfinite(scores).all()):
        raise DataError("every score must be a finite number", hint="leave out models without scores")
    order = np.sign(expected[:, None] - expected[None, :])
    distinguished = np.abs(order).sum()
    if not distinguished:
        raise UsageError(
            f"the reference scores must differ, got {len(expected)} equal ones",
            hint="compare two or more models with different scores",
        )
    orders = np.sign(scores[:, :, None] - scores[:, None, :])
    # A model's sum of signs is twice its mean rank but for a constant, which correlations do not see.
    rank, ranks = order.sum(axis=1), orders.sum(axis=2)
    concord = np.einsum("rij,ij->r", orders, order)
    scale = np.sqrt((rank**2).sum() * (ranks**2).sum(axis=1))
    return Agreement(
        spearman=_ratio(ranks @ rank, scale),
        kendall=_ratio(concord, np.sqrt(distinguished * np.abs(orders).sum(axis=(1, 2)))),
        pairs=np.asarray((concord / distinguished + 1) / 2),
    )


def _ratio(above: Float64, below: Float64) -> Float64:
    return np.asarray(np.divide(above, below, out=np.zeros(len(above)), where=below > 0))


def spread(values: npt.ArrayLike, level: float = LEVEL) -> Interval:
    """Where one more value like these would lie: the middle `level` of them.

    Five values do not show where 95 of 100 lie. Below 39 the interval is all that was seen, from the lowest to
    the highest, and its level is the chance (n - 1) / (n + 1) that another one of the same kind falls into it.

    >>> spread([0.8, 1.0, 0.9, 0.9, 0.7])
    Interval(low=0.7, high=1.0, level=0.6666666666666666)
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if not len(ordered):
        raise DataError("an interval needs at least 1 value, got 0", hint="pass one or more values")
    reached = (len(ordered) - 1) / (len(ordered) + 1)
    if reached <= level:
        return Interval(float(ordered[0]), float(ordered[-1]), reached)
    low, high = np.quantile(ordered, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


def pearson_influence(first: npt.ArrayLike, second: npt.ArrayLike) -> Float64 | None:
    """Return the influence values of Pearson's correlation; None if one side is constant.

    >>> values = pearson_influence([1, 2, 3, 5], [1, 3, 2, 6])
    >>> round(float(values.mean()), 6) == round(float(np.corrcoef([1, 2, 3, 5], [1, 3, 2, 6])[0, 1]), 6)
    True
    """
    one, other = (_standardised(np.asarray(values, dtype=np.float64)) for values in (first, second))
    if one is None or other is None:
        return None
    correlation = float((one * other).mean())
    return np.asarray(one * other - correlation / 2 * (one**2 + other**2) + correlation)


def spearman_influence(first: npt.ArrayLike, second: npt.ArrayLike) -> Float64 | None:
    """Return the influence values of Spearman's correlation, ties having mean ranks; None if one side is constant.

    >>> values = spearman_influence([0.1, 0.4, 0.2, 0.9], [1, 2, 3, 3])
    >>> round(float(values.mean()), 4)
    0.6325
    """
    one, other = (np.asarray(values, dtype=np.float64) for values in (first, second))
    f, g = _distribution(one), _distribution(other)
    scale = float(f.std() * g.std())
    if scale <= 1e-12:
        return None
    effect = f * g + _mean_above(one, g) + _mean_above(other, f)
    correlation = float(((f - f.mean()) * (g - g.mean())).mean()) / scale
    return np.asarray(correlation + (effect - effect.mean()) / scale)


def _standardised(values: Float64) -> Float64 | None:
    spread = float(values.std())
    return (
        None
        if spread <= 1e-12 * max(1.0, float(np.abs(values).max(initial=0.0)))
        else (values - values.mean()) / spread
    )


def _distribution(values: Float64) -> Float64:
    """Return the share of values below each one, equal ones counting half."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    return np.asarray((below + counts / 2)[place] / len(values))


def _mean_above(values: Float64, weights: Float64) -> Float64:
    """Return, for each value, the sum of the weights of all greater ones, half of equal ones, over their number."""
    _, place = np.unique(values, return_inverse=True)
    sums = np.bincount(place, weights)
    above = sums[::-1].cumsum()[::-1] - sums
    return np.asarray((above + sums / 2)[place] / len(values))
