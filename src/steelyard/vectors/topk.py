"""Exact search: every query against every document, the best k of each, in bounded memory.

The order is the one of a `Run`: score as float32 descending, then row ascending, also for the last places: of
documents with equal scores at the cut-off those with the lowest rows are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from steelyard.errors import UsageError
from steelyard.types import Float32, Int32, Int64, Run
from steelyard.vectors.duplicate_rows import Copies
from steelyard.vectors.similarity import DOT, Similarity
from steelyard.vectors.similarity import similarity as named
from steelyard.vectors.threads import by_cores

BLOCK_DOCUMENTS = 16_384
BLOCK_SCORES = 1 << 24
"""Scores held at a time: 64 MB, by all threads. A block of documents is read once for every so many scores."""

SHORT, LONG = 1e-15, 1e18
"""Vectors shorter or longer than this have squares that float32 rounds off or cannot hold."""
NOTHING = np.iinfo(np.int64).max
"""The key of an empty place: behind every document."""


class Documents(Protocol):
    """Vectors that are searched block by block, however they are stored."""

    @property
    def copies(self) -> Copies:
        """Which of them are equal, and so must score alike."""
        ...

    def __len__(self) -> int: ...

    def compare(self, queries: Float32, start: int, out: Float32, similarity: Similarity) -> None:
        """Write the scores of the queries with as many documents, from row `start` on, as `out` has columns."""
        ...


@dataclass(frozen=True, eq=False)
class Matrix:
    """Documents that lie in memory as float32."""

    vectors: Float32

    @property
    def copies(self) -> Copies:
        """Looked for whenever asked."""
        return Copies.among(self.vectors)

    def __len__(self) -> int:
        return len(self.vectors)

    def compare(self, queries: Float32, start: int, out: Float32, similarity: Similarity) -> None:
        """All at once; nothing is copied."""
        similarity.block(queries, self.vectors[start : start + out.shape[1]], out)


def normalised(vectors: Float32) -> Float32:
    """The vectors at length 1; a zero vector stays zero, so that its cosine with anything is 0.

    >>> normalised(np.array([[3, 4], [0, 0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    with np.errstate(over="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    found = np.asarray(vectors / np.where(lengths > 0, lengths, np.float32(1))[:, None], dtype=np.float32)
    if len(odd := np.flatnonzero(~((lengths > SHORT) & (lengths < LONG)))):  # squares that float32 does not hold, or 0
        exact = vectors[odd].astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
        found[odd] = exact / np.where(lengths > 0, lengths, 1.0)[:, None]
    return found


def top_k(queries: Float32, documents: Float32, k: int, *, similarity: str = "dot") -> Run:
    """The best `k` documents of each query by `dot`, `cosine` or minus a distance; rows are those of `documents`.

    Equal vectors get equal scores, whichever block they fall into. Lists are `min(k, documents)` long.

    >>> documents = np.eye(3, dtype=np.float32)
    >>> run = top_k(np.array([[0, 1, 1]], dtype=np.float32), documents, 2)
    >>> run.rows.tolist(), run.scores.tolist()
    ([[1, 2]], [[1.0, 1.0]])
    """
    compared = named(similarity)
    if queries.ndim != 2 or documents.ndim != 2 or queries.shape[1] != documents.shape[1]:
        raise UsageError(
            f"vectors of shapes {queries.shape} and {documents.shape} cannot be compared",
            hint="give (queries, dimension) and (documents, dimension), encoded with one model",
        )
    if similarity == "cosine":
        queries, documents = normalised(queries), normalised(documents)
    return search(queries, Matrix(documents), k, compared)


def search(queries: Float32, documents: Documents, k: int, similarity: Similarity = DOT) -> Run:
    """The best `k` documents of each query, as in `top_k`."""
    k, copies = min(k, len(documents)), documents.copies
    held = max(1, BLOCK_SCORES // max(1, min(len(documents), BLOCK_DOCUMENTS), copies.originals))
    runs = by_cores(lambda share: _search(queries[share], documents, k, copies, similarity), len(queries), held=held)
    return _joined(runs, k)


def ranked(rows: Int32, scores: Float32) -> Run:
    """A run from lists in any order without padding; many times faster than `Run.of`.

    >>> ranked(np.array([[2, 0, 1]], dtype=np.int32), np.array([[0.5, 0.9, 0.5]], dtype=np.float32)).rows.tolist()
    [[0, 1, 2]]
    """
    return _run(np.sort(_keys(scores, rows.astype(np.int64)), axis=1))


def best_of(scores: Float32, k: int) -> Run:
    """The best `k` of each line of scores, which are those of all documents.

    >>> best_of(np.array([[1, 3, 3, 2]], dtype=np.float32), 3).rows.tolist()
    [[1, 2, 3]]
    """
    k = min(k, scores.shape[1])
    return _joined(by_cores(lambda share: _run(_merged(_none(scores[share]), scores[share], 0, k)), len(scores)), k)


def _search(queries: Float32, documents: Documents, k: int, copies: Copies, similarity: Similarity) -> Run:
    """The best `k` of some queries."""
    best = _none(queries)
    originals = np.empty((len(queries), copies.originals), dtype=np.float32)
    room = np.empty(len(queries) * min(len(documents), BLOCK_DOCUMENTS), dtype=np.float32)
    for start in range(0, len(documents), BLOCK_DOCUMENTS):
        width = min(BLOCK_DOCUMENTS, len(documents) - start)
        # Memory that is written again and again costs less than memory that is new each time.
        scores = room[: len(queries) * width].reshape(len(queries), width)
        documents.compare(queries, start, scores, similarity)
        copies.settle(scores, start, originals)
        best = _merged(best, scores, start, k)
    return _run(best)


def _joined(runs: Sequence[Run], k: int) -> Run:
    """Runs of the same depth, one after another."""
    nothing = _run(np.empty((0, k), dtype=np.int64))
    runs = [nothing, *runs]
    return Run(np.concatenate([run.rows for run in runs]), np.concatenate([run.scores for run in runs]))


def _none(lines: Float32) -> Int64:
    """The keys of lines for which nothing was found yet."""
    return np.empty((len(lines), 0), dtype=np.int64)


def _merged(best: Int64, scores: Float32, start: int, k: int) -> Int64:
    """The best `k` of what was kept and of a block of scores whose first document is `start`."""
    queries, width = scores.shape
    if best.shape[1] == k:
        # Documents of a later block have higher rows, so a tie with the last one kept is lost.
        wanted = scores > _scores(best[:, -1:])
    elif width > k:
        wanted = scores >= np.partition(scores, width - k, axis=1)[:, width - k, None]
    else:
        wanted = np.ones(scores.shape, dtype=bool)
    hits = np.flatnonzero(wanted)  # many times faster than np.nonzero of two dimensions
    query, row = np.divmod(hits, max(1, width))
    counts = np.bincount(query, minlength=queries)
    column = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    keys = np.full((queries, best.shape[1] + int(counts.max(initial=0))), NOTHING)
    keys[:, : best.shape[1]] = best
    keys[query, best.shape[1] + column] = _keys(scores.ravel()[hits], row + start)
    keys.sort(axis=1)
    return keys[:, :k]


def _keys(scores: Float32, rows: Int64) -> Int64:
    """One number for each hit that sorts as hits do: best score first, then lowest row."""
    bits = (scores + np.float32(0)).view(np.int32)  # adding 0 makes -0.0 the same number as 0.0
    ascending = bits ^ (bits >> 31 & 0x7FFFFFFF)
    return np.asarray((~ascending).astype(np.int64) << 32 | rows)


def _run(keys: Int64) -> Run:
    return Run(_rows(keys), _scores(keys))


def _scores(keys: Int64) -> Float32:
    ascending = ~(keys >> 32).astype(np.int32)
    return (ascending ^ (ascending >> 31 & 0x7FFFFFFF)).view(np.float32)


def _rows(keys: Int64) -> Int32:
    return (keys & 0xFFFFFFFF).astype(np.int32)
