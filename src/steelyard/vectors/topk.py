"""Exact search: every query against every document, the top k of each, in bounded memory.

The order is that of a `Run`: float32 score descending, then row ascending. Of documents with equal scores at rank k,
those with the lowest rows are kept.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Protocol

import numpy as np
import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.types import Float32, Int32, Int64, Ragged, Run
from steelyard.vectors.duplicate_rows import DuplicateRows
from steelyard.vectors.mapped import release
from steelyard.vectors.similarity import DOT, Similarity
from steelyard.vectors.similarity import similarity as find_similarity
from steelyard.vectors.threads import map_slices

BLOCK_DOCUMENTS = 16_384
BLOCK_SCORES = 1 << 24
"""Scores in memory at a time, of all threads: 64 MB."""

SMALL_PRODUCT = 1 << 28
"""Multiplications that a core does in a few milliseconds: the threads of BLAS would spin for longer."""

SHORT, LONG = 1e-15, 1e18
"""Vectors shorter or longer than this have squares outside the range of float32."""
CACHED_BLOCK = 1 << 18
"""Scores whose candidates are sorted at a time: 1 MB."""
SAMPLED = 16
"""One of so many scores of a row is looked at to find a limit for the candidates of the top k."""
MOST = 4
"""A row with more than so many times the expected candidates is partitioned."""
NOTHING = np.iinfo(np.int64).max
"""The key of an empty position: it sorts after every document."""


class Documents(Protocol):
    """Vectors that are searched block by block."""

    @property
    def duplicates(self) -> DuplicateRows:
        """Equal vectors, which must get equal scores."""
        ...

    def __len__(self) -> int: ...

    def compare(self, queries: Float32, start: int, out: Float32, similarity: Similarity) -> None:
        """Write the scores of the queries with the documents from row `start` on, one for each column of `out`."""
        ...


@dataclass(frozen=True, eq=False)
class Matrix:
    """Documents in memory as float32."""

    vectors: Float32

    @property
    def duplicates(self) -> DuplicateRows:
        """Equal rows, searched for at each access."""
        return DuplicateRows.find_in_blocks([self.vectors], BLOCK_DOCUMENTS, release)

    def __len__(self) -> int:
        return len(self.vectors)

    def compare(self, queries: Float32, start: int, out: Float32, similarity: Similarity) -> None:
        """Compare all at once, without a copy; the memory of a mapped block is dropped."""
        block = self.vectors[start : start + out.shape[1]]
        similarity.block(queries, block, out)
        release(block)


def normalised(vectors: Float32) -> Float32:
    """Return the vectors scaled to length 1; a zero vector stays zero, so that its cosine with anything is 0.

    >>> normalised(np.array([[3, 4], [0, 0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    with np.errstate(over="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    unit = np.asarray(vectors / np.where(lengths > 0, lengths, np.float32(1))[:, None], dtype=np.float32)
    if len(
        odd := np.flatnonzero(~((lengths > SHORT) & (lengths < LONG)))
    ):  # squares outside the range of float32, or 0
        exact = vectors[odd].astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
        unit[odd] = exact / np.where(lengths > 0, lengths, 1.0)[:, None]
    return unit


def top_k(queries: Float32, documents: Float32, k: int, *, similarity: str = "dot") -> Run:
    """Return the top `k` documents of each query by `dot`, `cosine` or minus a distance, as rows of `documents`.

    Equal vectors get equal scores. Lists have `min(k, documents)` entries.

    >>> documents = np.eye(3, dtype=np.float32)
    >>> run = top_k(np.array([[0, 1, 1]], dtype=np.float32), documents, 2)
    >>> run.rows.tolist(), run.scores.tolist()
    ([[1, 2]], [[1.0, 1.0]])
    """
    compared = find_similarity(similarity)
    if queries.ndim != 2 or documents.ndim != 2 or queries.shape[1] != documents.shape[1]:
        raise UsageError(
            f"vectors must have the shapes (queries, dimension) and (documents, dimension), got {queries.shape} and "
            f"{documents.shape}",
            hint="encode both with one model",
        )
    if similarity == "cosine":
        queries, documents = normalised(queries), normalised(documents)
    return search(queries, Matrix(documents), k, compared)


def search(queries: Float32, documents: Documents, k: int, similarity: Similarity = DOT) -> Run:
    """Return the top `k` documents of each query, as `top_k` does."""
    k, width, duplicates = min(k, len(documents)), min(len(documents), BLOCK_DOCUMENTS), documents.duplicates
    block_queries = max(1, BLOCK_SCORES // max(1, width, duplicates.originals))
    # One array for all threads if it can be: large arrays are in huge pages, which are allocated faster.
    shared = np.empty((len(queries), width), dtype=np.float32) if len(queries) <= block_queries else None

    def search_slice(share: slice) -> Run:
        part = queries[share]
        buffer = np.empty((len(part), width), dtype=np.float32) if shared is None else shared[share]
        return _search(part, documents, k, duplicates, similarity, buffer)

    small = queries.size * len(documents) <= SMALL_PRODUCT
    return _joined(map_slices(search_slice, len(queries), limit=block_queries, small=small), k)


def rank_rows(rows: Int32, scores: Float32) -> Run:
    """Return a run from unsorted lists without padding; many times faster than `Run.of`.

    >>> rank_rows(np.array([[2, 0, 1]], dtype=np.int32), np.array([[0.5, 0.9, 0.5]], dtype=np.float32)).rows.tolist()
    [[0, 1, 2]]
    """
    return _run(np.sort(_keys(scores, rows.astype(np.int64)), axis=1))


def top_k_of_scores(scores: Float32, k: int) -> Run:
    """Return the top `k` of each row of scores, which are those of all documents.

    >>> top_k_of_scores(np.array([[1, 3, 3, 2]], dtype=np.float32), 3).rows.tolist()
    [[1, 2, 3]]
    """
    k = min(k, scores.shape[1])
    run = Run(np.empty((len(scores), k), dtype=np.int32), np.empty((len(scores), k), dtype=np.float32))

    def fill(share: slice) -> None:
        for part in _cached_parts(share, scores.shape[1]):
            keys = _merge(_none(scores[part]), scores[part], 0, k)
            run.rows[part], run.scores[part] = _rows(keys), _scores(keys)

    map_slices(fill, len(scores))
    return run


def top_k_of_matches(scores: Float32, k: int) -> Run:
    """Return the top `k` columns of each row, ties by column; a score of -inf means that a document does not match.

    >>> run = top_k_of_matches(np.array([[0.5, -np.inf, 2, 0.5]], dtype=np.float32), 3)
    >>> run.rows.tolist(), top_k_of_matches(np.array([[1, 1]], dtype=np.float32), 1).rows.tolist()
    ([[2, 0, 3]], [[0]])
    """
    width = scores.shape[1]
    k = min(k, width)
    keys = _keys(scores, np.arange(width))
    if width > k > 0:
        keys = np.partition(keys, k - 1, axis=1)
    run = _run(np.sort(keys[:, :k], axis=1))
    return Run(np.where(np.isneginf(run.scores), np.int32(-1), run.rows), run.scores)


def _search(
    queries: Float32, documents: Documents, k: int, duplicates: DuplicateRows, similarity: Similarity, buffer: Float32
) -> Run:
    """Return the top `k` of some queries; `buffer` (queries, documents of a block) is overwritten."""
    best = _none(queries)
    originals = np.empty((len(queries), duplicates.originals), dtype=np.float32)
    for start in range(0, len(documents), BLOCK_DOCUMENTS):
        width = min(BLOCK_DOCUMENTS, len(documents) - start)
        # Reused memory costs less than newly allocated memory.
        scores = buffer.reshape(-1)[: len(queries) * width].reshape(len(queries), width)
        documents.compare(queries, start, scores, similarity)
        duplicates.copy_scores(scores, start, originals)
        best = _merged(best, scores, start, k)
    return _run(best)


def _joined(runs: Sequence[Run], k: int) -> Run:
    """Join runs of the same depth."""
    nothing = _run(np.empty((0, k), dtype=np.int64))
    runs = [nothing, *runs]
    return Run(np.concatenate([run.rows for run in runs]), np.concatenate([run.scores for run in runs]))


def _none(lines: Float32) -> Int64:
    """Return the keys of queries without hits."""
    return np.empty((len(lines), 0), dtype=np.int64)


def _merged(best: Int64, scores: Float32, start: int, k: int) -> Int64:
    """Return the top `k` of earlier blocks and of a block of scores whose first document is `start`.

    A few queries at a time: their candidates stay in the processor's cache, and in memory that is used again.
    """
    parts = _cached_parts(slice(0, max(1, len(scores))), scores.shape[1])
    return np.concatenate([_merge(best[part], scores[part], start, k) for part in parts])


def _cached_parts(queries: slice, width: int) -> list[slice]:
    step = max(1, CACHED_BLOCK // max(1, width))
    return [slice(at, min(at + step, queries.stop)) for at in range(queries.start, queries.stop, step)]


def _merge(best: Int64, scores: Float32, start: int, k: int) -> Int64:
    (queries, width), filled = scores.shape, best.shape[1]
    if filled == k:
        # Documents of a later block have higher rows, so they lose a tie with the last kept one.
        hits, counts = _hits(scores > _scores(best[:, -1:]))
    elif width > k:
        hits, counts = _candidates(scores, k)
    else:
        hits, counts = _hits(np.ones(scores.shape, dtype=bool))
    size = int(counts.max(initial=0))
    hit_scores = scores.reshape(-1).take(hits)
    hits -= np.repeat(np.arange(queries) * width - start, counts)
    keys = np.full((queries, filled + size), NOTHING)
    keys[:, :filled] = best
    keys[:, filled:][np.arange(size) < counts[:, None]] = _keys(hit_scores, hits)
    keys.sort(axis=1)
    return keys[:, :k]


def _hits(candidates: npt.NDArray[np.bool_]) -> tuple[Int64, Int64]:
    """Return the positions of the candidates of all rows, one row after the other, and the number in each row."""
    queries, width = candidates.shape
    hits = np.flatnonzero(candidates)  # many times faster than np.nonzero of two dimensions
    return hits, np.diff(np.searchsorted(hits, np.arange(queries + 1) * width))


def _candidates(scores: Float32, k: int) -> tuple[Int64, Int64]:
    """Return the scores that may be among the top `k` of their row, as `_hits` does: at least `k`, and not many more.

    A sample of each row gives a limit that almost always has that many above it; where it does not, the row is
    partitioned, which costs several times as much.
    """
    width = scores.shape[1]
    sample = scores[:, ::SAMPLED]
    size = sample.shape[1]
    share = k * size / width
    rank = int(share + 2.5 * sqrt(share)) + 3
    if rank > size // 2:
        return _hits(scores >= np.partition(scores, width - k, axis=1)[:, width - k, None])
    candidates = scores >= np.partition(sample, size - rank, axis=1)[:, size - rank, None]
    hits, counts = _hits(candidates)
    odd = np.flatnonzero((counts < k) | (counts > MOST * rank * SAMPLED))
    if not len(odd):
        return hits, counts
    for row in odd:
        candidates[row] = scores[row] >= np.partition(scores[row], width - k)[width - k]
    return _hits(candidates)


def _keys(scores: Float32, rows: Int64) -> Int64:
    """Return one integer for each hit that sorts by score descending, then row ascending."""
    bits = (scores + np.float32(0)).view(np.int32)  # adding 0 makes -0.0 the same number as 0.0
    bits ^= bits >> 31 & 0x7FFFFFFF
    keys = np.invert(bits, out=bits).astype(np.int64)
    keys <<= 32  # in place: new memory costs more than the operation
    keys |= rows
    return keys


def _run(keys: Int64) -> Run:
    return Run(_rows(keys), _scores(keys))


def _scores(keys: Int64) -> Float32:
    ascending = ~(keys >> 32).astype(np.int32)
    return (ascending ^ (ascending >> 31 & 0x7FFFFFFF)).view(np.float32)


def _rows(keys: Int64) -> Int32:
    return (keys & 0xFFFFFFFF).astype(np.int32)


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
            scores = np.empty((len(queries), len(self.vectors)), dtype=np.float32)
            # In slices of documents: every product copies all documents it is given, for slices of queries twice.
            map_slices(
                lambda part: self.similarity.block(queries, self.vectors[part], scores[:, part]),
                len(self.vectors),
                small=queries.size * len(self.vectors) <= SMALL_PRODUCT,
            )
            duplicates = DuplicateRows.find(self.vectors)
            duplicates.copy_scores(scores, 0, np.empty((len(scores), duplicates.originals), dtype=np.float32))
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
            scores, _ = ExactIndex(self.vectors, self.similarity)._all(queries[start : start + step])
            parts.append(np.take_along_axis(scores, rows[start : start + step].astype(np.int64), axis=1))
        return np.concatenate(parts)
