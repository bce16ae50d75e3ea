"""Terms and their numbers, and the reading of a corpus in portions."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np

from steelyard.text.analyser import Analysis
from steelyard.text.spans import UInt64
from steelyard.text.tokens import number, strings
from steelyard.types import Int32


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


class Reader:
    """Reads documents, portion after portion; a word is made a string and stemmed when it is first seen, then never."""

    def __init__(self, analyser: Analysis, vocabulary: Vocabulary) -> None:
        self.analyser, self.vocabulary = analyser, vocabulary
        self._keys: UInt64 = np.zeros(0, dtype=np.uint64)
        self._terms: Int32 = np.zeros(0, dtype=np.int32)

    def read_rows(self, texts: Sequence[str], rows: Int32) -> Iterator[tuple[Int32, Int32]]:
        """For each occurrence of a term in the texts of these rows, its number and the row; in one or two parts.

        ASCII takes a much faster way through tokenising, and one accent would close it for all.
        """
        mine = texts if len(rows) == len(texts) else [texts[row] for row in rows]
        plain = np.fromiter(map(str.isascii, mine), dtype=np.bool_, count=len(mine))
        if plain.all() or not plain.any():
            terms, owners = self.read(mine)
            yield terms, rows[owners]
            return
        for chosen in (np.flatnonzero(plain), np.flatnonzero(~plain)):
            terms, owners = self.read([mine[place] for place in chosen.tolist()])
            yield terms, rows[chosen[owners]]

    def read(self, texts: Sequence[str]) -> tuple[Int32, Int32]:
        """For each occurrence of a term, its number and the place of its text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        spans = self.analyser.spans(texts)
        if spans is None:
            tokens = self.analyser.tokens(texts)
            return self.vocabulary.grow(tokens.distinct)[tokens.numbers], tokens.owners
        numbers, keys, first = number(spans)
        known = pc.index_in(pa.array(keys), value_set=pa.array(self._keys)).fill_null(-1).to_numpy().copy()
        new = np.flatnonzero(known < 0)
        known[new] = np.arange(len(self._keys), len(self._keys) + len(new))
        terms = self.vocabulary.grow(self.analyser.terms(strings(spans, first[new])))
        self._keys = np.concatenate((self._keys, keys[new]))
        self._terms = np.concatenate((self._terms, terms))
        return self._terms[known][numbers], spans.owners
