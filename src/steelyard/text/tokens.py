"""Tokens of many texts, numbered: what every tokenizer gives and every index takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np

from steelyard.text.spans import Spans, UInt64, keys
from steelyard.types import Int32, Int64


@dataclass(frozen=True, eq=False)
class Tokens:
    """Occurrences of tokens: occurrence `i` is `distinct[numbers[i]]` in text `owners[i]`, in no promised order."""

    owners: Int32
    numbers: Int32
    distinct: list[str]

    @classmethod
    def of_lists(cls, lists: Sequence[Sequence[str]]) -> Tokens:
        """Tokens that somebody else cut, a list for each text.

        >>> tokens = Tokens.of_lists([["a", "b"], [], ["a"]])
        >>> tokens.owners.tolist(), tokens.numbers.tolist(), tokens.distinct
        ([0, 0, 2], [0, 1, 0], ['a', 'b'])
        """
        number_of: dict[str, int] = {}
        numbers = [number_of.setdefault(token, len(number_of)) for token in chain.from_iterable(lists)]
        counts = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        owners = np.repeat(np.arange(len(lists), dtype=np.int32), counts)
        return cls(owners, np.array(numbers, dtype=np.int32), list(number_of))

    @classmethod
    def of_spans(cls, spans: Spans) -> Tokens:
        """Tokens found in a buffer; a string is made for each distinct one only."""
        numbers, _, first = number(spans)
        return cls(spans.owners, numbers, strings(spans, first))

    def map(self, replacements: Sequence[str]) -> Tokens:
        """The same occurrences with other strings; an empty replacement removes the token.

        >>> Tokens.of_lists([["cats", "the", "cat"]]).map(["cat", "", "cat"]).lists(1)
        [['cat', 'cat']]
        """
        number_of: defaultdict[str, int] = defaultdict(count().__next__)
        mapped = np.fromiter(map(number_of.__getitem__, replacements), dtype=np.int32, count=len(replacements))
        numbers = mapped[self.numbers]
        distinct = list(number_of)
        if "" not in number_of:
            return Tokens(self.owners, numbers, distinct)
        kept = numbers != number_of[""]
        return Tokens(self.owners[kept], numbers[kept], distinct)

    def without(self, words: Collection[str]) -> Tokens:
        """The occurrences of other words; a text that has no others keeps its own.

        >>> Tokens.of_lists([["the", "cat"], ["the"]]).without({"the"}).lists(2)
        [['cat'], ['the']]
        """
        dropped = np.fromiter((word in words for word in self.distinct), dtype=np.bool_, count=len(self.distinct))
        kept = ~dropped[self.numbers] if len(self.distinct) else np.zeros(0, dtype=np.bool_)
        with_others = np.zeros(int(self.owners.max(initial=-1)) + 1, dtype=np.bool_)
        with_others[self.owners[kept]] = True
        kept |= ~with_others[self.owners]
        return Tokens(self.owners[kept], self.numbers[kept], self.distinct)

    def expand(self, replacements: Sequence[Sequence[str]]) -> Tokens:
        """Each occurrence replaced by several strings (or none).

        >>> Tokens.of_lists([["a_b", "c"]]).expand([["a", "b"], []]).distinct
        ['a', 'b']
        """
        parts = Tokens.of_lists(replacements)
        counts = np.bincount(parts.owners, minlength=len(replacements))
        before = np.cumsum(counts) - counts
        repeats = counts[self.numbers]
        starts = np.repeat(before[self.numbers] - (np.cumsum(repeats) - repeats), repeats)
        return Tokens(np.repeat(self.owners, repeats), parts.numbers[np.arange(len(starts)) + starts], parts.distinct)

    def lists(self, texts: int) -> list[list[str]]:
        """The tokens of each text; for reading, tests and other people's code."""
        out: list[list[str]] = [[] for _ in range(texts)]
        for owner, number in zip(self.owners.tolist(), self.numbers.tolist(), strict=True):
            out[owner].append(self.distinct[number])
        return out

    def __repr__(self) -> str:
        texts = len(np.unique(self.owners))
        return f"Tokens({len(self.numbers):,} occurrences of {len(self.distinct):,} in {texts:,} texts)"


def number(spans: Spans) -> tuple[Int32, UInt64, Int64]:
    """A number for each token, equal for equal tokens; the key of each number; where each was seen first.

    Numbers are given in order of first sight.
    """
    every = keys(spans)
    owners = _first_places(every)
    first = np.flatnonzero(owners == np.arange(len(every), dtype=np.int32))
    numbers = np.empty(len(every), dtype=np.int32)
    numbers[first] = np.arange(len(first), dtype=np.int32)
    return numbers.take(owners), every[first], first


def _first_places(every: UInt64) -> Int32:
    """For each key the place where it stands first.

    A hash table in a few passes over all keys: each slot goes to the key that comes first, and keys that find another
    one in their slot try again in a new table. As fast as Arrow's, whose import takes more memory than an index.

    >>> _first_places(np.array([7, 5, 7, 7, 5, 9], dtype=np.uint64)).tolist()
    [0, 1, 0, 0, 1, 5]
    """
    owners = np.empty(len(every), dtype=np.int32)
    left, wanted = np.arange(len(every), dtype=np.int32), every
    # The first table stays in the processor's cache; the next ones have room for all, should all be distinct.
    bits, multiplier = min(_room(len(left)), _TABLE_BITS), _ODD
    while len(left):
        slots = wanted * np.uint64(multiplier)
        slots >>= np.uint64(64 - bits)
        places = slots.view(np.int64)
        table = np.empty(1 << bits, dtype=np.int32)
        table[places[::-1]] = left[::-1]  # of several in a slot the one assigned last stays
        found = table.take(places)
        owners[left] = found
        others = np.flatnonzero(every.take(found) != wanted)
        left, wanted = left[others], wanted[others]
        bits = _room(len(left))
        multiplier = multiplier * _ODD % (1 << 64)
    return owners


def _room(count: int) -> int:
    """The bits of a table with twice as many slots as keys, or more; at most 64 MB."""
    return min(count.bit_length() + 1, 24)


_TABLE_BITS = 18
_ODD = 0x9E3779B97F4A7C15


def strings(spans: Spans, chosen: Int64) -> list[str]:
    """The chosen tokens as strings: their bytes are gathered with a line break after each, decoded at once, split."""
    starts, lengths = spans.starts[chosen], spans.lengths[chosen] + 1
    before = np.cumsum(lengths) - lengths
    gathered = spans.buffer[np.arange(lengths.sum()) + np.repeat(starts - before, lengths)]
    gathered[before + lengths - 1] = ord("\n")
    found: list[str] = gathered.tobytes().decode("utf-8").split("\n")
    return found[:-1]
