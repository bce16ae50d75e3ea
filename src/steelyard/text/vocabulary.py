"""Terms and their numbers, and the reading of a corpus in portions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.text.analyser import Analysis
from steelyard.text.spans import UInt64
from steelyard.text.tokens import Words, first_places
from steelyard.types import Int32


class Vocabulary:
    """Numbers of things that are known by their keys (`spans.keys`), in order of first sight.

    >>> from steelyard.text.spans import keys_of_strings as keys
    >>> vocabulary = Vocabulary()
    >>> vocabulary.grow(keys(["a", "b", "a"])).tolist(), vocabulary.look_up(keys(["b", "c"])).tolist(), len(vocabulary)
    ([0, 1, 0], [1, -1], 2)
    """

    def __init__(self) -> None:
        # Ascending, and the number of each.
        self._keys: UInt64 = np.zeros(0, dtype=np.uint64)
        self._numbers: Int32 = np.zeros(0, dtype=np.int32)
        # The latest, not sorted yet: of a small corpus they may never be asked for.
        self._latest: list[UInt64] = []
        self._count = 0

    def grow(self, keys: UInt64, *, distinct: bool = False) -> Int32:
        """The number of each key, new ones for keys not seen before."""
        numbers = self.look_up(keys)
        unknown = np.flatnonzero(numbers < 0)
        if not len(unknown):
            return numbers
        new = keys[unknown]
        if distinct:
            numbers[unknown] = np.arange(len(self), len(self) + len(new))
        else:
            places = first_places(new)
            first = np.flatnonzero(places == np.arange(len(places), dtype=np.int32))
            given = np.empty(len(places), dtype=np.int32)
            given[first] = np.arange(len(self), len(self) + len(first))
            numbers[unknown] = given.take(places)
            new = new[first]
        self._latest.append(new)
        self._count += len(new)
        return numbers

    def look_up(self, keys: UInt64) -> Int32:
        """The number of each key, -1 for those not seen."""
        if not len(self):
            return np.full(len(keys), -1, dtype=np.int32)
        self._sort()
        at = np.searchsorted(self._keys, keys)
        known = self._keys.take(at, mode="clip") == keys
        return np.where(known, self._numbers.take(at, mode="clip"), np.int32(-1))

    def _sort(self) -> None:
        for new in self._latest:
            order = np.argsort(new).astype(np.int32)
            keys, numbers = new[order], order + np.int32(len(self._keys))
            at = np.searchsorted(self._keys, keys)
            self._keys, self._numbers = np.insert(self._keys, at, keys), np.insert(self._numbers, at, numbers)
        self._latest = []

    @property
    def size_bytes(self) -> int:
        """Memory of keys and numbers."""
        return len(self) * (self._keys.itemsize + self._numbers.itemsize)

    def __len__(self) -> int:
        return self._count


class Reader:
    """Reads documents, portion after portion; a word is stemmed when it is first seen, then never.

    Cutting is most of the work and may be done ahead, in any thread; terms are numbered in the order of the portions,
    so that the numbers do not depend on the threads.
    """

    def __init__(self, analyser: Analysis, vocabulary: Vocabulary) -> None:
        self.analyser, self.vocabulary = analyser, vocabulary
        self._words = Vocabulary()
        self._terms: Int32 = np.zeros(0, dtype=np.int32)  # the term of each word, by the word's number

    def read(self, texts: Sequence[str]) -> tuple[Int32, Int32]:
        """For each occurrence of a term, its number and the place of its text."""
        return self.number(cut(self.analyser, texts))

    def number(self, words: Words | Sequence[str]) -> tuple[Int32, Int32]:
        """For each occurrence of a term in what `cut` gave, its number and the place of its text."""
        if not isinstance(words, Words):
            found = self.analyser.tokens(words).terms()
            return self.vocabulary.grow(found.keys).take(found.numbers), found.owners
        if not self.analyser.stems:
            return self.vocabulary.grow(words.keys, distinct=True).take(words.numbers), words.owners
        numbers = self._words.grow(words.keys, distinct=True)
        new = np.flatnonzero(numbers >= len(self._terms))
        terms = self.vocabulary.grow(self.analyser.stem(words, new))
        self._terms = np.concatenate((self._terms, terms))
        return self._terms.take(numbers).take(words.numbers), words.owners


def cut(analyser: Analysis, texts: Sequence[str]) -> Words | Sequence[str]:
    """The words of texts, or the texts themselves where the analyser's own code (not for threads) cuts them."""
    words = analyser.words(texts)
    return texts if words is None else words


def cut_rows(
    analyser: Analysis, texts: Sequence[str], rows: Int32
) -> Iterator[tuple[Analysis, Words | Sequence[str], Int32]]:
    """The texts of these rows, cut, with the row of each; in one or two parts.

    ASCII takes a much faster way through tokenising, and one accent would close it for all.
    """
    mine = texts if len(rows) == len(texts) else [texts[row] for row in rows]
    plain = np.fromiter(map(str.isascii, mine), dtype=np.bool_, count=len(mine))
    if plain.all() or not plain.any():
        yield analyser, cut(analyser, mine), rows
        return
    for chosen in (np.flatnonzero(plain), np.flatnonzero(~plain)):
        yield analyser, cut(analyser, [mine[place] for place in chosen.tolist()]), rows[chosen]
