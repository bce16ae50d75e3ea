"""Sparse vectors: of many dimensions (a vocabulary, the features of an autoencoder) a text has a few that are not zero.

Stored by rows end to end (CSR): text `t` has the columns `columns[offsets[t]:offsets[t+1]]`, ascending, with `weights`.
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
    """The sparse vectors of texts; build one with `of` or `from_dense`.

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
        """From a CSR whose columns may come in any order within a text; weights of zero are left out."""
        begins = np.asarray(offsets, dtype=np.int64)
        column, weight = np.asarray(columns, dtype=np.int64), np.asarray(weights, dtype=np.float32)
        if len(column) != len(weight) or not len(begins) or begins[0] != 0 or begins[-1] != len(column):
            raise ModelError(
                f"sparse vectors of {len(column)} columns and {len(weight)} weights do not fit together",
                hint="offsets begin with 0 and end with the number of columns, and each column has a weight",
            )
        if len(column) and not 0 <= column.min() <= column.max() < dimension:
            found = column.min() if column.min() < 0 else column.max()
            raise ModelError(
                f"a sparse vector has the column {found}, expected 0 to {dimension - 1}",
                hint="the dimension is that of the model's vocabulary",
            )
        text = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
        kept = weight != 0
        text, column, weight = text[kept], column[kept], weight[kept]
        order = np.lexsort((column, text))
        text, column, weight = text[order], column[order], weight[order]
        twice = np.flatnonzero((text[1:] == text[:-1]) & (column[1:] == column[:-1]))
        if len(twice):
            raise ModelError(
                f"the sparse vector of text {text[twice[0]]} has the column {column[twice[0]]} twice",
                hint="add up the weights of a column",
            )
        counts = np.bincount(text, minlength=len(begins) - 1)
        return cls(offsets_of(counts), column.astype(np.int32), weight, dimension)

    @classmethod
    def from_dense(cls, matrix: npt.ArrayLike) -> SparseVectors:
        """From an array (texts, dimension), most of it zero."""
        dense = np.asarray(matrix, dtype=np.float32)
        text, column = np.nonzero(dense)
        counts = np.bincount(text, minlength=len(dense))
        return cls(offsets_of(counts), column.astype(np.int32), dense[text, column], int(dense.shape[1]))

    @classmethod
    def joined(cls, parts: Sequence[SparseVectors]) -> SparseVectors:
        """The texts of all parts, one part after the other."""
        return cls(
            offsets_of(np.concatenate([part.counts for part in parts])),
            np.concatenate([part.columns for part in parts]),
            np.concatenate([part.weights for part in parts]),
            max(part.dimension for part in parts),
        )

    @classmethod
    def from_blobs(cls, blobs: Sequence[bytes]) -> SparseVectors:
        """What `blobs` gave, read again."""
        counts = [(len(blob) - HEAD.size) // 8 for blob in blobs]
        columns = [np.frombuffer(blob, "<i4", count, HEAD.size) for blob, count in zip(blobs, counts, strict=True)]
        weights = [np.frombuffer(blob, "<f4", offset=HEAD.size + 4 * n) for blob, n in zip(blobs, counts, strict=True)]
        nothing = np.empty(0)
        return cls(
            offsets_of(counts),
            np.concatenate([nothing, *columns]).astype(np.int32),
            np.concatenate([nothing, *weights]).astype(np.float32),
            max((HEAD.unpack_from(blob)[0] for blob in blobs), default=0),
        )

    def blobs(self) -> list[bytes]:
        """Each text's vector as bytes, for a store."""
        head = HEAD.pack(self.dimension)
        spans = zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)
        return [
            head + self.columns[a:b].astype("<i4").tobytes() + self.weights[a:b].astype("<f4").tobytes()
            for a, b in spans
        ]

    @property
    def counts(self) -> Int64:
        """How many dimensions of each text are active."""
        return np.diff(self.offsets)

    @property
    def finite(self) -> npt.NDArray[np.bool_]:
        """Which texts have only finite weights."""
        sound = np.ones(len(self), dtype=bool)
        sound[np.repeat(np.arange(len(self)), self.counts)[~np.isfinite(self.weights)]] = False
        return sound

    def take(self, rows: npt.ArrayLike) -> SparseVectors:
        """The texts of these places, in their order."""
        at, offsets = ragged_indices(self.offsets, np.asarray(rows, dtype=np.int64))
        return SparseVectors(offsets, self.columns[at], self.weights[at], self.dimension)

    def capped(self, most: int | None) -> SparseVectors:
        """At most so many active dimensions a text: the largest absolute weights, of equal ones the lower columns."""
        if most is None:
            return self
        if most < 1:
            raise UsageError(f"a sparse vector cannot have {most} active dimensions", hint="1 or more")
        text = np.repeat(np.arange(len(self)), self.counts)
        order = np.lexsort((self.columns, -np.abs(self.weights), text))
        rank = np.arange(len(text)) - np.repeat(self.offsets[:-1], self.counts)
        kept = np.sort(order[rank < most])
        counts = np.minimum(self.counts, most)
        return SparseVectors(offsets_of(counts), self.columns[kept], self.weights[kept], self.dimension)

    def normalised(self) -> SparseVectors:
        """At length 1, for cosine similarity."""
        text = np.repeat(np.arange(len(self)), self.counts)
        squares = np.bincount(text, self.weights.astype(np.float64) ** 2, minlength=len(self))
        lengths: Float64 = np.sqrt(squares)[text]
        return SparseVectors(self.offsets, self.columns, (self.weights / lengths).astype(np.float32), self.dimension)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"SparseVectors({len(self):,} texts of {self.dimension:,} dimensions, {len(self.columns):,} active)"
