"""How small a difference can a paired comparison of this many queries detect?"""

from __future__ import annotations

from functools import lru_cache
from math import nan, sqrt

from steelyard.stats.student import t_quantile

POWER = 0.8


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


@lru_cache(maxsize=256)
def _quantiles(freedom: int, alpha: float, power: float) -> float:
    return t_quantile(1 - alpha / 2, freedom) + t_quantile(power, freedom)
