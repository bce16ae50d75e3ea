"""Sums of single precision in the order in which torch adds, so that the last bit is the same.

mteb computes the model's own similarity with torch. For a text paired with itself, the last bit decides between 1 and
0.99999994, and so about ties, which change rank metrics. torch adds in 8 lanes: a product with four accumulators of 8,
16 rounds at a time, a norm with one. Here a column is a vector, so that numpy adds whole rows of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.types import Float32

LANES, ACCUMULATORS, ROUNDS = 8, 4, 16
SMALLEST = np.float32(1e-12)
"""The smallest divisor of a vector."""


def dots(first: Float32, second: Float32) -> npt.NDArray[np.float32]:
    """Return the scalar product of each row with its partner.

    >>> dots(np.float32([[1, 2]]), np.float32([[3, 4]])).tolist()
    [11.0]
    """
    return _sums(_columns(first) * _columns(second))


def cosines(first: Float32, second: Float32) -> npt.NDArray[np.float32]:
    """Return the cosine of each row with its partner; 0 if one is 0.

    >>> cosines(np.float32([[3, 4], [0, 0]]), np.float32([[3, 4], [1, 0]])).tolist()
    [1.0, 0.0]
    """
    return _sums(_units(_columns(first)) * _units(_columns(second)))


def _columns(vectors: Float32) -> Float32:
    return np.ascontiguousarray(vectors.T)


def _units(columns: Float32) -> Float32:
    """Return the columns at length 1."""
    squares = columns * columns
    whole = len(squares) // LANES * LANES
    lengths = _in_order([*_rounds(squares[:whole], LANES).sum(axis=0), *squares[whole:]])
    return np.asarray(columns / np.maximum(np.sqrt(lengths), SMALLEST))


def _sums(values: Float32) -> npt.NDArray[np.float32]:
    """Return the sum of each column."""
    wide = LANES * ACCUMULATORS
    whole, lanes = len(values) // wide * wide, len(values) // LANES * LANES
    rounds = _rounds(values[:whole], wide)
    full = len(rounds) // ROUNDS * ROUNDS
    # Every 16 rounds are added separately; the remaining rounds come first.
    total = rounds[full:].sum(axis=0)
    if full:
        total = total + rounds[:full].reshape(-1, ROUNDS, *rounds.shape[1:]).sum(axis=1).sum(axis=0)
    first, *others = total.reshape(ACCUMULATORS, LANES, -1)
    by_lane = _in_order([first, *_rounds(values[whole:lanes], LANES), *others])
    return _in_order([*values[lanes:], *by_lane])


def _rounds(values: Float32, width: int) -> Float32:
    return values.reshape(-1, width, values.shape[1])


def _in_order(parts: list[Float32]) -> Float32:
    """Add one after the other."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
