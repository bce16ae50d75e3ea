"""How small a difference can a paired comparison of this many queries detect, and how many does a difference need?"""

from __future__ import annotations

from functools import lru_cache
from math import nan, sqrt

from steelyard.stats.student import t_quantile

POWER = 0.8
TYPICAL_DEVIATION = 0.25
"""A typical standard deviation of per-query differences of nDCG@10 between two models; docs/statistics.md has the
measurement: smaller for variants of one model, larger for models of different families."""


def detectable_difference(deviation: float, queries: int, *, alpha: float = 0.05, power: float = POWER) -> float:
    """Return the smallest true mean difference that a two-sided paired test finds with probability `power`.

    (t(1 - alpha / 2) + t(power)) * deviation / sqrt(queries), with the quantiles of Student's t distribution with
    queries - 1 degrees of freedom. `deviation` is the standard deviation of the per-query differences; a NaN results
    from fewer than two queries.

    >>> round(detectable_difference(0.2, 200), 4)
    0.0398
    """
    if queries < 2:
        return nan
    return _quantiles(queries - 1, alpha, power) * deviation / sqrt(queries)


def queries_needed(deviation: float, difference: float, *, alpha: float = 0.05, power: float = POWER) -> int:
    """Return the smallest number of queries with which a paired test detects a difference with that power.

    >>> queries_needed(0.25, 0.02), detectable_difference(0.25, 1229) <= 0.02 < detectable_difference(0.25, 1228)
    (1229, True)
    """
    low, high = 1, 2
    while detectable_difference(deviation, high, alpha=alpha, power=power) > difference:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        if detectable_difference(deviation, middle, alpha=alpha, power=power) > difference:
            low = middle
        else:
            high = middle
    return high


@lru_cache(maxsize=256)
def _quantiles(freedom: int, alpha: float, power: float) -> float:
    return t_quantile(1 - alpha / 2, freedom) + t_quantile(power, freedom)
