"""Statistical tests of differences and correlations."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt

import numpy as np

from steelyard.stats.randomisation import p_values
from steelyard.stats.student import t_cdf
from steelyard.types import Float64


def randomisation(differences: Sequence[Float64]) -> list[float]:
    """Return the p-value of Fisher's randomisation test for each list of differences, with the same sign changes.

    >>> [round(p, 2) for p in randomisation([np.array([0.4, 0.3, 0.5, 0.2, 0.6, 0.1]), np.zeros(6)])]
    [0.03, 1.0]
    """
    if not differences:
        return []
    return [float(p) for p in p_values(np.stack(differences))]


def welch(first: Float64, second: Float64) -> float | None:
    """Return the p-value of Welch's test of two means; None for too few values.

    Where neither side has any spread, it is the chance that a random split would part the values so cleanly.

    >>> round(welch(np.array([1.0, 2, 3, 4]), np.array([3.0, 4, 5, 6, 8])), 4)
    0.041
    """
    if min(len(first), len(second)) < 2:
        return None
    parts = [values.var(ddof=1) / len(values) for values in (first, second)]
    error = sum(parts)
    if error <= 1e-15:
        same = abs(float(first.mean() - second.mean())) < 1e-12
        return 1.0 if same else 2 / comb(len(first) + len(second), len(first))
    degrees = error**2 / sum(part**2 / (len(values) - 1) for part, values in zip(parts, (first, second), strict=True))
    distance = abs(float(first.mean() - second.mean())) / sqrt(error)
    return min(2 * (1 - t_cdf(distance, float(degrees))), 1.0)


def spearman(first: Float64, second: Float64) -> tuple[float, float] | None:
    """Return Spearman's rank correlation and its p-value (Student's t); None if one side is constant.

    >>> rho, p = spearman(np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 5]))
    >>> round(rho, 4), round(p, 4)
    (0.8, 0.1041)
    """
    if len(first) < 4:
        return None
    a, b = _ranks(first), _ranks(second)
    if a.std() < 1e-12 or b.std() < 1e-12:
        return None
    rho = float(np.corrcoef(a, b)[0, 1])
    if abs(rho) > 1 - 1e-12:
        return rho, 0.0
    statistic = abs(rho) * sqrt((len(a) - 2) / (1 - rho**2))
    return rho, min(2 * (1 - t_cdf(statistic, len(a) - 2)), 1.0)


def _ranks(values: Float64) -> Float64:
    """Return ranks from 1; equal values have their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place])
