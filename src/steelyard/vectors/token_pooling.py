"""Token pooling: fewer vectors per document, by replacing similar tokens with their mean.

The tokens of a document are clustered by Ward's method with the distance 1 - cosine until one in `factor` is left; each
cluster becomes the mean of its tokens, scaled to length 1. The first token, which in most models represents the whole
text, is not merged. This is the pooling of Clavié, Chaffin and Adams (2024, "Reducing the Footprint of Multi-Vector
Retrieval with Minimal Performance Impact via Token Pooling"), as sentence-transformers defines it.
"""

from __future__ import annotations

import numpy as np

from steelyard.errors import UsageError
from steelyard.types import Float32, Float64, Int64
from steelyard.vectors.maxsim import TokenVectors
from steelyard.vectors.topk import normalised

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
        labels = ward_clusters(np.clip(1 - rest.astype(np.float64) @ rest.T.astype(np.float64), 0, 2), clusters)
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
