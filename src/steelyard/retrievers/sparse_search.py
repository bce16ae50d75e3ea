"""Exact search among sparse vectors by inner product, over the same postings as BM25.

Weights of learned sparse models are not negative, and then BM25's pruned search finds the best. Where some are (a
few autoencoders have signed features), a document may share dimensions with a query and still score below zero; such
vectors are searched without pruning.
"""

from __future__ import annotations

import numpy as np

from steelyard.retrievers.bm25.postings import Postings
from steelyard.retrievers.bm25.search import QueryTerms, search
from steelyard.types import Float32, Run
from steelyard.vectors.best import best
from steelyard.vectors.ragged import offsets_of, places
from steelyard.vectors.sparse import SparseVectors

BOARD = 1 << 21
"""Scores held at once where weights are signed."""


class SparseSearch:
    """Sparse vectors of documents, by dimension. A document that shares no dimension with a query is not found.

    >>> documents = SparseVectors.from_dense(np.array([[1.0, 0.0], [2.0, 3.0], [0.0, 1.0]]))
    >>> run = SparseSearch(documents).search(SparseVectors.from_dense(np.array([[1.0, 0.0]])), 3)
    >>> run.rows.tolist()
    [[1, 0, -1]]
    """

    def __init__(self, documents: SparseVectors) -> None:
        self._documents = len(documents)
        order = np.argsort(documents.columns, kind="stable")
        rows = np.repeat(np.arange(len(documents), dtype=np.int32), documents.counts)[order]
        weights = documents.weights[order]
        counts = np.bincount(documents.columns, minlength=documents.dimension)
        offsets = offsets_of(counts)
        peaks = np.zeros(documents.dimension)
        filled = np.flatnonzero(counts)
        if len(filled):
            peaks[filled] = np.maximum.reduceat(weights, offsets[:-1][filled])
        self._signed = bool(len(weights)) and bool(weights.min() < 0)
        self._postings = Postings(offsets, rows, weights, peaks, np.zeros(documents.dimension))

    @property
    def size_bytes(self) -> int:
        """Memory of the postings."""
        return self._postings.size_bytes

    def search(self, queries: SparseVectors, k: int) -> Run:
        """The best `k` documents of each query, ties by row."""
        depth = min(k, self._documents)
        known = queries.columns < len(self._postings.peaks)
        text = np.repeat(np.arange(len(queries)), queries.counts)[known]
        offsets = offsets_of(np.bincount(text, minlength=len(queries)))
        terms = QueryTerms(offsets, queries.columns[known], queries.weights[known].astype(np.float64))
        if not self._signed and (not len(terms.counts) or terms.counts.min() >= 0):
            return Run(*search(self._postings, self._documents, terms, depth))
        rows = np.full((len(queries), depth), -1, dtype=np.int32)
        scores = np.full((len(queries), depth), -np.inf, dtype=np.float32)
        step = max(1, BOARD // max(1, self._documents))
        for first in range(0, len(queries), step):
            run = best(self._board(terms, first, min(first + step, len(queries))), depth)
            rows[first : first + step], scores[first : first + step] = run.rows, run.scores
        return Run(rows, scores)

    def _board(self, queries: QueryTerms, first: int, last: int) -> Float32:
        """All scores of the queries from `first` to before `last`; -inf where no dimension is shared."""
        place = slice(queries.offsets[first], queries.offsets[last])
        lines = np.repeat(np.arange(last - first), np.diff(queries.offsets[first : last + 1]))
        at, taken = places(self._postings.offsets, queries.terms[place].astype(np.int64))
        sizes = np.diff(taken)
        cells = np.repeat(lines, sizes) * self._documents + self._postings.rows[at]
        weights = np.repeat(queries.counts[place], sizes) * self._postings.weights[at]
        size = (last - first) * self._documents
        sums = np.bincount(cells, weights, minlength=size).astype(np.float32)
        sums[np.bincount(cells, minlength=size) == 0] = -np.inf
        return sums.reshape(last - first, self._documents)
