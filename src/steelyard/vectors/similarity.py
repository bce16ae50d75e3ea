"""Similarities of queries and documents: the four that models of sentence-transformers declare.

A distance is negated, so that a greater score is always better. A similarity has two forms: many queries with a block
of documents, as fast as possible, and one query with documents of its own, where each score depends on its own document
only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steelyard.errors import UsageError
from steelyard.types import Float32

CHUNK = 2048
"""Documents whose distances are computed at a time, to bound the memory."""
NEAR = 128
"""Documents whose differences with a query fit into the processor's cache."""


@dataclass(frozen=True)
class Similarity:
    """A similarity; `block` and `line` write into `out`."""

    name: str
    block: Callable[[Float32, Float32, Float32], None]
    """(queries, dimension), (documents, dimension) -> (queries, documents)."""
    line: Callable[[Float32, Float32, Float32], None]
    """(dimension,), (documents, dimension) -> (documents,)."""
    is_distance: bool = False


def _inner_block(queries: Float32, documents: Float32, out: Float32) -> None:
    np.matmul(queries, documents.T, out=out)


def _inner_line(query: Float32, documents: Float32, out: Float32) -> None:
    # Sums each row in one order, unlike a matrix product: equal documents get equal scores.
    np.einsum("ij,j->i", documents, query, out=out)


def _euclidean_block(queries: Float32, documents: Float32, out: Float32) -> None:
    """Compute distances from the matrix product in float64; in float32 rounding would dominate for near vectors."""
    left = queries.astype(np.float64)
    squares = np.einsum("ij,ij->i", left, left)[:, None]
    for start in range(0, len(documents), CHUNK):
        right = documents[start : start + CHUNK].astype(np.float64)
        square = left @ right.T
        square *= -2
        square += squares
        square += np.einsum("ij,ij->i", right, right)
        np.sqrt(np.maximum(square, 0, out=square), out=square)
        np.negative(square, out=out[:, start : start + CHUNK], casting="same_kind")


def _euclidean_line(query: Float32, documents: Float32, out: Float32) -> None:
    apart = documents - query
    np.sqrt(np.einsum("ij,ij->i", apart, apart), out=out)
    np.negative(out, out=out)


def _manhattan_block(queries: Float32, documents: Float32, out: Float32) -> None:
    for start in range(0, len(documents), NEAR):
        near = documents[start : start + NEAR]
        for row, query in enumerate(queries):
            _manhattan_line(query, near, out[row, start : start + NEAR])


def _manhattan_line(query: Float32, documents: Float32, out: Float32) -> None:
    apart = documents - query
    np.abs(apart, out=apart).sum(axis=1, out=out)
    np.negative(out, out=out)


_KNOWN = (
    Similarity("cosine", _inner_block, _inner_line),
    Similarity("dot", _inner_block, _inner_line),
    Similarity("euclidean", _euclidean_block, _euclidean_line, is_distance=True),
    Similarity("manhattan", _manhattan_block, _manhattan_line, is_distance=True),
)
SIMILARITIES = tuple(known.name for known in _KNOWN)
"""The names of sentence-transformers; `cosine` is the inner product of vectors of length 1."""

DOT = _KNOWN[1]


def similarity(name: str, model: str | None = None) -> Similarity:
    """Return the similarity of that name; raise a UsageError for any other.

    >>> scores = np.empty((1, 2), dtype=np.float32)
    >>> query, documents = np.float32([[0, 0]]), np.float32([[3, 4], [0, 1]])
    >>> similarity("euclidean").block(query, documents, scores); scores.tolist()
    [[-5.0, -1.0]]
    >>> similarity("manhattan").block(query, documents, scores); scores.tolist()
    [[-7.0, -1.0]]
    """
    for known in _KNOWN:
        if known.name == name:
            return known
    what = f"the similarity of {model}" if model else "the similarity"
    raise UsageError.invalid(
        what,
        expected=" or ".join(SIMILARITIES),
        found=name,
        option="similarity_fn_name",
        hint=f"set similarity_fn_name={SIMILARITIES[0]}",
    )
