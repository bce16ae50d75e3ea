"""The float vectors of a corpus, whose scores are the last word: to search by, and to score the best again by."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from steelyard.types import Float32, Int32, Ragged, Run
from steelyard.vectors.duplicate_rows import DuplicateRows
from steelyard.vectors.similarity import DOT, Similarity
from steelyard.vectors.threads import map_slices
from steelyard.vectors.topk import BLOCK_SCORES, Matrix, rank_rows, search, top_k_of_scores

KEPT = 1 << 22
"""Scores that are kept: 16 MB. Where all of them fit, variants of one model compute them once."""
GATHER = 18
"""Fetching one document for one query costs about as much as multiplying so many."""


@dataclass(eq=False)
class ExactIndex:
    """Float vectors, and how they are compared. The scores of the last queries are kept if they are few."""

    vectors: Float32
    similarity: Similarity = DOT
    _last: tuple[Float32, Float32, float] | None = None

    def search(self, queries: Float32, k: int) -> tuple[Run, float]:
        """The best `k` documents of each query, ties by row, and the seconds that it took."""
        if not self._small(queries):
            start = time.perf_counter()
            run = search(queries, Matrix(self.vectors), k, self.similarity)
            return run, time.perf_counter() - start
        scores, seconds = self._all(queries)
        start = time.perf_counter()
        return top_k_of_scores(scores, k), seconds + time.perf_counter() - start

    def rescore(self, run: Run, queries: Float32) -> tuple[Run, float]:
        """The same documents, ranked by comparing their vectors with the queries, and the seconds that it took.

        >>> exact = ExactIndex(np.eye(2, dtype=np.float32))
        >>> exact.rescore(Run.of([[0, 1]], [[3, 2]]), np.array([[0, 1]], dtype=np.float32))[0].rows.tolist()
        [[1, 0]]
        """
        known, seconds = self._all(queries) if self._small(queries) else (None, 0.0)
        start = time.perf_counter()
        if known is not None:
            scores = np.take_along_axis(known, run.rows.astype(np.int64), axis=1)
        elif run.depth * GATHER < len(self.vectors):
            scores = self._gathered(run.rows, queries)
        else:
            scores = self._from_all(run.rows, queries)
        return rank_rows(run.rows, scores), seconds + time.perf_counter() - start

    def scores_of(self, queries: Float32, lists: Ragged, shape: tuple[int, ...]) -> Float32:
        """The scores of each query with its own list of rows, laid out in lines."""
        scores = np.zeros(shape, dtype=np.float32)
        for query, (vector, line) in enumerate(zip(queries, scores, strict=True)):
            wanted = lists.rows_of(query)
            self.similarity.line(vector, self.vectors[wanted], line[: len(wanted)])
        return scores

    def _small(self, queries: Float32) -> bool:
        """Whether all scores are kept; distances cost too much to compute them all for the sake of a few."""
        return not self.similarity.is_distance and 0 < len(queries) * len(self.vectors) <= KEPT

    def _all(self, queries: Float32) -> tuple[Float32, float]:
        """The scores of all documents, and the seconds that they took, now or before."""
        if self._last is None or self._last[0] is not queries:
            start = time.perf_counter()
            scores = np.empty((len(queries), len(self.vectors)), dtype=np.float32)
            map_slices(lambda share: self.similarity.block(queries[share], self.vectors, scores[share]), len(queries))
            copies = DuplicateRows.find(self.vectors)
            copies.copy_scores(scores, 0, np.empty((len(scores), copies.originals), dtype=np.float32))
            self._last = queries, scores, time.perf_counter() - start
        return self._last[1:]

    def _gathered(self, rows: Int32, queries: Float32) -> Float32:
        """The scores of some rows for each query, from those documents alone."""
        scores = np.empty(rows.shape, dtype=np.float32)
        room = np.empty((rows.shape[1], self.vectors.shape[1]), dtype=np.float32)
        for query, wanted, line in zip(queries, rows, scores, strict=True):
            np.take(self.vectors, wanted, axis=0, out=room, mode="clip")
            self.similarity.line(query, room, line)
        return scores

    def _from_all(self, rows: Int32, queries: Float32) -> Float32:
        """The same, picked from the scores of all documents, for as many queries at a time as memory allows."""
        step = max(1, BLOCK_SCORES // max(1, len(self.vectors)))
        parts = [np.empty((0, rows.shape[1]), dtype=np.float32)]
        for start in range(0, len(queries), step):
            scores, _ = ExactIndex(self.vectors, self.similarity)._all(queries[start : start + step])
            parts.append(np.take_along_axis(scores, rows[start : start + step].astype(np.int64), axis=1))
        return np.concatenate(parts)
