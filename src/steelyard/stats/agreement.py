"""Do two sets of figures put models into the same order? Rank correlations, and the share of pairs that agree."""

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
    """How well each row of figures agrees with the reference; 1 is the same order, one value for each row."""

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
    wanted = np.asarray(reference, dtype=np.float64).round(DECIMALS)
    found = np.atleast_2d(np.asarray(rows, dtype=np.float64)).round(DECIMALS)
    if wanted.ndim != 1 or found.ndim != 2 or found.shape[1:] != wanted.shape:
        raise DataError(f"figures of shape {found.shape} beside {wanted.shape}", hint="one figure for each model")
    if not (np.isfinite(wanted).all() and np.isfinite(found).all()):
        raise DataError("not every figure is a finite number", hint="leave out models without figures")
    order = np.sign(wanted[:, None] - wanted[None, :])
    told_apart = np.abs(order).sum()
    if not told_apart:
        raise UsageError(
            f"a ranking of {len(wanted)} models that all tie", hint="compare two models or more that differ"
        )
    orders = np.sign(found[:, :, None] - found[:, None, :])
    # A model's sum of signs is twice its mean rank but for a constant, which correlations do not see.
    rank, ranks = order.sum(axis=1), orders.sum(axis=2)
    concord = np.einsum("rij,ij->r", orders, order)
    scale = np.sqrt((rank**2).sum() * (ranks**2).sum(axis=1))
    return Agreement(
        spearman=_ratio(ranks @ rank, scale),
        kendall=_ratio(concord, np.sqrt(told_apart * np.abs(orders).sum(axis=(1, 2)))),
        pairs=np.asarray((concord / told_apart + 1) / 2),
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
    seen = np.sort(np.asarray(values, dtype=np.float64))
    if not len(seen):
        raise DataError("no values", hint="an interval needs one or more")
    reached = (len(seen) - 1) / (len(seen) + 1)
    if reached <= level:
        return Interval(float(seen[0]), float(seen[-1]), reached)
    low, high = np.quantile(seen, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)
