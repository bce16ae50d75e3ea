"""Shingles: hashes of a few tokens in a row, for all texts of a batch at once.

The length depends on where a shingle begins: `words` tokens where that is a word, `characters` tokens where it is a
character of a script without spaces. So a text in two scripts has shingles of both kinds, and no text has to be
assigned to one script.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.audit.lexical.normal_form import MASK, Bools, Tokens, UInt64, mix, power_table
from steelyard.types import Int32, Int64

TOKEN_STEP = 0xC2B2AE3D27D4EB4F | 1
"""The odd number whose powers order the tokens of a shingle in its hash."""


@dataclass(frozen=True)
class Length:
    """How many tokens a shingle has."""

    words: int
    characters: int

    @property
    def longest(self) -> int:
        """The larger of the two."""
        return max(self.words, self.characters)


NEAR = Length(words=3, characters=5)
"""For Jaccard similarity."""
NGRAM = Length(words=13, characters=20)
"""For containment: 13 words as in the papers on GPT-3 and PaLM; 20 characters are about 13 Chinese words."""
SHORTEST_NGRAM = Length(words=8, characters=12)
"""A shorter text than an n-gram counts as one n-gram if it has at least so many tokens (GPT-3's lower limit)."""


class Windows:
    """Hashes of runs of tokens in a batch, any run at the cost of two look-ups."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        count = len(tokens.hashes)
        powers = power_table(TOKEN_STEP, count + 1)
        self._sums = np.zeros(count + 1, dtype=np.uint64)
        np.cumsum(tokens.hashes * powers[:count], out=self._sums[1:])
        self._inverse = power_table(pow(TOKEN_STEP, -1, 1 << 64), count + 1)
        self._ends = np.repeat(tokens.offsets[1:], tokens.counts)

    def spans(self, starts: Int64, stops: Int64) -> UInt64:
        """Return the hash of the tokens of each span; equal tokens, equal hash."""
        return mix((self._sums[stops] - self._sums[starts]) * self._inverse[starts])

    def whole(self) -> UInt64:
        """Return one hash for each text: of all its tokens."""
        offsets = self.tokens.offsets
        return self.spans(offsets[:-1], offsets[1:])

    def of_length(self, length: Length) -> tuple[Int64, UInt64]:
        """Return where each shingle begins and its hash, in the order of the tokens."""
        sizes = np.where(self.tokens.single, length.characters, length.words)
        stops = np.arange(len(sizes)) + sizes
        starts = np.flatnonzero(stops <= self._ends)
        return starts, self.spans(starts, stops[starts])

    def of_count(self, count: int) -> tuple[Int64, UInt64]:
        """Return where each run of exactly `count` tokens begins and its hash."""
        stops = np.arange(len(self._ends)) + count
        starts = np.flatnonzero(stops <= self._ends)
        return starts, self.spans(starts, stops[starts])

    def text_of(self, starts: Int64) -> Int64:
        """Return the text that each token is in."""
        return np.asarray(np.searchsorted(self.tokens.offsets, starts, side="right") - 1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ShingleSets:
    """The distinct shingles of each text, ascending: text `t` owns `hashes[offsets[t]:offsets[t + 1]]`."""

    hashes: UInt64
    offsets: Int64

    @property
    def counts(self) -> Int64:
        """The number of distinct shingles of each text."""
        return np.diff(self.offsets)

    def of(self, text: int) -> UInt64:
        """Return the shingles of one text."""
        return self.hashes[self.offsets[text] : self.offsets[text + 1]]


def distinct(texts: Int64, hashes: UInt64, count: int) -> ShingleSets:
    """Return the distinct shingles of each of `count` texts, given the text and the hash of every shingle."""
    order = np.lexsort((hashes, texts))
    texts, hashes = texts[order], hashes[order]
    new = np.ones(len(texts), dtype=np.bool_)
    new[1:] = (texts[1:] != texts[:-1]) | (hashes[1:] != hashes[:-1])
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(texts[new], minlength=count), out=offsets[1:])
    return ShingleSets(hashes[new], offsets)


def frequencies(hashes: UInt64) -> Int32:
    """Return how often the hash at each place occurs.

    >>> frequencies(np.array([5, 7, 5], dtype=np.uint64)).tolist()
    [2, 1, 2]
    """
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    new = np.ones(len(ordered), dtype=np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    firsts = np.flatnonzero(new)
    counts = np.diff(np.append(firsts, len(ordered)))
    result = np.empty(len(hashes), dtype=np.int32)
    result[order] = np.repeat(counts, counts)
    return result


def spread(counts: Int64) -> Int64:
    """Return 0, 1 ... n - 1 for every count n, end to end.

    >>> spread(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    total = int(counts.sum())
    return np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)


def salted(hashes: UInt64, owners: Int64) -> UInt64:
    """Return hashes that differ for different owners, so that one sorted array can hold the sets of many."""
    return mix(hashes ^ (owners.astype(np.uint64) * np.uint64(0xA0761D6478BD642F & MASK)))


def in_sorted(values: UInt64, ordered: UInt64) -> Bools:
    """Return whether each value is in an ascending array."""
    if not len(ordered):
        return np.zeros(len(values), dtype=np.bool_)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[places] == values)
