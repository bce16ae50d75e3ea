"""Comparison of float32 arithmetic of two libraries, valid on any processor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

TOLERANCE = 512 * float(np.finfo(np.float32).eps)
"""Relative to the largest value: AVX2, AVX-512 and other batch shapes sum in another order in every layer."""


def assert_float_parity(actual: npt.ArrayLike, expected: npt.ArrayLike) -> None:
    """Assert that two results of float32 models agree relative to the size of the values."""
    reference = np.asarray(expected)
    scale = float(np.abs(reference[np.isfinite(reference)]).max(initial=0.0))
    np.testing.assert_allclose(np.asarray(actual), reference, rtol=TOLERANCE, atol=TOLERANCE * max(scale, 1e-3))
