"""An inverted index in three arrays, and its making from occurrences that come in portions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.retrievers.bm25_forms import Form
from steelyard.types import Float32, Float64, Int32, Int64


@dataclass(frozen=True, eq=False)
class Postings:
    """Term `t` is in documents `rows[offsets[t]:offsets[t+1]]`, ascending, and adds `weights` of the same places.

    `floor[t]` is what the form gives every document for a query term, occurring or not (BM25L, BM25+; else 0);
    `weights` are what an occurrence adds to it. `peaks[t]` is the largest weight of the term.
    """

    offsets: Int64
    rows: Int32
    weights: Float32
    peaks: Float64
    floor: Float64

    @property
    def size_bytes(self) -> int:
        """Memory of the arrays."""
        return sum(part.nbytes for part in (self.offsets, self.rows, self.weights, self.peaks, self.floor))


@dataclass(frozen=True, eq=False)
class _Portion:
    terms: Int64  # distinct, ascending
    sizes: Int64  # documents of each
    rows: Int32
    counts: Float32


class PostingsBuilder:
    """Collects occurrences of terms; memory stays near that of the finished index."""

    def __init__(self, documents: int) -> None:
        self.documents = documents
        self.lengths: Int64 = np.zeros(documents, dtype=np.int64)
        self._portions: list[_Portion] = []

    def add(self, terms: Int32, rows: Int32) -> None:
        """Occurrences of terms in documents, in any order; every portion has later rows than the one before."""
        if not len(terms):
            return
        np.add(self.lengths, np.bincount(rows, minlength=self.documents), out=self.lengths)
        pairs = terms.astype(np.int64) * self.documents
        pairs += rows
        pairs.sort()
        first = np.flatnonzero(np.concatenate(([True], pairs[1:] != pairs[:-1])))
        counts = np.diff(first, append=len(pairs)).astype(np.float32)
        term, row = np.divmod(pairs[first], self.documents)
        starts = np.flatnonzero(np.concatenate(([True], term[1:] != term[:-1])))
        sizes = np.diff(starts, append=len(term))
        self._portions.append(_Portion(term[starts], sizes, row.astype(np.int32), counts))

    def finish(self, terms: int, form: Form, k1: float, b: float, delta: float) -> Postings:
        """The index of everything added."""
        frequencies = np.zeros(terms, dtype=np.int64)
        for portion in self._portions:
            frequencies[portion.terms] += portion.sizes
        offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(frequencies)))
        rows, weights = self._merge(offsets)
        idf = form.idf(np.maximum(frequencies, 1).astype(np.float64), self.documents)
        mean_length = max(self.lengths.sum() / max(self.documents, 1), 1e-9)
        norms = (1 - b + b * self.lengths / mean_length).astype(np.float32)
        floor = (
            idf * form.gain(np.zeros(1, np.float32), np.ones(1, np.float32), k1, delta) if delta else np.zeros(terms)
        )
        peaks = np.zeros(terms)
        for begin, end in _blocks(offsets):
            place = slice(int(offsets[begin]), int(offsets[end]))
            gains = form.gain(weights[place], norms[rows[place]], k1, delta)
            sizes = frequencies[begin:end]
            gains *= np.repeat(idf[begin:end].astype(np.float32), sizes)
            if delta:
                gains -= np.repeat(floor[begin:end].astype(np.float32), sizes)
            weights[place] = gains
            if len(gains):
                peaks[begin:end] = np.maximum.reduceat(weights[place], offsets[begin:end] - offsets[begin])
        return Postings(offsets, rows, weights, peaks, floor)

    def _merge(self, offsets: Int64) -> tuple[Int32, Float32]:
        """Rows and counts of all portions, by term, then row."""
        if len(self._portions) == 1:
            (only,) = self._portions
            return only.rows, only.counts
        rows = np.empty(offsets[-1], dtype=np.int32)
        counts = np.empty(offsets[-1], dtype=np.float32)
        heads = offsets[:-1].copy()
        while self._portions:
            portion = self._portions.pop(0)
            before = np.cumsum(portion.sizes) - portion.sizes
            places = np.arange(len(portion.rows)) + np.repeat(heads[portion.terms] - before, portion.sizes)
            rows[places] = portion.rows
            counts[places] = portion.counts
            heads[portion.terms] += portion.sizes
        return rows, counts


def _blocks(offsets: Int64, postings: int = 1 << 20) -> list[tuple[int, int]]:
    """Ranges of terms with about so many postings each."""
    cuts = np.searchsorted(offsets, np.arange(postings, offsets[-1], postings))
    edges = np.unique(np.concatenate(([0], cuts, [len(offsets) - 1]))).tolist()
    return list(pairwise(edges))
