"""An inverted index in three arrays, built from occurrences in portions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.retrievers.bm25.forms import Form
from steelyard.retrievers.threads import in_order
from steelyard.types import Float32, Float64, Int32, Int64

Keys = npt.NDArray[np.unsignedinteger[Any]]
Integers = npt.NDArray[np.integer[Any]]

_LEAST = np.finfo(np.float32).tiny
"""The smallest weight of an occurrence if documents without the term have a weight, too."""


@dataclass(frozen=True, eq=False)
class Postings:
    """Term `t` is in documents `rows[offsets[t]:offsets[t+1]]`, ascending, with `weights` at the same places.

    `floor[t]` is the score of every document for a query term, whether it occurs or not (BM25L, BM25+; otherwise 0);
    `weights` are added to it for an occurrence. `peaks[t]` is the largest weight of the term.
    """

    offsets: Int64
    rows: Int32
    weights: Float32
    peaks: Float64
    floor: Float64

    @property
    def size_bytes(self) -> int:
        """Return the memory of the arrays."""
        return sum(part.nbytes for part in (self.offsets, self.rows, self.weights, self.peaks, self.floor))


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Occurrences of terms in documents, in any order: term `terms[i]` in row `rows[i]`."""

    terms: Int32
    rows: Int32
    documents: int


@dataclass(frozen=True, eq=False)
class Portion:
    """The postings of some documents, by term, then row, in integers that are as narrow as the values allow."""

    terms: Int32  # distinct, ascending
    sizes: Integers  # documents of each
    rows: Integers  # counted from `first_row`
    counts: Integers
    first_row: int
    lengths: Int64  # of the documents from `first_row` on
    documents: int


@dataclass(frozen=True, eq=False)
class Statistics:
    """What weights depend on beyond a posting: of the whole corpus, also where it is indexed in shards."""

    frequencies: Int64
    """Documents of each term."""
    documents: int
    total_length: int


class PostingsBuilder:
    """Collects occurrences of terms, with little more memory than the finished index."""

    def __init__(self, documents: int) -> None:
        self.documents = documents
        self.lengths: Int64 = np.zeros(documents, dtype=np.int64)
        self._portions: list[Portion] = []

    def add(self, terms: Int32, rows: Int32) -> None:
        """Add occurrences in any order; every portion has later rows than the one before."""
        self.append(self.portion(Occurrences(terms, rows, 0)))

    def portion(self, occurrences: Occurrences) -> Portion:
        """Return occurrences as postings for `append`; in any thread."""
        if not len(occurrences.terms):
            none, lengths = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
            return Portion(none, none, none, none, 0, lengths, occurrences.documents)
        first_row = int(occurrences.rows.min())
        rows = occurrences.rows - np.int32(first_row)
        lengths = np.bincount(rows)
        bits = len(lengths).bit_length()
        numbers, present_terms = occurrences.terms, None
        if _width(numbers, bits) is np.uint64:  # numbers among the terms of this portion may be narrower
            present = np.zeros(int(numbers.max()) + 1, dtype=np.bool_)
            present[numbers] = True
            present_terms = np.flatnonzero(present)
            numbers = (np.cumsum(present, dtype=np.int32) - np.int32(1)).take(numbers)
        # A narrow key sorts in half the time: the term, then the row.
        keys: Keys = numbers.astype(_width(numbers, bits))
        keys <<= bits
        keys |= rows.view(np.uint32)
        keys.sort()
        keys, counts = _runs(keys)
        distinct, sizes = _runs(np.right_shift(keys, bits))
        terms = (distinct if present_terms is None else present_terms).astype(np.int32)
        keys &= (1 << bits) - 1
        relative: Integers = keys.astype(np.uint16) if bits <= 16 else keys.astype(np.int32)
        return Portion(terms, _narrow(sizes), relative, _narrow(counts), first_row, lengths, occurrences.documents)

    def append(self, portion: Portion) -> None:
        """Append a portion; each has later rows than the one before."""
        self.lengths[portion.first_row : portion.first_row + len(portion.lengths)] += portion.lengths
        if len(portion.terms):
            self._portions.append(replace(portion, lengths=portion.lengths[:0].copy()))

    def frequencies(self, terms: int) -> Int64:
        """Return the number of documents of each of so many terms."""
        frequencies = np.zeros(terms, dtype=np.int64)
        for portion in self._portions:
            frequencies[portion.terms] += portion.sizes
        return frequencies

    def finish(
        self,
        terms: int,
        form: Form,
        k1: float,
        b: float,
        delta: float,
        workers: int = 1,
        corpus: Statistics | None = None,
    ) -> Postings:
        """Return the index of everything added, computed by so many threads.

        `corpus` has the statistics of all shards, if this is one of several.
        """
        frequencies = self.frequencies(terms)
        corpus = corpus or Statistics(frequencies, self.documents, int(self.lengths.sum()))
        offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(frequencies)))
        rows, weights = self._merge(offsets, workers)
        idf = form.idf(np.maximum(corpus.frequencies, 1).astype(np.float64), corpus.documents)
        mean_length = max(corpus.total_length / max(corpus.documents, 1), 1e-9)
        norms = (1 - b + b * self.lengths / mean_length).astype(np.float32)
        floor = idf * _absent(form, k1, delta) if delta else np.zeros(terms)
        peaks = np.zeros(terms)

        def compute_weights(block: tuple[int, int]) -> None:
            begin, end = block
            place = slice(int(offsets[begin]), int(offsets[end]))
            gains = form.gain(weights[place], norms.take(rows[place]), k1, delta)
            sizes = frequencies[begin:end]
            gains *= np.repeat(idf[begin:end].astype(np.float32), sizes)
            if delta:
                gains -= np.repeat(floor[begin:end].astype(np.float32), sizes)
                # With k1 = 0, an occurrence adds nothing in BM25L; the document must still match.
                np.maximum(gains, _LEAST, out=gains)
            weights[place] = gains
            if len(gains):
                filled = np.flatnonzero(sizes)  # in a shard, a term may not occur
                peaks[begin + filled] = np.maximum.reduceat(gains, offsets[begin + filled] - offsets[begin])

        for _ in in_order(compute_weights, _blocks(offsets), workers):
            pass
        return Postings(offsets, rows, weights, peaks, floor)

    def _merge(self, offsets: Int64, workers: int) -> tuple[Int32, Float32]:
        """Return rows and counts of all portions, by term, then row."""
        if len(self._portions) == 1:
            only = self._portions.pop()
            return only.rows + np.int32(only.first_row), only.counts.astype(np.float32)
        rows = np.empty(offsets[-1], dtype=np.int32)
        counts = np.empty(offsets[-1], dtype=np.float32)

        def put(item: tuple[Portion, Int64]) -> None:
            portion, heads = item
            before = np.cumsum(portion.sizes, dtype=np.int64) - portion.sizes
            places = np.repeat(heads - before, portion.sizes)
            places += np.arange(len(places))
            rows[places] = portion.rows + np.int32(portion.first_row)
            counts[places] = portion.counts

        for _ in in_order(put, self._taken(offsets), workers):
            pass
        return rows, counts

    def _taken(self, offsets: Int64) -> Iterator[tuple[Portion, Int64]]:
        """Yield each portion, removed from the list to free its memory, and where its part of each term begins."""
        heads = offsets[:-1].copy()
        while self._portions:
            portion = self._portions.pop(0)
            yield portion, heads[portion.terms]
            heads[portion.terms] += portion.sizes


def _absent(form: Form, k1: float, delta: float) -> Float32:
    """Return the score of a document without the term; k1 = 0 would divide 0 by 0."""
    return form.gain(np.zeros(1, np.float32), np.ones(1, np.float32), max(k1, 1e-30), delta)


def _width(terms: Int32, bits: int) -> type[np.unsignedinteger[Any]]:
    """Return the narrowest unsigned integers for these terms with so many bits after each."""
    return np.uint32 if int(terms.max()) < 1 << (32 - bits) else np.uint64


def _narrow(values: Int64) -> Integers:
    """Return the same counts in the narrowest type that has room for them.

    >>> _narrow(np.array([1, 300])).dtype
    dtype('uint16')
    """
    return values.astype(np.min_scalar_type(int(values.max())))


def _runs(values: Keys) -> tuple[Keys, Int64]:
    """Return the distinct values of a sorted array that is not empty, and their counts."""
    edges = np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1, [len(values)]))
    return values.take(edges[:-1]), edges[1:] - edges[:-1]


def _blocks(offsets: Int64, postings: int = 1 << 18) -> list[tuple[int, int]]:
    """Return ranges of terms with about so many postings each."""
    ends = np.searchsorted(offsets, np.arange(postings, offsets[-1], postings))
    edges = np.unique(np.concatenate(([0], ends, [len(offsets) - 1]))).tolist()
    return list(pairwise(edges))
