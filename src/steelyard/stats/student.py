"""Student's t distribution: the one function that intervals need, without scipy."""

from __future__ import annotations

from math import exp, isinf, lgamma, log, sqrt


def t_quantile(probability: float, degrees: float) -> float:
    """The value that a t-distributed variable stays below with the given probability (0 < probability < 1).

    >>> round(t_quantile(0.975, 10), 6)
    2.228139
    """
    if probability < 0.5:
        return -t_quantile(1 - probability, degrees)
    low, high = 0.0, 1.0
    while t_cdf(high, degrees) < probability:
        low, high = high, high * 2
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_cdf(middle, degrees) < probability else (low, middle)
    return (low + high) / 2


def t_cdf(value: float, degrees: float) -> float:
    """The probability that a t-distributed variable is at most `value`.

    >>> t_cdf(0.0, 5), round(t_cdf(2.228138852, 10), 6)
    (0.5, 0.975)
    """
    if isinf(value):
        return float(value > 0)
    tail = 0.5 * _beta_share(degrees / (degrees + value * value), degrees / 2, 0.5)
    return 1 - tail if value > 0 else tail


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1 - _beta_share(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a
    return front / _continued_fraction(x, a, b)


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluated from its far end; the number of terms grows with the root of the larger parameter."""
    value = 1.0
    for step in range(int(60 + 12 * sqrt(max(a, b))), 0, -1):
        m, odd = divmod(step, 2)
        if odd:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1 + term / value
    return value
