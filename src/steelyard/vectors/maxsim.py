"""Late interaction: a text has one vector for each of its tokens, and MaxSim compares two texts.

MaxSim of a query and a document is, for every query token, its largest inner product with any document token, summed
over the query tokens (`maxsim`), or their mean (`meanmaxsim`). It is computed exactly, for all documents.

Tokens of all texts are in one matrix without padding, so a text's score does not depend on other texts.

Token pooling leaves fewer vectors per document: its tokens are clustered by Ward's method with the distance 1 - cosine
until one in `factor` is left; each cluster becomes the mean of its tokens, scaled to length 1. The first token, which
in most models represents the whole text, is not merged. This is the pooling of Clavié, Chaffin and Adams (2024,
"Reducing the Footprint of Multi-Vector Retrieval with Minimal Performance Impact via Token Pooling"), as
sentence-transformers defines it.
"""

from __future__ import annotations

import hashlib
import struct
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from steelyard.errors import ModelError, UsageError
from steelyard.types import Float32, Float64, Int64, Run
from steelyard.vectors.mapped import is_mapped, release
from steelyard.vectors.ragged import offsets_of, ragged_indices
from steelyard.vectors.threads import single_threaded_blas, thread_pool
from steelyard.vectors.topk import normalised, top_k_of_matches

SIMILARITIES = ("maxsim", "meanmaxsim")
HEAD = struct.Struct("<I")

QUERY_TOKENS = 1024
DOCUMENT_TOKENS = 4096
"""Document tokens that a thread compares at a time: 16 MB of inner products."""
MAX_THREADS = 16
RELEASE_TEXTS = 4096
"""Texts whose vectors are read before the memory of a mapped matrix is dropped."""
BOARD = 1 << 23
"""Scores in memory at a time: 32 MB."""


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """The token vectors of texts: text `t` has the rows `offsets[t]:offsets[t+1]` of `matrix`.

    >>> tokens = TokenVectors.of([np.ones((2, 3)), np.zeros((0, 3)), np.ones((1, 3))])
    >>> tokens, tokens.counts.tolist(), tokens.take([2, 0]).counts.tolist()
    (TokenVectors(3 texts, 3 tokens of 3 dimensions), [2, 0, 1], [1, 2])
    """

    offsets: Int64
    matrix: Float32

    @classmethod
    def of(cls, texts: Sequence[npt.ArrayLike], dimension: int = 0) -> TokenVectors:
        """Return token vectors from one array (tokens, dimension) per text; `dimension` is for no texts at all."""
        arrays = [np.asarray(text, dtype=np.float32) for text in texts]
        for row, array in enumerate(arrays):
            if array.ndim != 2 or array.shape[1] != arrays[0].shape[1]:
                width = arrays[0].shape[1] if arrays[0].ndim == 2 else "dimension"
                raise ModelError(
                    f"the token vectors of text {row} must have shape (tokens, {width}), got {array.shape}",
                    row=row,
                    found=array.shape,
                    hint="return one vector per token, all of one dimension",
                )
        matrix = np.concatenate(arrays) if arrays else np.empty((0, dimension), dtype=np.float32)
        return cls(offsets_of(map(len, arrays)), matrix)

    @classmethod
    def joined(cls, parts: Sequence[TokenVectors]) -> TokenVectors:
        """Join the texts of all parts; parts without tokens may have any dimension."""
        filled = [part.matrix for part in parts if len(part.matrix)] or [parts[-1].matrix]
        return cls(offsets_of(np.concatenate([part.counts for part in parts])), np.concatenate(filled))

    @classmethod
    def from_blobs(cls, blobs: Sequence[bytes]) -> TokenVectors:
        """Return the token vectors that `blobs` wrote."""
        width = max((HEAD.unpack_from(blob)[0] for blob in blobs), default=0)
        flat = [np.frombuffer(blob, "<f4", offset=HEAD.size) for blob in blobs]
        matrix = np.concatenate([np.empty(0, dtype=np.float32), *flat]).astype(np.float32, copy=False)
        return cls(offsets_of(len(values) // max(1, width) for values in flat), matrix.reshape(-1, max(1, width)))

    @classmethod
    def in_file(cls, parts: Iterable[TokenVectors], folder: Path) -> TokenVectors:
        """Join the texts of all parts in a mapped file, which is gone with the array or the process."""
        folder.mkdir(parents=True, exist_ok=True)
        counts: list[Int64] = []
        dimension = 1
        with tempfile.TemporaryFile(dir=folder) as file:
            for part in parts:
                counts.append(part.counts)
                dimension = part.dimension if len(part.matrix) else dimension
                file.write(np.ascontiguousarray(part.matrix, dtype=np.float32).data)
            file.flush()
            offsets = offsets_of(np.concatenate(counts) if counts else [])
            shape = int(offsets[-1]), dimension
            empty = np.empty((0, dimension), dtype=np.float32)
            return cls(offsets, np.memmap(file, dtype=np.float32, mode="r+", shape=shape) if shape[0] else empty)

    def blobs(self) -> list[bytes]:
        """Return each text's vectors as bytes, for the cache."""
        head = HEAD.pack(self.dimension)
        return [head + self.text(row).astype("<f4", copy=False).tobytes() for row in range(len(self))]

    @property
    def finite(self) -> npt.NDArray[np.bool_]:
        """Whether all vectors of a text are finite."""
        finite = np.ones(len(self), dtype=bool)
        finite[np.repeat(np.arange(len(self)), self.counts)[~np.isfinite(self.matrix).all(axis=1)]] = False
        return finite

    @property
    def counts(self) -> Int64:
        """The number of tokens of each text."""
        return np.diff(self.offsets)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.matrix.shape[1])

    def text(self, row: int) -> Float32:
        """Return the token vectors of one text."""
        return self.matrix[self.offsets[row] : self.offsets[row + 1]]

    def take(self, rows: npt.ArrayLike) -> TokenVectors:
        """Return the texts of these rows, in their order."""
        at, offsets = ragged_indices(self.offsets, np.asarray(rows, dtype=np.int64))
        return TokenVectors(offsets, self.matrix[at])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"TokenVectors({len(self):,} texts, {len(self.matrix):,} tokens of {self.dimension} dimensions)"


class MaxSim:
    """An index of documents. A document without tokens is never returned; a query without tokens returns nothing.

    Documents with the same token vectors are compared once, so they have the same score to the last bit.

    >>> documents = TokenVectors.of([[[1, 0]], [[0, 1], [1, 0]], [[0, 1]]])
    >>> run = MaxSim(documents).search(TokenVectors.of([[[1, 0], [0, 2]]]), 2)
    >>> run.rows.tolist(), run.scores.tolist()
    ([[1, 2]], [[3.0, 2.0]])
    """

    def __init__(self, documents: TokenVectors) -> None:
        first, copy_of = _distinct(documents)
        # A mapped matrix is not copied: duplicates are compared, too, and then get the scores of their originals.
        whole = len(first) == len(documents) or is_mapped(documents.matrix)
        self._copy_of = first[copy_of] if whole else copy_of
        self._distinct = documents if whole else documents.take(first)
        self._filled = np.flatnonzero(self._distinct.counts)
        self._starts = self._distinct.offsets[:-1][self._filled]
        self._ends = self._distinct.offsets[1:][self._filled]

    @property
    def size_bytes(self) -> int:
        """The bytes of the vectors and of their offsets."""
        return self._distinct.matrix.nbytes + self._distinct.offsets.nbytes + self._copy_of.nbytes

    def search(self, queries: TokenVectors, k: int, *, similarity: str = "maxsim") -> Run:
        """Return the top `k` documents of each query, ties by row."""
        if similarity not in SIMILARITIES:
            raise UsageError.invalid(
                "the similarity", expected=" or ".join(SIMILARITIES), found=similarity, option="similarity_fn_name"
            )
        if len(queries.matrix) and len(self._distinct.matrix) and queries.dimension != self._distinct.dimension:
            raise UsageError.invalid(
                "the dimension of queries",
                expected=f"{self._distinct.dimension} as that of documents",
                found=queries.dimension,
                hint="encode both with one model",
            )
        depth = min(k, len(self._copy_of))
        rows = np.full((len(queries), depth), -1, dtype=np.int32)
        scores = np.full((len(queries), depth), -np.inf, dtype=np.float32)
        for block in self._blocks(queries):
            board = np.full((len(block), len(self._distinct)), -np.inf, dtype=np.float32)
            board[:, self._filled] = self._scores(queries.take(block), similarity)
            run = top_k_of_matches(board[:, self._copy_of], depth)
            rows[block], scores[block] = run.rows, run.scores
        return Run(rows, scores)

    def _blocks(self, queries: TokenVectors) -> Iterator[Int64]:
        """Return the queries that have tokens, in blocks of bounded size."""
        filled = np.flatnonzero(queries.counts)
        ends = np.cumsum(queries.counts[filled])
        most = max(1, BOARD // max(1, len(self._copy_of)))
        first = 0
        while first < len(filled):
            before = ends[first - 1] if first else 0
            last = int(np.searchsorted(ends, before + QUERY_TOKENS, side="right"))
            last = min(max(last, first + 1), first + most)
            yield filled[first:last]
            first = last

    def _scores(self, queries: TokenVectors, similarity: str) -> Float32:
        """Return MaxSim of queries and documents that all have tokens."""
        scores = np.empty((len(queries), len(self._filled)), dtype=np.float32)
        starts = self._block_starts()

        def fill(blocks: slice) -> None:
            for first, last in pairwise(starts[blocks.start : blocks.stop + 1]):
                peaks = self._peaks(queries.matrix, first, last)
                scores[:, first:last] = np.add.reduceat(peaks, queries.offsets[:-1], axis=0)

        with thread_pool(MAX_THREADS) as map_slices:  # BLAS with several threads would round differently
            map_slices(fill, len(starts) - 1, 1)
        if similarity == "meanmaxsim":
            scores /= queries.counts[:, None].astype(np.float32)
        return scores

    def _block_starts(self) -> list[int]:
        """Return the first document of each block of bounded size, and the end of the last one."""
        starts = [0]
        while starts[-1] < len(self._filled):
            first = starts[-1]
            end = self._starts[first] + DOCUMENT_TOKENS
            starts.append(max(first + 1, int(np.searchsorted(self._ends, end, side="right"))))
        return starts

    def _peaks(self, tokens: Float32, first: int, last: int) -> Float32:
        """Return, for each query token, its largest product with each document from `first` to before `last`."""
        matrix = self._distinct.matrix
        start, stop = int(self._starts[first]), int(self._ends[last - 1])
        if stop - start <= DOCUMENT_TOKENS:
            products = tokens @ matrix[start:stop].T
            release(matrix[start:stop])
            return np.maximum.reduceat(products, self._starts[first:last] - start, axis=1)
        peaks = np.full(len(tokens), -np.inf, dtype=np.float32)  # one document, longer than a block
        for at in range(start, stop, DOCUMENT_TOKENS):
            block = matrix[at : min(at + DOCUMENT_TOKENS, stop)]
            np.maximum(peaks, (tokens @ block.T).max(axis=1), out=peaks)
            release(block)
        return peaks[:, None]


def _distinct(tokens: TokenVectors) -> tuple[Int64, Int64]:
    """Return the rows of the distinct texts, and for every text the number of its distinct one."""
    seen: dict[bytes, int] = {}
    first: list[int] = []
    copy_of = np.empty(len(tokens), dtype=np.int64)
    for row in range(len(tokens)):
        key = hashlib.blake2b(np.ascontiguousarray(tokens.text(row)).data, digest_size=16).digest()
        copy_of[row] = seen.setdefault(key, len(first))
        if copy_of[row] == len(first):
            first.append(row)
        if row % RELEASE_TEXTS == 0:
            release(tokens.matrix)
    return np.array(first, dtype=np.int64), copy_of


PROTECTED = 1
"""Tokens at the beginning that are never merged."""


def pool_tokens(tokens: TokenVectors, factor: float, *, protected: int = PROTECTED) -> TokenVectors:
    """Return the texts with about one in `factor` of their vectors, at least one besides the protected ones.

    Clusters are in the order of their first tokens. A factor of 1 changes nothing.

    >>> tokens = TokenVectors.of([[[1, 0], [0, 1], [0.6, 0.8], [1, 0], [0.8, -0.6]]])
    >>> (100 * pool_tokens(tokens, 2).text(0)).round().astype(int).tolist()
    [[100, 0], [32, 95], [95, -32]]
    """
    if not 1 <= factor < np.inf:
        raise UsageError.invalid(
            "the pool factor", expected="a number from 1 (no pooling) up", found=factor, hint="use 2 or 3"
        )
    if factor == 1:
        return tokens
    texts = [_pool(tokens.text(row), factor, protected) for row in range(len(tokens))]
    return TokenVectors.of(texts, tokens.dimension)


def _pool(vectors: Float32, factor: float, protected: int) -> Float32:
    head, rest = vectors[:protected], vectors[protected:]
    clusters = max(int(len(rest) // factor), 1)
    if clusters < len(rest):
        with single_threaded_blas():
            cosines = rest.astype(np.float64) @ rest.T.astype(np.float64)
        labels = ward_clusters(np.clip(1 - cosines, 0, 2), clusters)
        order = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[order], np.arange(clusters))
        means = np.add.reduceat(rest[order], starts, axis=0) / np.bincount(labels)[:, None].astype(np.float32)
        rest = means.astype(np.float32)
    return normalised(np.concatenate([head, rest]))


def ward_clusters(distances: Float64, clusters: int) -> Int64:
    """Return a cluster number for each item, in the order of first items, from the lowest merges of Ward's tree.

    `distances` (items, items) is symmetric. Equal distances are merged in the order of the items.

    >>> ward_clusters(np.array([[0, 5, 1], [5, 0, 5], [1, 5, 0]], dtype=float), 2).tolist()
    [0, 1, 0]
    """
    merges = _ward_merges(distances)
    merges.sort(key=lambda merge: merge[0])  # stable: children come before their parents, also at equal heights
    owner = np.arange(len(distances))
    for _, a, b in merges[: len(distances) - clusters]:
        owner[owner == owner[b]] = owner[a]
    _, first, labels = np.unique(owner, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[labels]


def _ward_merges(distances: Float64) -> list[tuple[float, int, int]]:
    """Return every merge of Ward's tree as (squared height, item, item), by chains of nearest neighbours."""
    square = distances**2
    np.fill_diagonal(square, np.inf)
    sizes = np.ones(len(square))
    merges: list[tuple[float, int, int]] = []
    chain: list[int] = []
    alive = np.ones(len(square), dtype=bool)
    while len(merges) < len(square) - 1:
        if not chain:
            chain.append(int(alive.argmax()))
        current = chain[-1]
        nearest = int(square[current].argmin())
        if len(chain) > 1 and square[current, chain[-2]] <= square[current, nearest]:
            a, b = sorted((chain.pop(), chain.pop()))
            height = float(square[a, b])
            merges.append((height, a, b))
            row = (sizes + sizes[a]) * square[a] + (sizes + sizes[b]) * square[b] - sizes * height
            row /= sizes + sizes[a] + sizes[b]
            row[~alive] = np.inf
            row[[a, b]] = np.inf
            square[a], square[:, a] = row, row
            square[b], square[:, b] = np.inf, np.inf
            sizes[a] += sizes[b]
            alive[b] = False
        else:
            chain.append(nearest)
    return merges
