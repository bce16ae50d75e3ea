"""Exact search over postings: all scores for blocks of queries, or one pruned query at a time in a large corpus.

Sums are float64 over float32 weights. They are exact except for very long queries, so their order does not matter: both
ways give the same bits, and documents of equal content score equally.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.retrievers.bm25.postings import Postings
from steelyard.types import Float32, Float64, Int32, Int64

_SLACK = 1 - 1e-6
"""Scores compare as float32 and sums are float64: a score this close to the threshold may tie with it."""

_SEEDS = 2
"""For each place of the list, so many documents are scored completely to compute the threshold."""

_LAST_ROW = np.int64(2**31 - 1)
_LEAST = np.nextafter(np.float32(0), np.float32(1))
"""The smallest score of a document that matches."""
_SMALL = 1 << 16
"""Corpora of at most so many documents are always searched in blocks of queries."""
_RARE = 32
"""In a larger corpus, a query with fewer than one posting for so many documents is searched alone, with pruning."""
_CELLS = 1 << 20
"""Scores in memory at once for a block of queries, at least those of one query."""

_GROUPS = 256
"""Groups of documents whose maxima are taken, at least: fewer make long loops over few numbers."""

_SHORT = 256
"""Posting lists of at most this length are added together, longer ones one by one."""
_THIN = 4
"""A list with fewer than one in so many documents is not spread out."""


@dataclass(frozen=True, eq=False)
class QueryTerms:
    """The distinct known terms of each query: query `q` has `terms[offsets[q]:offsets[q+1]]`, each `counts` times."""

    offsets: Int64
    terms: Int32
    counts: Float64

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def chosen(self, mask: npt.NDArray[np.bool_]) -> QueryTerms:
        """Return some of the queries."""
        sizes = np.diff(self.offsets)
        terms = np.repeat(mask, sizes)
        offsets = np.concatenate((self.offsets[:1], np.cumsum(sizes[mask])))
        return QueryTerms(offsets, self.terms[terms], self.counts[terms])


def search(postings: Postings, documents: int, queries: QueryTerms, top_k: int) -> tuple[Int32, Float32]:
    """Return the best `top_k` rows and scores of each query, best first; -1 and -inf if fewer match.

    Ties go to the lower row, also at the end of the list. Documents that score zero are not returned. Everything is
    done in one thread: numpy keeps Python's lock while it adds weights, so that a second one makes it slower.
    """
    rows = np.full((len(queries), top_k), -1, dtype=np.int32)
    scores = np.full((len(queries), top_k), -np.inf, dtype=np.float32)
    rare = np.zeros(len(queries), dtype=bool)
    if documents > _SMALL:
        sizes = postings.offsets[queries.terms + 1] - postings.offsets[queries.terms]
        ends = np.concatenate(([0], np.cumsum(sizes)))[queries.offsets]
        rare = np.diff(ends) * _RARE < documents
    if rare.any():
        pruned = PrunedSearch(postings, documents)
        for query in np.flatnonzero(rare).tolist():
            place = slice(queries.offsets[query], queries.offsets[query + 1])
            best, values = pruned.best(queries.terms[place], queries.counts[place], top_k)
            rows[query, : len(best)], scores[query, : len(best)] = best, values
        queries = queries.chosen(~rare)
    others = np.flatnonzero(~rare)
    step = max(_CELLS // max(documents, 1), 1)
    for first in range(0, len(others), step):
        last = min(first + step, len(others))
        block = others[first:last]
        rows[block], scores[block] = _block(postings, documents, queries, first, last, top_k)
    return rows, scores


def _block(
    postings: Postings, documents: int, queries: QueryTerms, first: int, last: int, top_k: int
) -> tuple[Int32, Float32]:
    """Compute all scores of the queries from `first` to before `last`, then select the best of each."""
    place = slice(queries.offsets[first], queries.offsets[last])
    terms, counts = queries.terms[place], queries.counts[place]
    lines = np.repeat(np.arange(last - first), np.diff(queries.offsets[first : last + 1]))
    begins = postings.offsets[terms]
    sizes = postings.offsets[terms + 1] - begins
    short = sizes <= _SHORT
    lengths = sizes[short]
    at = np.repeat(begins[short] - (np.cumsum(lengths) - lengths), lengths)
    at += np.arange(len(at))
    cells = np.repeat(lines[short] * documents, lengths)
    cells += postings.rows.take(at)
    weights = np.repeat(counts[short], lengths)
    weights *= postings.weights.take(at)
    board = np.bincount(cells, weights, minlength=(last - first) * documents).astype(np.float64, copy=False)
    board = board.reshape(last - first, documents)
    _add_long(board, postings, lines[~short], terms[~short], counts[~short])
    floors = np.bincount(lines, counts * postings.floor[terms], minlength=last - first)
    if floors.any():
        board = np.where(board > 0, board + floors[:, None], 0.0)
    keys = _best_keys(board.astype(np.float32), top_k)
    keys.sort(axis=1)
    rows, scores = (part[:, ::-1] for part in _unpack(keys[:, keys.shape[1] - top_k :]))
    matches = scores > 0
    return np.where(matches, rows, np.int32(-1)), np.where(matches, scores, np.float32(-np.inf))


def _best_keys(scores: Float32, top_k: int) -> Int64:
    """Return the keys of the best `top_k` documents of each query in any order, some more, and zeros.

    The `top_k`-th best of the maxima of `2 * top_k` groups of documents is not above the `top_k`-th best score, and
    about 1.4 times `top_k` documents reach it. That takes a third of the time of a partition of all keys.
    """
    lines, documents = scores.shape
    groups, least = max(2 * top_k, _GROUPS), np.full((lines, 1), _LEAST, dtype=np.float32)
    size = documents // max(groups, 1)
    if top_k and size > 1:
        maxima = scores[:, : size * groups].reshape(lines, size, groups).max(axis=1)
        place = groups - top_k
        least = np.maximum(least, np.partition(maxima, place, axis=1)[:, place, None])
    places = (scores >= least).ravel().nonzero()[0]
    line = places // documents
    counts = np.bincount(line, minlength=lines)
    keys = np.zeros((lines, max(top_k, int(counts.max(initial=0)))), dtype=np.int64)
    rows = (places - line * documents).astype(np.int32)
    keys[np.arange(keys.shape[1]) < counts[:, None]] = _keys(rows, scores.ravel().take(places))
    return keys


def _add_long(board: Float64, postings: Postings, lines: Int64, terms: Int32, counts: Float64) -> None:
    """Add long posting lists to the scores, term by term.

    Adding a whole line is many times as fast as adding at scattered places, so a list that several queries share, and
    that is dense enough, is first spread out over all documents.
    """
    documents = board.shape[1]
    spread = np.zeros(documents)
    order = np.argsort(terms, kind="stable")
    edges = np.flatnonzero(np.diff(terms[order])) + 1
    for group in np.split(order, edges) if len(order) else ():
        term = terms[group[0]]
        place = slice(postings.offsets[term], postings.offsets[term + 1])
        # In the types of the scores: converting once is cheaper than in every sum.
        rows, weights = postings.rows[place].astype(np.intp), postings.weights[place].astype(np.float64)
        users = zip(lines[group].tolist(), counts[group].tolist(), strict=True)
        if len(group) == 1 or len(rows) * _THIN < documents:
            for line, count in users:
                np.add.at(board[line], rows, weights if count == 1 else count * weights)
        else:
            spread.fill(0)
            spread[rows] = weights
            for line, count in users:
                board[line] += spread if count == 1 else count * spread


class PrunedSearch:
    """Searches a large corpus, one query after the other, without reading every posting; not thread-safe.

    A few documents with the rarest terms are scored completely first. Their k-th best score is a threshold: the lists
    of terms that together cannot reach it are not read, only looked up for documents of the other terms.
    """

    def __init__(self, postings: Postings, documents: int) -> None:
        self.postings = postings
        self.board: Float64 = np.zeros(documents)

    def best(self, terms: Int32, counts: Float64, top_k: int) -> tuple[Int32, Float32]:
        """Return the best `top_k` rows and scores for distinct terms with their counts in the query, best first."""
        postings = self.postings
        ceilings = counts * postings.peaks[terms]
        sizes = postings.offsets[terms + 1] - postings.offsets[terms]
        order = np.argsort(sizes, kind="stable")
        order = order[ceilings[order] > 0]
        lists = [self._posting_list(term, count) for term, count in zip(terms[order], counts[order], strict=True)]
        # rest[i]: the maximum that the lists from place i on can add to any document
        rest = np.append(np.cumsum(ceilings[order][::-1])[::-1], 0.0)
        rows, scores = self._candidates(lists, rest, top_k)
        if floor := float(counts @ postings.floor[terms]):
            scores = scores + floor
        return select(rows, scores.astype(np.float32), top_k)

    def _posting_list(self, term: np.int32, count: np.float64) -> _PostingList:
        place = slice(self.postings.offsets[term], self.postings.offsets[term + 1])
        return _PostingList(self.postings.rows[place], self.postings.weights[place], count)

    def _candidates(self, lists: list[_PostingList], rest: Float64, top_k: int) -> tuple[Int32, Float64]:
        """Return rows and complete scores of all documents that can be among the best."""
        threshold = _threshold(lists, top_k)
        # Documents that are only in the lists from `full` on cannot reach the threshold.
        full = int(np.argmax(rest < threshold)) if threshold > 0 else len(lists)
        limit = max(threshold - rest[full], 0.0)
        places = [part.rows.astype(np.intp) for part in lists[:full]]
        for part, at in zip(lists, places, strict=False):
            np.add.at(self.board, at, part.count * part.weights)
        counted = sum(map(len, places))
        if counted * 2 > len(self.board):
            rows = np.flatnonzero(self.board > limit).astype(np.int32)
        else:
            rows = _distinct([part.rows[self.board.take(at) > limit] for part, at in zip(lists, places, strict=False)])
        scores = self.board[rows]
        if counted * 8 > len(self.board):
            self.board.fill(0)
        else:
            for at in places:
                self.board[at] = 0
        for place in range(full, len(lists)):
            if len(rows) > top_k:
                threshold = max(threshold, _kth(scores, top_k) * _SLACK)
                possible = scores + rest[place] >= threshold
                rows, scores = rows[possible], scores[possible]
            scores += lists[place].look_up(rows)
        return rows, scores


@dataclass(frozen=True, eq=False)
class _PostingList:
    """The postings of one term of a query."""

    rows: Int32
    weights: Float32
    count: np.float64

    def look_up(self, rows: Int32) -> Float64:
        """Return what the term adds to some documents, by ascending row; 0 if it does not occur."""
        at = np.searchsorted(self.rows, rows)
        occurs = self.rows.take(at, mode="clip") == rows
        return np.where(occurs, self.count * self.weights.take(at, mode="clip"), 0.0)


def _threshold(lists: list[_PostingList], top_k: int) -> float:
    """Return a score that at least `top_k` documents reach, minus some slack; 0 if fewer were seen."""
    seeds: list[Int32] = []
    for part in lists:
        missing = _SEEDS * top_k - sum(map(len, seeds))
        if missing <= 0:
            break
        chosen = part.rows
        if len(chosen) > missing:
            chosen = chosen[np.argpartition(part.weights, len(chosen) - missing)[len(chosen) - missing :]]
        seeds.append(chosen)
    rows = _distinct(seeds)
    if len(rows) < top_k:
        return 0.0
    scores = np.zeros(len(rows))
    for part in lists:
        scores += part.look_up(rows)
    return _kth(scores, top_k) * _SLACK


def _distinct(parts: list[Int32]) -> Int32:
    """Return the distinct rows of all parts, ascending (np.unique hashes integers, which is slower than sorting)."""
    rows = np.sort(np.concatenate([np.zeros(0, dtype=np.int32), *parts]))
    return rows[np.concatenate(([True], rows[1:] != rows[:-1]))[: len(rows)]]


def _kth(scores: Float64, k: int) -> float:
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def select(rows: Int32, scores: Float32, top_k: int) -> tuple[Int32, Float32]:
    """Return the best `top_k` of positive scores: score descending, then row ascending, also at the end of the list.

    >>> select(np.array([4, 7, 9], dtype=np.int32), np.array([1, 2, 1], dtype=np.float32), 2)
    (array([7, 4], dtype=int32), array([2., 1.], dtype=float32))
    """
    keys = _keys(rows, scores)[scores > 0]
    if len(keys) > top_k:
        keys = np.partition(keys, len(keys) - top_k)[len(keys) - top_k :]
    rows, scores = _unpack(np.sort(keys))
    return rows[::-1], scores[::-1]


def _keys(rows: Int32, scores: Float32) -> Int64:
    """Return one number for score and row, in the order of the ranking, worst first."""
    # The bits of floats that are not negative are in the order of the floats.
    keys = scores.view(np.int32).astype(np.int64)
    keys <<= 32
    keys |= _LAST_ROW - rows
    return keys


def _unpack(keys: Int64) -> tuple[Int32, Float32]:
    halves = keys.view(np.int32).reshape(*keys.shape, 2)  # little-endian: the row, then the score
    return np.int32(_LAST_ROW) - halves[..., 0], halves[..., 1].view(np.float32)
