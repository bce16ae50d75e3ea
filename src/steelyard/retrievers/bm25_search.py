"""The best documents of a query, exactly, without looking at every posting."""

from __future__ import annotations

import numpy as np

from steelyard.retrievers.bm25_postings import Postings
from steelyard.types import Float32, Float64, Int32, Int64

_SLACK = 1 - 1e-6
"""Scores compare as float32, sums are float64: what is this close to the threshold may still tie with it."""

_LAST_ROW = np.int64(2**31 - 1)


class Searcher:
    """Answers queries over postings; owns the score board, so one is needed for each thread.

    Sums are taken in float64 over float32 weights: exact but for very long queries, so their order does not
    matter, and documents of equal content score equally to the last bit.
    """

    def __init__(self, postings: Postings, documents: int) -> None:
        self.postings = postings
        self.board: Float64 = np.zeros(documents)

    def best(self, terms: Int32, counts: Float64, top_k: int) -> tuple[Int32, Float32]:
        """The best `top_k` rows and scores for distinct terms with their counts in the query, best first."""
        postings = self.postings
        ceilings = counts * postings.peaks[terms]
        useful = ceilings > 0
        sizes = postings.offsets[terms + 1] - postings.offsets[terms]
        order = np.argsort(sizes, kind="stable")
        order = order[useful[order]]
        # rest[i]: the most that the terms from place i on can add to any document
        rest = np.append(np.cumsum(ceilings[order][::-1])[::-1], 0.0)
        rows, scores = self._candidates(terms[order], counts[order], rest, top_k)
        if floor := float(counts @ postings.floor[terms]):
            scores = scores + floor
        return select(rows, scores.astype(np.float32), top_k)

    def _candidates(self, terms: Int32, counts: Float64, rest: Float64, top_k: int) -> tuple[Int32, Float64]:
        """Rows and full scores of all documents that can be among the best.

        Rare terms come first and are counted in full. As soon as the terms that are left could not lift a new
        document over the k-th best score so far, they are only looked up for the documents already found.
        """
        threshold, touched, done = 0.0, [], 0
        for done, (term, count) in enumerate(zip(terms, counts, strict=True), start=1):
            rows, weights = self._list(term)
            self.board[rows] += weights if count == 1 else count * weights
            touched.append(rows)
            if rest[done] and len(rows) >= top_k and len(self.board) > 4 * top_k:
                threshold = max(threshold, _kth(self.board[rows], top_k))
                if rest[done] < threshold * _SLACK:
                    break
        found = self._collect(touched)
        scores = self.board[found]
        self.board[found] = 0
        for place in range(done, len(terms)):
            if len(found) > top_k:
                threshold = max(threshold, _kth(scores, top_k))
                kept = scores + rest[place] >= threshold * _SLACK
                found, scores = found[kept], scores[kept]
            rows, weights = self._list(terms[place])
            at = np.searchsorted(rows, found)
            at[at == len(rows)] = 0
            scores += np.where(rows[at] == found, counts[place] * weights[at], 0.0)
        return found, scores

    def _list(self, term: np.int32) -> tuple[Int32, Float32]:
        place = slice(self.postings.offsets[term], self.postings.offsets[term + 1])
        return self.postings.rows[place], self.postings.weights[place]

    def _collect(self, touched: list[Int32]) -> Int32:
        """The rows on the board, ascending."""
        if not touched:
            return np.zeros(0, dtype=np.int32)
        if len(touched) == 1:
            return touched[0]
        if sum(map(len, touched)) * 16 > len(self.board):
            return np.flatnonzero(self.board).astype(np.int32)
        return np.unique(np.concatenate(touched))


def _kth(scores: Float64, k: int) -> float:
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def select(rows: Int32, scores: Float32, top_k: int) -> tuple[Int32, Float32]:
    """The best `top_k` of positive scores: score descending, then row ascending, also at the cut.

    >>> select(np.array([4, 7, 9], dtype=np.int32), np.array([1, 2, 1], dtype=np.float32), 2)
    (array([7, 4], dtype=int32), array([2., 1.], dtype=float32))
    """
    # The bits of positive floats are in the order of the floats, so score and row fit one sortable number.
    keys: Int64 = (scores.view(np.int32).astype(np.int64) << 32) | (_LAST_ROW - rows)
    keys = keys[scores > 0]
    if len(keys) > top_k:
        keys = np.partition(keys, len(keys) - top_k)[len(keys) - top_k :]
    keys = np.sort(keys)[::-1]
    best = (keys >> 32).astype(np.int32).view(np.float32)
    return (_LAST_ROW - (keys & 0xFFFFFFFF)).astype(np.int32), best
