"""Equal documents must get equal scores, otherwise rounding would rank them.

A matrix product does not guarantee that: the last bit of a score depends on the position of a row in the matrix. So a
row that equals an earlier one bit by bit gets the score of that row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.types import Float32, Int64

WORDS = (np.uint64, np.uint32, np.uint16, np.uint8)
"""Rows are summed in the widest of these that divides them."""


@dataclass(frozen=True, eq=False)
class DuplicateRows:
    """Which rows of a matrix equal an earlier row."""

    first: Int64
    """The rows that have duplicates, ascending."""
    rows: Int64
    """The rows that duplicate an earlier one, ascending."""
    of: Int64
    """For each duplicate, the position of its original in `first`."""

    @classmethod
    def find(cls, matrix: npt.NDArray[Any]) -> DuplicateRows:
        """Find duplicates in vectors or codes of any type, in one pass over the matrix.

        >>> copies = DuplicateRows.find(np.array([[1, 2], [2, 1], [1, 2], [0, 0]], dtype=np.float32))
        >>> copies.first.tolist(), copies.rows.tolist(), copies.of.tolist()
        ([0], [2], [0])
        """
        return cls.find_in_blocks([matrix], max(1, len(matrix)))

    @classmethod
    def find_in_blocks(
        cls,
        matrices: Sequence[npt.NDArray[Any]],
        block_rows: int,
        release: Callable[[npt.NDArray[Any]], None] = lambda block: None,
    ) -> DuplicateRows:
        """Find duplicates in matrices, one after the other, in one pass; `release` is called for each block read."""
        if not matrices:
            return cls.none()
        parts = []
        for matrix in matrices:
            for start in range(0, len(matrix), block_rows):
                block = matrix[start : start + block_rows]
                parts.append(_row_sums(block))
                release(block)
        sums = np.concatenate([np.empty(0, dtype=np.uint64), *parts])
        ordered = np.sort(sums)
        if not (ordered[1:] == ordered[:-1]).any():  # as in most corpora, and six times faster than np.unique
            return cls.none()
        _, groups, sizes = np.unique(sums, return_inverse=True, return_counts=True)
        suspects = np.flatnonzero(sizes[groups] > 1)
        starts = np.cumsum([0, *map(len, matrices)])
        owners = np.searchsorted(starts, suspects, side="right") - 1
        rows = zip(owners.tolist(), (suspects - starts[owners]).tolist(), suspects.tolist(), strict=True)
        seen: dict[bytes, int] = {}
        originals = [seen.setdefault(matrices[owner][at].tobytes(), row) for owner, at, row in rows]
        original = np.array(originals, dtype=np.int64)
        copy = original != suspects
        first, of = np.unique(original[copy], return_inverse=True)
        return cls(first, suspects[copy], of)

    @classmethod
    def none(cls) -> DuplicateRows:
        """Return no duplicates, for integer scores: their sums are exact."""
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, empty, empty)

    @property
    def originals(self) -> int:
        """The number of rows that have duplicates."""
        return len(self.first)

    def copy_scores(self, scores: Float32, start: int, originals: Float32) -> None:
        """Copy scores of originals to their duplicates in a block of scores whose first column is row `start`.

        `originals` (queries, originals) keeps those scores between blocks; blocks must come in order.
        """
        stop = start + scores.shape[1]
        low, high = np.searchsorted(self.first, (start, stop))
        originals[:, low:high] = scores[:, self.first[low:high] - start]
        low, high = np.searchsorted(self.rows, (start, stop))
        scores[:, self.rows[low:high] - start] = originals[:, self.of[low:high]]


def _row_sums(matrix: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return a sum of each row that does not depend on the order: equal rows have equal sums, most others do not."""
    width = matrix.shape[1] * matrix.itemsize
    word = next(word for word in WORDS if width % np.dtype(word).itemsize == 0)
    return np.asarray(np.ascontiguousarray(matrix).view(word).sum(axis=1, dtype=np.uint64))
