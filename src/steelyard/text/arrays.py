"""Helpers for arrays of tokens and for corpora that are processed in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from steelyard.types import Int64


def flat_nonzero(mask: npt.NDArray[np.bool_]) -> Int64:
    """Return the indices of true values: `np.flatnonzero` of a flat array, without its overhead.

    >>> flat_nonzero(np.array([False, True, True])).tolist()
    [1, 2]
    """
    return mask.nonzero()[0]


def text_chunks(texts: Sequence[str], characters: int, per_text: int = 1) -> Iterator[tuple[int, int]]:
    """Return ranges of rows that cover all texts, each of at most so many characters or of one longer text.

    Each text counts `per_text` characters more than it has: the cost of a text of any length.

    >>> list(text_chunks(["three", "by", "", "four hundred", "x"], 6))
    [(0, 1), (1, 3), (3, 4), (4, 5)]
    """
    ends = np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) + per_text)
    start = 0
    while start < len(texts):
        taken = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, taken + characters, side="right")))
        yield start, stop
        start = stop
