"""Exact search in float vectors that several variants of a model share: what one of them computes, others reuse."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from steelyard.types import Float32, Int32, Ragged, Run
from steelyard.vectors.similarity import DOT, Similarity
from steelyard.vectors.topk import BLOCK_SCORES, Matrix, all_scores, rank_rows, search, top_k_of_scores

CACHED_SCORES = 1 << 22
"""The most scores that are cached, 16 MB: if all fit, variants of one model compute them once."""
GATHER_COST = 18
"""Copying one document for one query costs about as much as multiplying so many."""


@dataclass(eq=False)
class ExactIndex:
    """Float vectors and their similarity. The scores of the last queries are cached if they are few."""

    vectors: Float32
    similarity: Similarity = DOT
    _last: tuple[Float32, Float32, float] | None = None

    def search(self, queries: Float32, k: int) -> tuple[Run, float]:
        """Return the top `k` documents of each query, ties by row, and the seconds it took."""
        if not self._small(queries):
            start = time.perf_counter()
            run = search(queries, Matrix(self.vectors), k, self.similarity)
            return run, time.perf_counter() - start
        scores, seconds = self._all(queries)
        start = time.perf_counter()
        return top_k_of_scores(scores, k), seconds + time.perf_counter() - start

    def rescore(self, run: Run, queries: Float32) -> tuple[Run, float]:
        """Return the documents of a run, ranked by their float vectors, and the seconds it took.

        >>> exact = ExactIndex(np.eye(2, dtype=np.float32))
        >>> exact.rescore(Run.of([[0, 1]], [[3, 2]]), np.array([[0, 1]], dtype=np.float32))[0].rows.tolist()
        [[1, 0]]
        """
        known, seconds = self._all(queries) if self._small(queries) else (None, 0.0)
        start = time.perf_counter()
        if known is not None:
            scores = np.take_along_axis(known, run.rows.astype(np.int64), axis=1)
        elif run.depth * GATHER_COST < len(self.vectors):
            scores = self._gathered(run.rows, queries)
        else:
            scores = self._from_all(run.rows, queries)
        return rank_rows(run.rows, scores), seconds + time.perf_counter() - start

    def scores_of(self, queries: Float32, lists: Ragged, shape: tuple[int, ...]) -> Float32:
        """Return the scores of each query with its own list of rows, one row of the result per query."""
        scores = np.zeros(shape, dtype=np.float32)
        for query, (vector, line) in enumerate(zip(queries, scores, strict=True)):
            rows = lists.rows_of(query)
            self.similarity.line(vector, self.vectors[rows], line[: len(rows)])
        return scores

    def _small(self, queries: Float32) -> bool:
        """Return whether all scores are cached; distances are too expensive to compute them all for a few."""
        return not self.similarity.is_distance and 0 < len(queries) * len(self.vectors) <= CACHED_SCORES

    def _all(self, queries: Float32) -> tuple[Float32, float]:
        """Return the scores of all documents, and the seconds they took, now or before."""
        if self._last is None or self._last[0] is not queries:
            start = time.perf_counter()
            scores = all_scores(queries, self.vectors, self.similarity)
            self._last = queries, scores, time.perf_counter() - start
        return self._last[1:]

    def _gathered(self, rows: Int32, queries: Float32) -> Float32:
        """Return the scores of some rows for each query, from those documents only."""
        scores = np.empty(rows.shape, dtype=np.float32)
        buffer = np.empty((rows.shape[1], self.vectors.shape[1]), dtype=np.float32)
        for query, documents, line in zip(queries, rows, scores, strict=True):
            np.take(self.vectors, documents, axis=0, out=buffer, mode="clip")
            self.similarity.line(query, buffer, line)
        return scores

    def _from_all(self, rows: Int32, queries: Float32) -> Float32:
        """Return the same from the scores of all documents, for as many queries at a time as memory allows."""
        step = max(1, BLOCK_SCORES // max(1, len(self.vectors)))
        parts = [np.empty((0, rows.shape[1]), dtype=np.float32)]
        for start in range(0, len(queries), step):
            scores = all_scores(queries[start : start + step], self.vectors, self.similarity)
            parts.append(np.take_along_axis(scores, rows[start : start + step].astype(np.int64), axis=1))
        return np.concatenate(parts)
