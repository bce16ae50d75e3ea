"""Exact and near duplicates of texts.

Near duplicates have a high Jaccard index (intersection over union) of the sets of five-character pieces of their
normalised texts. MinHash with locality-sensitive hashing selects the pairs to compare, and each pair is then compared
exactly, so nothing is removed because of an estimate. At an index of 0.9 one pair in twenty million is missed, at 0.8
one in 5,000.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from steelyard.errors import UsageError
from steelyard.text.pieces import UInt64, jaccard, mix, pieces

BANDS, ROWS = 16, 4


@dataclass
class NearDuplicates:
    """Texts that were kept, to find near duplicates of them.

    >>> kept = NearDuplicates(0.8)
    >>> kept.keep("the quick brown fox jumps over the lazy dog")
    >>> kept.like("The quick brown fox jumps over the lazy dog!"), kept.like("a slow red fox")
    (0, None)
    """

    threshold: float
    """From 0 (nothing is a duplicate) to 1 (the same pieces)."""
    _kept: list[UInt64] = field(default_factory=list)
    _buckets: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self._last: tuple[str, UInt64, list[int]] = "", (nothing := pieces("")), _bands(nothing)
        if not 0 <= self.threshold <= 1:
            raise UsageError.invalid(
                "the similarity of near duplicates", expected="between 0 (off) and 1", found=self.threshold
            )

    def like(self, text: str) -> int | None:
        """Return the number of the first kept text that this one nearly duplicates; None if there is none."""
        if not self.threshold:
            return None
        mine, bands = self._sketch(text)
        seen = {number for band in enumerate(bands) for number in self._buckets.get(band, ())}
        return next((number for number in sorted(seen) if jaccard(mine, self._kept[number]) >= self.threshold), None)

    def keep(self, text: str) -> None:
        """Add a text."""
        if not self.threshold:
            return
        mine, bands = self._sketch(text)
        for band in enumerate(bands):
            self._buckets[band].append(len(self._kept))
        self._kept.append(mine)

    def _sketch(self, text: str) -> tuple[UInt64, list[int]]:
        """Return pieces and bands; the last text is cached, because `keep` usually follows `like`."""
        if text != self._last[0]:
            mine = pieces(text)
            self._last = text, mine, _bands(mine)
        return self._last[1:]


def _bands(hashes: UInt64) -> list[int]:
    """Return sixteen numbers; two sets share each with probability J to the fourth."""
    smallest = np.empty(BANDS * ROWS, dtype=np.uint64)
    for start in range(0, BANDS * ROWS, 16):  # a few permutations at a time stay in the processor's cache
        salts = _salts()[start : start + 16, None]
        smallest[start : start + 16] = ((hashes ^ salts) * np.uint64(0x9E3779B97F4A7C15)).min(axis=1)
    key = np.zeros(BANDS, dtype=np.uint64)
    for part in smallest.reshape(BANDS, ROWS).T:
        key = mix(key ^ part)
    numbers: list[int] = key.tolist()
    return numbers


@cache
def _salts() -> UInt64:
    return mix(np.arange(1, BANDS * ROWS + 1, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95))
