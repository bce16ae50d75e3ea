"""Exact search: every query against every document, the top k of each, in bounded memory.

The order is that of a `Run`: float32 score descending, then row ascending. Of documents with equal scores at rank k,
those with the lowest rows are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Protocol

import numpy as np
import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.types import Float32, Int32, Int64, Run
from steelyard.vectors.duplicate_rows import DuplicateRows
from steelyard.vectors.mapped import release
from steelyard.vectors.similarity import DOT, Similarity
from steelyard.vectors.similarity import similarity as find_similarity
from steelyard.vectors.threads import MapSlices, map_slices, thread_pool

BLOCK_DOCUMENTS = 16_384
BLOCK_SCORES = 1 << 24
"""Scores in memory at a time, of all threads: 64 MB."""

PRODUCT_DOCUMENTS = 1024
"""Documents of one matrix product. The bits of a score depend on it, but not on the number of threads."""
MERGED_QUERIES = 32
"""Queries whose candidates are merged at a time."""
MAX_THREADS = 64
SMALL_PRODUCT = 1 << 25
"""Multiplications that one thread does before others have started."""

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
    step = max(1, BLOCK_SCORES // max(1, width, duplicates.originals))
    buffer = np.empty((min(step, len(queries)), width), dtype=np.float32)
    with thread_pool(_threads(queries, len(documents))) as map_slices:
        return _joined(
            [
                _search(queries[start : start + step], documents, k, duplicates, similarity, buffer, map_slices)
                for start in range(0, len(queries), step)
            ],
            k,
        )


def all_scores(queries: Float32, vectors: Float32, similarity: Similarity = DOT) -> Float32:
    """Return the scores of all documents, one row for each query: those that `search` compares, bit by bit.

    >>> all_scores(np.array([[1, 2]], dtype=np.float32), np.eye(2, dtype=np.float32)).tolist()
    [[1.0, 2.0]]
    """
    documents = Matrix(vectors)
    scores = np.empty((len(queries), len(documents)), dtype=np.float32)
    with thread_pool(_threads(queries, len(documents))) as map_slices:
        for start in range(0, len(documents), BLOCK_DOCUMENTS):
            block = scores[:, start : start + BLOCK_DOCUMENTS]
            _compare(queries, documents, start, block, similarity, map_slices)
    duplicates = DuplicateRows.find(vectors)
    duplicates.copy_scores(scores, 0, np.empty((len(scores), duplicates.originals), dtype=np.float32))
    return scores


def _threads(queries: Float32, documents: int) -> int:
    """Return how many threads a search is worth."""
    return 1 if queries.size * documents <= SMALL_PRODUCT else MAX_THREADS


def _compare(
    queries: Float32, documents: Documents, start: int, scores: Float32, similarity: Similarity, map_slices: MapSlices
) -> None:
    """Write the scores of the documents of a block, from row `start` on, in products that threads share."""

    def compare(part: slice) -> None:
        documents.compare(queries, start + part.start, scores[:, part], similarity)

    map_slices(compare, scores.shape[1], PRODUCT_DOCUMENTS)


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
    queries: Float32,
    documents: Documents,
    k: int,
    duplicates: DuplicateRows,
    similarity: Similarity,
    buffer: Float32,
    map_slices: MapSlices,
) -> Run:
    """Return the top `k` of some queries; `buffer` (queries, documents of a block) is overwritten."""
    best = _none(queries)
    originals = np.empty((len(queries), duplicates.originals), dtype=np.float32)
    for start in range(0, len(documents), BLOCK_DOCUMENTS):
        width = min(BLOCK_DOCUMENTS, len(documents) - start)
        # Reused memory costs less than newly allocated memory.
        scores = buffer.reshape(-1)[: len(queries) * width].reshape(len(queries), width)
        _compare(queries, documents, start, scores, similarity, map_slices)

        def merge(part: slice, start: int = start, scores: Float32 = scores, best: Int64 = best) -> Int64:
            duplicates.copy_scores(scores[part], start, originals[part])
            return _merged(best[part], scores[part], start, k)

        best = np.concatenate(map_slices(merge, len(queries), MERGED_QUERIES))
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
