"""Sums of single precision in the order in which torch adds, so that the last bit is the same.

mteb has the model's own similarity computed by torch. Where a text is paired with itself the last bit says 1 or
0.99999994, and so makes or breaks ties, by which rank figures go. On processors with vectors of 8 floats or more torch
adds in 8 lanes: a sum by four accumulators of 8, 16 rounds at a time, a length by one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.types import Float32

LANES, ACCUMULATORS, ROUNDS = 8, 4, 16
SMALLEST = np.float32(1e-12)
"""A vector is never divided by less."""


def products(first: Float32, second: Float32) -> npt.NDArray[np.float32]:
    """The scalar product of each row with its partner.

    >>> products(np.float32([[1, 2]]), np.float32([[3, 4]])).tolist()
    [11.0]
    """
    return _sums(np.asarray(first * second))


def units(vectors: Float32) -> Float32:
    """The rows at length 1.

    >>> units(np.float32([[3, 4], [0, 0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    squares = np.asarray(vectors * vectors)
    whole = squares.shape[1] // LANES * LANES
    total = _in_order(_lanes(squares[:, :whole], LANES).sum(axis=1))
    for column in squares[:, whole:].T:
        total = total + column
    return np.asarray(vectors / np.maximum(np.sqrt(total), SMALLEST)[:, None])


def _sums(values: Float32) -> npt.NDArray[np.float32]:
    """The sum of each row."""
    wide = LANES * ACCUMULATORS
    whole, lanes = values.shape[1] // wide * wide, values.shape[1] // LANES * LANES
    rounds = _lanes(values[:, :whole], wide)
    full = rounds.shape[1] // ROUNDS * ROUNDS
    # Each 16 rounds are added up for themselves, and what is left over comes before them.
    total = rounds[:, full:].sum(axis=1)
    if full:
        total = total + rounds[:, :full].reshape(len(values), -1, ROUNDS, wide).sum(axis=2).sum(axis=1)
    parts = [total[:, start : start + LANES] for start in range(0, wide, LANES)]
    joined = parts[0]
    for part in (*_lanes(values[:, whole:lanes], LANES).swapaxes(0, 1), *parts[1:]):
        joined = joined + part
    return _in_order(joined, _in_order(values[:, lanes:]))


def _lanes(values: Float32, width: int) -> Float32:
    return np.ascontiguousarray(values).reshape(len(values), -1, width)


def _in_order(columns: Float32, start: npt.NDArray[np.float32] | None = None) -> npt.NDArray[np.float32]:
    """The columns added one after the other."""
    total = np.zeros(len(columns), dtype=np.float32) if start is None else start
    for column in columns.T:
        total = total + column
    return total
