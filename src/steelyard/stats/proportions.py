"""Proportions and ranks of two samples: Wilson's interval, Fisher's exact test, the Mann-Whitney test."""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, exp, lgamma, sqrt
from statistics import NormalDist

import numpy as np

from steelyard.types import Float64, Interval

LEVEL = 0.95


def wilson(count: int, total: int, level: float = LEVEL) -> Interval:
    """Return Wilson's score interval of a proportion.

    >>> interval = wilson(0, 200)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0, 0.0188)
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = count / total
    scale = 1 + z * z / total
    centre = (share + z * z / (2 * total)) / scale
    reach = z / scale * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return Interval(max(0.0, centre - reach), min(1.0, centre + reach), level)


def fisher_exact(hits: int, total: int, other_hits: int, other_total: int) -> float:
    """Return the two-sided p-value of Fisher's exact test of two proportions.

    >>> round(fisher_exact(8, 10, 1, 6), 4)
    0.035
    """
    column, everything = hits + other_hits, total + other_total
    low, high = max(0, column - other_total), min(column, total)
    whole = _log_choose(everything, column)
    logs = [_log_choose(total, k) + _log_choose(other_total, column - k) - whole for k in range(low, high + 1)]
    limit = logs[hits - low] + 1e-7  # tables as improbable as this one, up to rounding
    return min(1.0, sum(exp(value) for value in logs if value <= limit))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


@dataclass(frozen=True)
class RankTest:
    """The probability that a value of the first sample exceeds one of the second (ties count half), with a p-value."""

    auc: float
    p_value: float


def mann_whitney(first: Float64, second: Float64) -> RankTest | None:
    """Return the Mann-Whitney test with correction for ties and continuity; None if it is not defined.

    >>> mann_whitney(np.array([3.0, 4, 5, 6]), np.array([1.0, 2, 3])).auc
    0.9583333333333334
    """
    n, m = len(first), len(second)
    if not n or not m:
        return None
    values, place, counts = np.unique(np.concatenate([first, second]), return_inverse=True, return_counts=True)
    if len(values) == 1:
        return None
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    statistic = float(ranks[:n].sum()) - n * (n + 1) / 2
    ties = float((counts.astype(np.float64) ** 3 - counts).sum())
    spread = sqrt(n * m / 12 * ((n + m + 1) - ties / ((n + m) * (n + m - 1))))
    distance = max(abs(statistic - n * m / 2) - 0.5, 0.0)
    return RankTest(statistic / (n * m), min(erfc(distance / spread / sqrt(2)), 1.0))
