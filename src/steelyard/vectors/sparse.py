"""Sparse vectors: of many dimensions (a vocabulary, the features of an autoencoder) only a few are not zero.

Stored row by row (CSR): text `t` has the columns `columns[offsets[t]:offsets[t+1]]`, ascending, with `weights`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.errors import ModelError, UsageError
from steelyard.types import Float32, Float64, Int32, Int64
from steelyard.vectors.ragged import offsets_of, ragged_indices

HEAD = struct.Struct("<I")


@dataclass(frozen=True, eq=False)
class SparseVectors:
    """The sparse vectors of texts; make one with `of` or `from_dense`.

    >>> vectors = SparseVectors.of([0, 3, 4], [7, 2, 5, 1], [0.5, 2, 0, 1], dimension=8)
    >>> vectors, vectors.columns.tolist(), vectors.capped(1).columns.tolist()
    (SparseVectors(2 texts of 8 dimensions, 3 active), [2, 7, 1], [2, 1])
    """

    offsets: Int64
    columns: Int32
    weights: Float32
    dimension: int

    @classmethod
    def of(
        cls, offsets: npt.ArrayLike, columns: npt.ArrayLike, weights: npt.ArrayLike, *, dimension: int
    ) -> SparseVectors:
        """Return vectors from a CSR whose columns may be in any order within a text; zero weights are removed."""
        begins = np.asarray(offsets, dtype=np.int64)
        column, weight = np.asarray(columns, dtype=np.int64), np.asarray(weights, dtype=np.float32)
        if len(column) != len(weight) or not len(begins) or begins[0] != 0 or begins[-1] != len(column):
            raise ModelError(
                f"sparse vectors must have one weight per column, got {len(column)} columns and {len(weight)} weights",
                found=f"{len(column)} columns and {len(weight)} weights",
                hint="offsets start with 0 and end with the number of columns",
            )
        if len(column) and not 0 <= column.min() <= column.max() < dimension:
            wrong = int(column.min() if column.min() < 0 else column.max())
            raise ModelError.invalid(
                "a column of a sparse vector",
                expected=f"from 0 to {dimension - 1}",
                found=wrong,
                hint="the dimension is the size of the model's vocabulary",
            )
        text = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
        nonzero = weight != 0
        text, column, weight = text[nonzero], column[nonzero], weight[nonzero]
        order = np.lexsort((column, text))
        text, column, weight = text[order], column[order], weight[order]
        twice = np.flatnonzero((text[1:] == text[:-1]) & (column[1:] == column[:-1]))
        if len(twice):
            raise ModelError(
                f"the sparse vector of text {text[twice[0]]} must not repeat a column, got {column[twice[0]]} twice",
                found=int(column[twice[0]]),
                hint="add up the weights of a column",
            )
        counts = np.bincount(text, minlength=len(begins) - 1)
        return cls(offsets_of(counts), column.astype(np.int32), weight, dimension)

    @classmethod
    def from_dense(cls, matrix: npt.ArrayLike) -> SparseVectors:
        """Return the vectors of an array (texts, dimension)."""
        dense = np.asarray(matrix, dtype=np.float32)
        text, column = np.nonzero(dense)
        counts = np.bincount(text, minlength=len(dense))
        return cls(offsets_of(counts), column.astype(np.int32), dense[text, column], int(dense.shape[1]))

    @classmethod
    def joined(cls, parts: Sequence[SparseVectors]) -> SparseVectors:
        """Join the texts of all parts."""
        return cls(
            offsets_of(np.concatenate([part.counts for part in parts])),
            np.concatenate([part.columns for part in parts]),
            np.concatenate([part.weights for part in parts]),
            max(part.dimension for part in parts),
        )

    @classmethod
    def from_blobs(cls, blobs: Sequence[bytes]) -> SparseVectors:
        """Return the vectors that `blobs` wrote."""
        counts = [(len(blob) - HEAD.size) // 8 for blob in blobs]
        columns = [np.frombuffer(blob, "<i4", count, HEAD.size) for blob, count in zip(blobs, counts, strict=True)]
        weights = [np.frombuffer(blob, "<f4", offset=HEAD.size + 4 * n) for blob, n in zip(blobs, counts, strict=True)]
        empty = np.empty(0)
        return cls(
            offsets_of(counts),
            np.concatenate([empty, *columns]).astype(np.int32),
            np.concatenate([empty, *weights]).astype(np.float32),
            max((HEAD.unpack_from(blob)[0] for blob in blobs), default=0),
        )

    def blobs(self) -> list[bytes]:
        """Return each text's vector as bytes, for the cache."""
        head = HEAD.pack(self.dimension)
        spans = zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)
        return [
            head + self.columns[a:b].astype("<i4").tobytes() + self.weights[a:b].astype("<f4").tobytes()
            for a, b in spans
        ]

    @property
    def counts(self) -> Int64:
        """The number of active dimensions of each text."""
        return np.diff(self.offsets)

    @property
    def finite(self) -> npt.NDArray[np.bool_]:
        """Whether all weights of a text are finite."""
        finite = np.ones(len(self), dtype=bool)
        finite[np.repeat(np.arange(len(self)), self.counts)[~np.isfinite(self.weights)]] = False
        return finite

    def take(self, rows: npt.ArrayLike) -> SparseVectors:
        """Return the texts of these rows, in their order."""
        at, offsets = ragged_indices(self.offsets, np.asarray(rows, dtype=np.int64))
        return SparseVectors(offsets, self.columns[at], self.weights[at], self.dimension)

    def capped(self, limit: int | None) -> SparseVectors:
        """Return at most so many dimensions per text: the largest absolute weights, ties by lower column."""
        if limit is None:
            return self
        if limit < 1:
            raise UsageError.invalid("the number of active dimensions", expected="at least 1", found=limit)
        text = np.repeat(np.arange(len(self)), self.counts)
        order = np.lexsort((self.columns, -np.abs(self.weights), text))
        rank = np.arange(len(text)) - np.repeat(self.offsets[:-1], self.counts)
        places = np.sort(order[rank < limit])
        counts = np.minimum(self.counts, limit)
        return SparseVectors(offsets_of(counts), self.columns[places], self.weights[places], self.dimension)

    def normalised(self) -> SparseVectors:
        """Return the vectors scaled to length 1, for cosine similarity."""
        text = np.repeat(np.arange(len(self)), self.counts)
        squares = np.bincount(text, self.weights.astype(np.float64) ** 2, minlength=len(self))
        lengths: Float64 = np.sqrt(squares)[text]
        return SparseVectors(self.offsets, self.columns, (self.weights / lengths).astype(np.float32), self.dimension)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"SparseVectors({len(self):,} texts of {self.dimension:,} dimensions, {len(self.columns):,} active)"
