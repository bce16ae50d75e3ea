"""Intervals and tests of a page from their definitions, with numpy and scipy."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from page_oracles import RESAMPLES, holm, randomised
from scipy import stats

Range = tuple[float, float]


def bca(values: np.ndarray, bounds: Range = (0.0, 1.0)) -> Range:
    """The BCa interval of a mean (Efron 1987) from the recorded seed, 0."""
    count, mean = len(values), values.mean()
    if count < 2:
        return bounds
    if values.std() == 0 and mean in bounds:  # n values at a bound: its exact interval instead
        margin = (1 - 0.025 ** (1 / count)) * (bounds[1] - bounds[0])
        return (bounds[0], bounds[0] + margin) if mean == bounds[0] else (bounds[1] - margin, bounds[1])
    means = values[np.random.default_rng(0).integers(0, count, (RESAMPLES, count))].mean(axis=1)
    below = ((means < mean - 1e-12).mean() + (means <= mean + 1e-12).mean()) / 2
    bias = stats.norm.ppf(np.clip(below, 0.5 / RESAMPLES, 1 - 0.5 / RESAMPLES))
    spread = ((values - mean) ** 2).sum()
    acceleration = ((values - mean) ** 3).sum() / (6 * spread**1.5) if spread > 0 else 0.0
    ends = bias + stats.norm.ppf([0.025, 0.975])
    shares = stats.norm.cdf(bias + ends / (1 - acceleration * ends))
    low, high = np.clip(np.quantile(means, shares), values.min(), values.max())
    return float(low), float(high)


def student(values: np.ndarray) -> Range:
    """Student's interval of a mean."""
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    return max(float(low), 0.0), min(float(high), 1.0)


def compared(values: dict[str, np.ndarray]) -> dict[tuple[str, str], tuple[np.ndarray, Range]]:
    """The differences of every better and worse profile, with the range of the adjusted p-value."""
    couples = [(a, b) if values[a].mean() >= values[b].mean() else (b, a) for a, b in combinations(values, 2)]
    differences = [values[a] - values[b] for a, b in couples]
    ranges = [randomised(one) for one in differences]
    lows, highs = (holm([one[end] for one in ranges]) for end in (0, 1))
    return {
        couple: (one, (low, high)) for couple, one, low, high in zip(couples, differences, lows, highs, strict=True)
    }


def welch(first: np.ndarray, second: np.ndarray) -> float:
    if first.std() == 0 and second.std() == 0:
        same = abs(first.mean() - second.mean()) < 1e-12
        return 1.0 if same else 2 / comb(len(first) + len(second), len(first))
    return float(stats.ttest_ind(first, second, equal_var=False).pvalue)
