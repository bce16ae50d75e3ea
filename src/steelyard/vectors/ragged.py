"""Rows of different lengths, stored end to end: row `r` has the entries `offsets[r]:offsets[r+1]`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from steelyard.types import Int64


def offsets_of(counts: Iterable[int] | Int64) -> Int64:
    """Return the start of each row and the end of the last one.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    sizes = np.fromiter(counts, dtype=np.int64)
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))


def ragged_indices(offsets: Int64, rows: Int64) -> tuple[Int64, Int64]:
    """Return the indices of the entries of some rows, in the order of `rows`, and the new offsets.

    >>> at, taken = ragged_indices(np.array([0, 2, 2, 5]), np.array([2, 0]))
    >>> at.tolist(), taken.tolist()
    ([2, 3, 4, 0, 1], [0, 3, 5])
    """
    counts = np.diff(offsets)[rows]
    taken = offsets_of(counts)
    return np.arange(taken[-1]) + np.repeat(offsets[rows] - taken[:-1], counts), taken
