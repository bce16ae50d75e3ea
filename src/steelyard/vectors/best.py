"""The best documents out of a block of scores."""

from __future__ import annotations

import numpy as np

from steelyard.types import Float32, Int32, Int64, Run


def best(scores: Float32, k: int) -> Run:
    """The best `k` columns of each line, score descending, then column ascending, also at the cut.

    A score of -inf says that the document was not found; lists are then shorter.

    >>> run = best(np.array([[0.5, -np.inf, 2, 0.5]], dtype=np.float32), 3)
    >>> run.rows.tolist(), best(np.array([[1, 1]], dtype=np.float32), 1).rows.tolist()
    ([[2, 0, 3]], [[0]])
    """
    width = scores.shape[1]
    k = min(k, width)
    keys = _keys(scores)
    if width > k > 0:
        keys = np.partition(keys, k - 1, axis=1)
    keys = np.sort(keys[:, :k], axis=1)
    found = _scores(keys)
    rows: Int32 = (keys & 0xFFFFFFFF).astype(np.int32)
    return Run(np.where(np.isneginf(found), np.int32(-1), rows), found)


def _keys(scores: Float32) -> Int64:
    """One number for score and column that sorts as they rank."""
    bits = (scores + np.float32(0)).view(np.int32)  # adding 0 makes -0.0 the same number as 0.0
    ascending = bits ^ (bits >> 31 & 0x7FFFFFFF)
    return np.asarray((~ascending).astype(np.int64) << 32 | np.arange(scores.shape[1]))


def _scores(keys: Int64) -> Float32:
    ascending = ~(keys >> 32).astype(np.int32)
    return (ascending ^ (ascending >> 31 & 0x7FFFFFFF)).view(np.float32)
