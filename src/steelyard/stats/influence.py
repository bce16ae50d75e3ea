"""Correlations as means: one influence value for each pair, so that paired tests of means apply to them.

The influence value of a pair is the correlation plus the pair's (first-order) effect on it: their mean is exactly the
correlation, and their spread is that of the correlation over samples (Hampel 1974; Croux and Dehon 2010).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.types import Float64


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
