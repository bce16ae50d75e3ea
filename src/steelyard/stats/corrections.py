"""Corrections of p-values for several tests at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.types import Float64


def holm(p_values: npt.ArrayLike) -> Float64:
    """Return p-values adjusted by Holm's step-down method: the chance of any false positive stays below alpha.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    steps = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return _in_place(steps, order)


def benjamini_hochberg(p_values: npt.ArrayLike) -> Float64:
    """Return p-values adjusted by Benjamini and Hochberg: the expected share of false discoveries stays below alpha.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.04, 0.04]
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    steps = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return _in_place(steps, order)


def _checked(p_values: npt.ArrayLike) -> Float64:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise DataError(f"p-values must be a list of numbers from 0 to 1, got {p_values!r}", hint="check the tests")
    return p


def _in_place(steps: Float64, order: npt.NDArray[np.intp]) -> Float64:
    adjusted = np.empty_like(steps)
    adjusted[order] = steps
    return adjusted
