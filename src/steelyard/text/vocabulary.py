"""Terms and their numbers, and the reading of a corpus in portions."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from steelyard.text.analyser import Analysis
from steelyard.text.spans import Spans, UInt64
from steelyard.text.tokens import number, strings
from steelyard.types import Int32, Int64


class Vocabulary:
    """Terms and their numbers.

    >>> vocabulary = Vocabulary()
    >>> vocabulary.grow(["a", "b", "a"]).tolist(), vocabulary.look_up(["b", "c"]).tolist(), len(vocabulary)
    ([0, 1, 0], [1, -1], 2)
    """

    def __init__(self) -> None:
        self.number_of: defaultdict[str, int] = defaultdict(count().__next__)

    def grow(self, terms: list[str]) -> Int32:
        """The numbers of terms, new ones for terms not seen before."""
        return np.fromiter(map(self.number_of.__getitem__, terms), dtype=np.int32, count=len(terms))

    def look_up(self, terms: list[str]) -> Int32:
        """The numbers of terms, -1 for those that no document has."""
        return np.array([self.number_of.get(term, -1) for term in terms], dtype=np.int32)

    @property
    def size_bytes(self) -> int:
        """Memory of strings and table, about."""
        return sys.getsizeof(self.number_of) + sum(map(sys.getsizeof, self.number_of))

    def __len__(self) -> int:
        return len(self.number_of)


@dataclass(frozen=True, eq=False)
class Cut:
    """Texts cut into words that have no term yet: word `numbers[i]` in text `owners[i]`."""

    spans: Spans
    numbers: Int32
    keys: UInt64
    """The key of each distinct word."""
    first: Int64
    """The span in which each distinct word was seen first."""


class Reader:
    """Reads documents, portion after portion; a word is made a string and stemmed when it is first seen, then never.

    Cutting is most of the work and may be done ahead, in any thread; terms are numbered in the order of the portions,
    so that the numbers do not depend on the threads.
    """

    def __init__(self, analyser: Analysis, vocabulary: Vocabulary) -> None:
        self.analyser, self.vocabulary = analyser, vocabulary
        # The words seen so far by their keys, ascending, and the term of each.
        self._keys: UInt64 = np.zeros(0, dtype=np.uint64)
        self._terms: Int32 = np.zeros(0, dtype=np.int32)

    def read(self, texts: Sequence[str]) -> tuple[Int32, Int32]:
        """For each occurrence of a term, its number and the place of its text."""
        return self.number(cut(self.analyser, texts))

    def number(self, words: Cut | Sequence[str]) -> tuple[Int32, Int32]:
        """For each occurrence of a term in what `cut` gave, its number and the place of its text."""
        if not isinstance(words, Cut):
            tokens = self.analyser.tokens(words)
            return self.vocabulary.grow(tokens.distinct)[tokens.numbers], tokens.owners
        at = np.searchsorted(self._keys, words.keys)
        known = np.zeros(len(at), dtype=np.bool_)
        if len(self._keys):
            known = self._keys.take(at, mode="clip") == words.keys
        terms = np.empty(len(at), dtype=np.int32)
        terms[known] = self._terms[at[known]]
        new = np.flatnonzero(~known)
        terms[new] = self.vocabulary.grow(self.analyser.terms(strings(words.spans, words.first[new])))
        new = new[np.argsort(words.keys[new])]
        self._keys = np.insert(self._keys, at[new], words.keys[new])
        self._terms = np.insert(self._terms, at[new], terms[new])
        return terms.take(words.numbers), words.spans.owners


def cut(analyser: Analysis, texts: Sequence[str]) -> Cut | Sequence[str]:
    """The words of texts, or the texts themselves where the analyser's own code (not for threads) cuts them."""
    spans = analyser.spans(texts)
    return texts if spans is None else Cut(spans, *number(spans))


def cut_rows(
    analyser: Analysis, texts: Sequence[str], rows: Int32
) -> Iterator[tuple[Analysis, Cut | Sequence[str], Int32]]:
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
