"""The terms of BM25 in every query and document: what they share, and how rare they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.text.analysis.language_policy import Policy
from steelyard.types import Float64, Int64


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct numbers of terms for each text, stored end to end, ascending within a text."""

    starts: Int64
    terms: Int64

    def of(self, text: int) -> Int64:
        """Return the terms of one text."""
        return self.terms[self.starts[text] : self.starts[text + 1]]

    @property
    def counts(self) -> Int64:
        """The number of distinct terms of each text."""
        return np.diff(self.starts)


@dataclass(frozen=True, eq=False)
class TermIndex:
    """The terms of queries and documents under the same numbers."""

    queries: Rows
    documents: Rows
    frequency: Int64
    """The number of documents with each term."""
    names: tuple[str, ...]

    @classmethod
    def of(cls, policy: Policy, queries: Sequence[str], documents: Sequence[str]) -> TermIndex:
        """Analyse the texts as BM25 does.

        >>> from steelyard.text.analysis.language_policy import Policy
        >>> index = TermIndex.of(Policy("default", ("en",), ""), ["red foxes"], ["a fox", "a red dog"])
        >>> index.overlap(np.array([0, 0]), np.array([0, 1])).tolist(), index.names[index.rarest(0)]
        ([0.5, 0.5], 'fox')
        """
        number_of: dict[str, int] = {}
        held = _terms(policy, documents, number_of, query=False)
        query_terms = _terms(policy, queries, number_of, query=True)
        width = max(len(number_of), 1)
        rows = _rows(*held, len(documents), width)
        frequency = np.bincount(rows.terms, minlength=width)
        return cls(_rows(*query_terms, len(queries), width), rows, frequency, tuple(number_of))

    def overlap(self, queries: Int64, rows: Int64) -> Float64:
        """Return the share of each query's terms in the document of the same place; NaN if a query has no terms."""
        sizes = self.queries.counts[queries]
        pair = np.repeat(np.arange(len(queries)), sizes)
        nth = np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        terms = self.queries.terms[self.queries.starts[queries][pair] + nth]
        shared = np.bincount(pair[self._held(rows[pair], terms)], minlength=len(queries))
        return np.asarray(np.where(sizes > 0, shared / np.maximum(sizes, 1), np.nan))

    def _held(self, rows: Int64, terms: Int64) -> np.ndarray:
        """Return whether each document has each term."""
        keys = self._keys
        if not len(keys):
            return np.zeros(len(rows), dtype=bool)
        wanted = rows * len(self.frequency) + terms
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.asarray(keys[place] == wanted)

    @cached_property
    def _keys(self) -> Int64:
        """One number for each document and term, ascending."""
        owners = np.repeat(np.arange(len(self.documents.starts) - 1), self.documents.counts)
        return np.asarray(owners * len(self.frequency) + self.documents.terms, dtype=np.int64)

    def rarest(self, query: int) -> int:
        """Return the number of the query's rarest term that the corpus has, ties by name; -1 if it has none."""
        known = [term for term in self.queries.of(query).tolist() if self.frequency[term]]
        return min(known, key=lambda term: (self.frequency[term], self.names[term]), default=-1)

    def has(self, row: int, term: int) -> bool:
        """Return whether a document has a term."""
        terms = self.documents.of(row)
        place = int(np.searchsorted(terms, term))
        return place < len(terms) and int(terms[place]) == term

    def similarity(self, one: int, other: int) -> float:
        """Return the cosine of two documents; the weight of a term is the logarithm of its rarity."""
        first, second = self.documents.of(one), self.documents.of(other)
        shared = np.intersect1d(first, second, assume_unique=True)
        sums = [float((self._weights(terms) ** 2).sum()) for terms in (first, second, shared)]
        return sums[2] / (sums[0] * sums[1]) ** 0.5 if sums[0] and sums[1] else 0.0

    def _weights(self, terms: Int64) -> Float64:
        documents = max(len(self.documents.starts) - 1, 1)
        return np.asarray(np.log(1 + documents / np.maximum(self.frequency[terms], 1)) - np.log(2))


def _rows(owners: Int64, terms: Int64, texts: int, width: int) -> Rows:
    owner, term = np.divmod(np.unique(owners * width + terms), width)
    starts = np.zeros(texts + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=texts), out=starts[1:])
    return Rows(starts, term)


def _terms(policy: Policy, texts: Sequence[str], number_of: dict[str, int], *, query: bool) -> tuple[Int64, Int64]:
    """Return the terms of BM25 with their numbers, which `number_of` assigns."""
    owners, numbers = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for analyser, places in policy.groups(texts):
        chosen = [texts[place] for place in places.tolist()]
        tokens = analyser.query_tokens(chosen) if query else analyser.tokens(chosen)
        global_numbers = [number_of.setdefault(term, len(number_of)) for term in tokens.distinct]
        owners.append(places[tokens.owners].astype(np.int64))
        numbers.append(np.array(global_numbers, dtype=np.int64)[tokens.numbers])
    return np.concatenate(owners), np.concatenate(numbers)
