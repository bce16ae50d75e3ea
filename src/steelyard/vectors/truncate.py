"""Shorter vectors: the first dimensions only, as models trained for it (Matryoshka) allow."""

from __future__ import annotations

import numpy as np

from steelyard.types import Float32


def truncated(vectors: Float32, dimension: int) -> Float32:
    """The first `dimension` numbers of each vector, stretched to the length that the whole vector had.

    For vectors of length 1 that is to normalise anew. Where lengths mean something (a model compared by `dot`), they
    go on to mean it. A vector that has only zeros there stays zero.

    >>> truncated(np.array([[3, 0, 4], [0, 0, 1]], dtype=np.float32), 2).tolist()
    [[5.0, 0.0], [0.0, 0.0]]
    """
    if dimension >= vectors.shape[1]:
        return vectors
    kept = vectors[:, :dimension].copy()  # a slice of a single row would be the caller's own memory
    whole, rest = (np.sqrt(np.einsum("ij,ij->i", each, each)) for each in (vectors, kept))
    kept *= np.divide(whole, rest, out=np.zeros_like(rest), where=rest > 0)[:, None]
    return kept
