"""Sums of single precision in the order in which torch adds, so that the last bit is the same.

mteb has the model's own similarity computed by torch. Where a text is paired with itself the last bit says 1 or
0.99999994, and so makes or breaks ties, by which rank figures go. torch adds in 8 lanes: a product by four accumulators
of 8, 16 rounds at a time, a length by one. Here a column is a vector, so that numpy adds whole rows of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.types import Float32

LANES, ACCUMULATORS, ROUNDS = 8, 4, 16
SMALLEST = np.float32(1e-12)
"""A vector is never divided by less."""


def dots(first: Float32, second: Float32) -> npt.NDArray[np.float32]:
    """The scalar product of each row with its partner.

    >>> dots(np.float32([[1, 2]]), np.float32([[3, 4]])).tolist()
    [11.0]
    """
    return _sums(_columns(first) * _columns(second))


def cosines(first: Float32, second: Float32) -> npt.NDArray[np.float32]:
    """The cosine of each row with its partner; 0 where one is 0.

    >>> cosines(np.float32([[3, 4], [0, 0]]), np.float32([[3, 4], [1, 0]])).tolist()
    [1.0, 0.0]
    """
    return _sums(_units(_columns(first)) * _units(_columns(second)))


def _columns(vectors: Float32) -> Float32:
    return np.ascontiguousarray(vectors.T)


def _units(columns: Float32) -> Float32:
    """At length 1."""
    squares = columns * columns
    whole = len(squares) // LANES * LANES
    lengths = _in_order([*_rounds(squares[:whole], LANES).sum(axis=0), *squares[whole:]])
    return np.asarray(columns / np.maximum(np.sqrt(lengths), SMALLEST))


def _sums(values: Float32) -> npt.NDArray[np.float32]:
    """The sum of each column."""
    wide = LANES * ACCUMULATORS
    whole, lanes = len(values) // wide * wide, len(values) // LANES * LANES
    rounds = _rounds(values[:whole], wide)
    full = len(rounds) // ROUNDS * ROUNDS
    # Each 16 rounds are added up for themselves; what is left over comes before them.
    total = rounds[full:].sum(axis=0)
    if full:
        total = total + rounds[:full].reshape(-1, ROUNDS, *rounds.shape[1:]).sum(axis=1).sum(axis=0)
    first, *others = total.reshape(ACCUMULATORS, LANES, -1)
    by_lane = _in_order([first, *_rounds(values[whole:lanes], LANES), *others])
    return _in_order([*values[lanes:], *by_lane])


def _rounds(values: Float32, width: int) -> Float32:
    return values.reshape(-1, width, values.shape[1])


def _in_order(parts: list[Float32]) -> Float32:
    """One after the other."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
