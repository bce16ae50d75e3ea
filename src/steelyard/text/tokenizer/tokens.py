"""Numbered tokens of many texts: the result of a tokenizer and the input of an index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count

import numpy as np
import numpy.typing as npt

from steelyard.text.arrays import flat_nonzero
from steelyard.text.tokenizer.spans import Spans, UInt64, keys, keys_of_strings
from steelyard.types import Int32, Int64


@dataclass(frozen=True, eq=False)
class Tokens:
    """Occurrences of tokens: occurrence `i` is `distinct[numbers[i]]` in text `owners[i]`, in any order."""

    owners: Int32
    numbers: Int32
    distinct: list[str]
    keys: UInt64 | None = None
    """The keys of the distinct tokens, if they are known."""

    @classmethod
    def of_lists(cls, lists: Sequence[Sequence[str]]) -> Tokens:
        """Return tokens from one list per text.

        >>> tokens = Tokens.of_lists([["a", "b"], [], ["a"]])
        >>> tokens.owners.tolist(), tokens.numbers.tolist(), tokens.distinct
        ([0, 0, 2], [0, 1, 0], ['a', 'b'])
        """
        number_of: defaultdict[str, int] = defaultdict(count().__next__)
        numbers = np.fromiter(map(number_of.__getitem__, chain.from_iterable(lists)), dtype=np.int32)
        counts = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        owners = np.repeat(np.arange(len(lists), dtype=np.int32), counts)
        return cls(owners, numbers, list(number_of))

    @classmethod
    def of_spans(cls, spans: Spans) -> Tokens:
        """Return tokens in a buffer; a string is made for each distinct one only."""
        words = Words.of(spans)
        return cls(words.owners, words.numbers, words.strings())

    def map(self, replacements: Sequence[str]) -> Tokens:
        """Return the same occurrences with other strings; an empty replacement removes the token.

        >>> Tokens.of_lists([["cats", "the", "cat"]]).map(["cat", "", "cat"]).lists(1)
        [['cat', 'cat']]
        """
        number_of: defaultdict[str, int] = defaultdict(count().__next__)
        mapped = np.fromiter(map(number_of.__getitem__, replacements), dtype=np.int32, count=len(replacements))
        numbers = mapped[self.numbers]
        distinct = list(number_of)
        if "" not in number_of:
            return Tokens(self.owners, numbers, distinct)
        mask = numbers != number_of[""]
        return Tokens(self.owners[mask], numbers[mask], distinct)

    def without(self, words: Collection[str]) -> Tokens:
        """Return the occurrences of other words; a text without other words keeps its own.

        >>> Tokens.of_lists([["the", "cat"], ["the"]]).without({"the"}).lists(2)
        [['cat'], ['the']]
        """
        dropped = np.fromiter((word in words for word in self.distinct), dtype=np.bool_, count=len(self.distinct))
        mask = _without(self.owners, dropped[self.numbers])
        return replace(self, owners=self.owners[mask], numbers=self.numbers[mask])

    def expand(self, parts: Tokens) -> Tokens:
        """Replace each occurrence by several tokens (or none): those of the text with its number in `parts`.

        >>> Tokens.of_lists([["a_b", "c"]]).expand(Tokens.of_lists([["a", "b"], []])).distinct
        ['a', 'b']
        """
        counts = np.bincount(parts.owners, minlength=len(self.distinct))
        before = np.cumsum(counts) - counts
        repeats = counts[self.numbers]
        starts = np.repeat(before[self.numbers] - (np.cumsum(repeats) - repeats), repeats)
        numbers = parts.numbers[np.arange(len(starts)) + starts]
        return replace(parts, owners=np.repeat(self.owners, repeats), numbers=numbers)

    def terms(self) -> Terms:
        """Return the same occurrences, identified by keys."""
        return Terms(self.owners, self.numbers, keys_of_strings(self.distinct) if self.keys is None else self.keys)

    def lists(self, texts: int) -> list[list[str]]:
        """Return the tokens of each text, for display and tests."""
        out: list[list[str]] = [[] for _ in range(texts)]
        for owner, number in zip(self.owners.tolist(), self.numbers.tolist(), strict=True):
            out[owner].append(self.distinct[number])
        return out

    def __repr__(self) -> str:
        texts = len(np.unique(self.owners))
        return f"Tokens({len(self.numbers):,} occurrences of {len(self.distinct):,} in {texts:,} texts)"


@dataclass(frozen=True, eq=False)
class Words:
    """Words found in a buffer and numbered: word `numbers[i]` in text `owners[i]`. No strings are made."""

    spans: Spans
    owners: Int32
    numbers: Int32
    keys: UInt64
    """The key of each distinct word."""
    first: Int64
    """The first span of each distinct word."""

    @classmethod
    def of(cls, spans: Spans) -> Words:
        """Number equal words equally, in the order of first occurrence."""
        every = keys(spans)
        first, numbers = numbered(every)
        return cls(spans, spans.owners, numbers, every[first], first)

    @property
    def count(self) -> int:
        """The number of distinct words, which come first; the others are n-grams."""
        return int(np.searchsorted(self.first, self.spans.words))

    def strings(self) -> list[str]:
        """Return the distinct words."""
        return strings(self.spans, self.first)

    def without(self, stop_words: UInt64) -> Words:
        """Return occurrences of words without these sorted keys; a text without other words keeps its own."""
        if not len(stop_words):
            return self
        dropped = stop_words.take(np.searchsorted(stop_words, self.keys), mode="clip") == self.keys
        mask = _without(self.owners, dropped.take(self.numbers))
        return replace(self, owners=self.owners[mask], numbers=self.numbers[mask])

    def repeat_words(self, times: int) -> Words:
        """Repeat each occurrence of a word so many times; n-grams once."""
        counts = np.where(self.first < self.spans.words, times, 1).take(self.numbers)
        return replace(self, owners=np.repeat(self.owners, counts), numbers=np.repeat(self.numbers, counts))


@dataclass(frozen=True, eq=False)
class Terms:
    """Occurrences of terms, identified by their keys: term `keys[numbers[i]]` in text `owners[i]`."""

    owners: Int32
    numbers: Int32
    keys: UInt64


def _without(owners: Int32, dropped: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which occurrences stay: those not dropped, and all of a text that would lose all."""
    mask = ~dropped
    with_others = np.zeros(int(owners.max(initial=-1)) + 1, dtype=np.bool_)
    with_others[owners[mask]] = True
    return np.asarray(mask | ~with_others[owners])


def numbered(every: UInt64) -> tuple[Int64, Int32]:
    """Return the first position of each distinct key, and for every key the number of its distinct one.

    >>> [array.tolist() for array in numbered(np.array([7, 5, 7, 9], dtype=np.uint64))]
    [[0, 1, 3], [0, 1, 0, 2]]
    """
    places = first_places(every)
    first = flat_nonzero(places == np.arange(len(every), dtype=np.int32))
    numbers = np.empty(len(every), dtype=np.int32)
    numbers[first] = np.arange(len(first), dtype=np.int32)
    return first, numbers.take(places)


def first_places(every: UInt64) -> Int32:
    """Return the first position of each key.

    A hash table in a few passes over all keys: each slot goes to the first key, and keys that find another one in their
    slot try again in a new table. As fast as Arrow's, whose import takes more memory than an index.

    >>> first_places(np.array([7, 5, 7, 7, 5, 9], dtype=np.uint64)).tolist()
    [0, 1, 0, 0, 1, 5]
    """
    owners = np.empty(len(every), dtype=np.int32)
    # Backwards: of several keys in a slot the last assigned one stays, which is the first.
    left, wanted = np.arange(len(every) - 1, -1, -1, dtype=np.int32), every[::-1]
    # The first table fits into the processor's cache; the next ones have room for all keys.
    bits, multiplier = min(_room(len(left)), _TABLE_BITS), ODD
    while len(left):
        slots = np.multiply(wanted, np.uint64(multiplier), out=np.empty(len(wanted), dtype=np.uint64))
        slots >>= np.uint64(64 - bits)
        places = slots.view(np.int64)
        table = np.empty(1 << bits, dtype=np.int32)
        table[places] = left
        first = table.take(places)
        if len(left) == len(owners):
            owners[::-1] = first
        else:
            owners[left] = first
        others = flat_nonzero(every.take(first) != wanted)
        left, wanted = left.take(others), wanted.take(others)
        bits = _room(len(left))
        multiplier = multiplier * ODD % (1 << 64)
    return owners


def _room(count: int) -> int:
    """Return the bits of a table with at least twice as many slots as keys; at most 64 MB."""
    return min(count.bit_length() + 1, 24)


_TABLE_BITS = 18
ODD = 0x9E3779B97F4A7C15


def strings(spans: Spans, chosen: Int64) -> list[str]:
    """Return the chosen tokens as strings."""
    lines: list[str] = _lines(spans, chosen).decode("utf-8").split("\n")
    return lines[:-1]


def utf8(spans: Spans, chosen: Int64) -> list[bytes]:
    """Return the chosen tokens in UTF-8."""
    return _lines(spans, chosen).split(b"\n")[:-1]


def _lines(spans: Spans, chosen: Int64) -> bytes:
    """Return the bytes of the chosen tokens, with a line break after each."""
    starts, lengths = spans.starts[chosen], spans.lengths[chosen] + 1
    ends = np.cumsum(lengths)
    places = np.repeat(starts - (ends - lengths), lengths)
    places += np.arange(len(places))
    gathered = spans.buffer.take(places)
    gathered[ends - 1] = ord("\n")
    return gathered.tobytes()
