"""Quantisation: vectors in fewer bytes, and how such codes are compared with a query.

Every precision is a class of one shape: `of` encodes the vectors of a corpus, `prepare_queries` prepares queries, and
the inner product of what `prepare_queries` and `decode_block` return is the score. Codes are converted to float32 a few
at a time for the matrix product, which is the fastest way and exact for integers up to 2**24.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from steelyard.types import Float32
from steelyard.vectors.duplicate_rows import DuplicateRows
from steelyard.vectors.similarity import Similarity
from steelyard.vectors.threads import single_threaded_blas
from steelyard.vectors.topk import Documents, Matrix

SAMPLE = 10_000
"""The most vectors that int8 is calibrated on."""
SEED = 0
CHUNK = 512
"""Vectors encoded and compared at a time, so that they fit into the processor's cache."""
LEVELS = 255
LOWEST = -128


class Codes(Documents, Protocol):
    """The vectors of a corpus in some precision."""

    limit: ClassVar[int | None]
    """The longest list, for definitions with a limit."""

    @classmethod
    def of(cls, vectors: Float32) -> Self:
        """Encode the vectors of a corpus."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory of the codes, in bytes."""
        ...

    @property
    def bytes_per_vector(self) -> int:
        """The bytes of one vector."""
        ...

    def prepare_queries(self, queries: Float32) -> Float32:
        """Return the queries as they are compared with the codes."""
        ...

    def decode(self) -> Float32:
        """Return the vectors that the codes represent."""
        ...


class Float32Codes(Matrix):
    """float32: unchanged vectors, 4 bytes per dimension."""

    limit: ClassVar[int | None] = None

    @classmethod
    def of(cls, vectors: Float32) -> Self:
        """Return the same vectors."""
        return cls(vectors)

    @property
    def nbytes(self) -> int:
        """4 bytes per dimension."""
        return self.vectors.nbytes

    @property
    def bytes_per_vector(self) -> int:
        """4 bytes per dimension."""
        return int(self.vectors.shape[1]) * self.vectors.itemsize

    def prepare_queries(self, queries: Float32) -> Float32:
        """Return them unchanged."""
        return queries

    def decode(self) -> Float32:
        """Return them unchanged."""
        return self.vectors


@dataclass(frozen=True, eq=False)
class _CodeMatrix:
    """A matrix of codes, converted to float32 a few at a time."""

    codes: npt.NDArray[Any]

    limit: ClassVar[int | None] = None

    @property
    def nbytes(self) -> int:
        """The bytes of the codes."""
        return self.codes.nbytes

    @property
    def bytes_per_vector(self) -> int:
        """The bytes of one row of codes."""
        return int(self.codes.shape[1]) * self.codes.itemsize

    @cached_property
    def duplicates(self) -> DuplicateRows:
        """Documents with equal codes, which get equal scores."""
        return DuplicateRows.find(self.codes)

    def __len__(self) -> int:
        return len(self.codes)

    def compare(self, queries: Float32, start: int, out: Float32, similarity: Similarity) -> None:
        """Write the scores of documents from row `start` on, a few at a time."""
        for at in range(0, out.shape[1], CHUNK):
            few = out[:, at : at + CHUNK]
            similarity.block(queries, self.decode_block(start + at, start + at + few.shape[1]), few)

    def decode_block(self, start: int, stop: int) -> Float32:
        """Return the codes of some rows as float32, as queries are compared with them."""
        return self.codes[start:stop].astype(np.float32)

    def decode(self) -> Float32:
        """Return the vectors that the codes represent, as queries are compared with them."""
        return self.decode_block(0, len(self))


class Float16Codes(_CodeMatrix):
    """float16: numbers rounded to 11 significant bits, 2 bytes per dimension. Queries stay float32.

    >>> Float16Codes.of(np.array([[0.1, 70000]], dtype=np.float32)).codes.tolist()
    [[0.0999755859375, 65504.0]]
    """

    @classmethod
    def of(cls, vectors: Float32) -> Self:
        """Round to the nearest float16; larger values become the greatest float16."""
        largest = np.finfo(np.float16).max
        return cls(np.clip(vectors, -largest, largest).astype(np.float16))

    def prepare_queries(self, queries: Float32) -> Float32:
        """Return them unchanged."""
        return queries


@dataclass(frozen=True, eq=False)
class Int8Codes(_CodeMatrix):
    """int8: 256 levels per dimension, from the least to the greatest value of a sample of the corpus; 1 byte each.

    A code `c` represents `lowest + (c + 128) * step`. The score is the inner product of the float query with the vector
    that the codes represent. Values outside the sample's range are clipped; `clipped` is their share.

    >>> codes = Int8Codes.of(np.array([[0.0, 5], [510, 5], [201, 5]], dtype=np.float32))
    >>> codes.codes.tolist(), codes.decode().tolist()
    ([[-128, -128], [127, -128], [-28, -128]], [[0.0, 5.0], [510.0, 5.0], [200.0, 5.0]])
    """

    lowest: Float32
    step: Float32
    clipped: float = 0.0
    """The share of numbers outside the range."""

    @classmethod
    def of(cls, vectors: Float32, sample: int | None = None) -> Self:
        """Calibrate on `sample` vectors drawn with a fixed seed (or all, if there are no more), then encode all."""
        sample = SAMPLE if sample is None else sample
        drawn = vectors
        if len(vectors) > sample:
            drawn = vectors[np.sort(np.random.default_rng(SEED).choice(len(vectors), sample, replace=False))]
        lowest, step = _range(drawn)
        codes = np.empty(vectors.shape, dtype=np.int8)
        clipped = 0
        for start in range(0, len(vectors), CHUNK):
            levels = vectors[start : start + CHUNK] - lowest
            levels /= step
            np.rint(levels, out=levels)
            if drawn is not vectors:  # without a sample nothing is outside
                clipped += int(((levels < 0) | (levels > LEVELS)).sum())
                np.clip(levels, 0, LEVELS, out=levels)
            levels += np.float32(LOWEST)
            codes[start : start + CHUNK] = levels
        return cls(codes, lowest, step, clipped / max(1, codes.size))

    @property
    def nbytes(self) -> int:
        """The bytes of the codes, and of two numbers per dimension."""
        return self.codes.nbytes + self.lowest.nbytes + self.step.nbytes

    def decode(self) -> Float32:
        """Return the vectors that the codes represent."""
        return (self.codes.astype(np.float32) - np.float32(LOWEST)) * self.step + self.lowest

    def prepare_queries(self, queries: Float32) -> Float32:
        """Multiply the query by the steps, and add a column with the score of code 0 in every dimension."""
        with single_threaded_blas():  # its bits do not depend on the number of threads
            offset = queries @ (self.lowest - np.float32(LOWEST) * self.step)
        return np.concatenate([queries * self.step, offset[:, None]], axis=1)

    def decode_block(self, start: int, stop: int) -> Float32:
        """Return the codes, and a column of ones for the last column of `prepare_queries`."""
        codes = self.codes[start:stop]
        numbers = np.ones((len(codes), codes.shape[1] + 1), dtype=np.float32)
        numbers[:, :-1] = codes
        return numbers


class Int8DistanceCodes(Int8Codes):
    """int8 for a distance: the same codes, compared as the vectors that they represent."""

    def prepare_queries(self, queries: Float32) -> Float32:
        """Return them unchanged."""
        return queries

    def decode_block(self, start: int, stop: int) -> Float32:
        """Return the vectors that the codes represent."""
        numbers = _CodeMatrix.decode_block(self, start, stop)
        numbers *= self.step
        numbers += self.lowest - np.float32(LOWEST) * self.step
        return numbers


@dataclass(frozen=True, eq=False)
class BinaryCodes(_CodeMatrix):
    """binary: one bit per dimension, whether the number is above 0; queries too.

    The score is `dimensions - 2 * Hamming distance`: the inner product of the signs, an integer.

    >>> codes = BinaryCodes.of(np.array([[1, -1, 0.5], [-1, 0, 2]], dtype=np.float32))
    >>> codes.codes.tolist(), codes.decode_block(0, 2).tolist()
    ([[160], [32]], [[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
    """

    dimension: int

    @classmethod
    def of(cls, vectors: Float32) -> Self:
        """Return the sign bits; zero counts as negative."""
        return cls(np.packbits(vectors > 0, axis=1), vectors.shape[1])

    @cached_property
    def duplicates(self) -> DuplicateRows:
        """Integer sums are exact, so equal codes get equal scores."""
        return DuplicateRows.none()

    def prepare_queries(self, queries: Float32) -> Float32:
        """Return 1 and -1."""
        return np.where(queries > 0, np.float32(1), np.float32(-1))

    def decode_block(self, start: int, stop: int) -> Float32:
        """Return 1 and -1, from the bits."""
        bits = np.unpackbits(self.codes[start:stop], axis=1, count=self.dimension).view(np.int8)
        bits <<= 1
        bits -= 1
        return bits.astype(np.float32)


@dataclass(frozen=True, eq=False)
class HakariInt8Codes(_CodeMatrix):
    """int8@hakari: affine codes of both sides over the range of the whole corpus, compared directly.

    HAKARI-Bench's definition, which ignores that steps differ between dimensions and that code 0 does not represent 0.
    It is another similarity, for reproducing its tables. Vectors are normalised first; lists end at 100.
    """

    lowest: Float32
    step: Float32

    limit: ClassVar[int | None] = 100

    @classmethod
    def of(cls, vectors: Float32) -> Self:
        """Use the ranges of all vectors; codes are truncated, not rounded."""
        lowest, step = _range(vectors)
        return cls(_raw(vectors, lowest, step).astype(np.int8), lowest, step)

    def prepare_queries(self, queries: Float32) -> Float32:
        """Return the codes of the queries, over the ranges of the corpus."""
        return _raw(queries, self.lowest, self.step)


class HakariBinaryCodes(BinaryCodes):
    """binary@hakari: the same bits, with lists that end at 100."""

    limit: ClassVar[int | None] = 100


def _range(vectors: Float32) -> tuple[Float32, Float32]:
    """Return the least value of each dimension, and the step between its 256 levels; 1 where all are equal."""
    if not len(vectors):
        width = vectors.shape[1]
        return np.zeros(width, dtype=np.float32), np.ones(width, dtype=np.float32)
    lowest = vectors.min(axis=0)
    step = (vectors.max(axis=0) - lowest) / np.float32(LEVELS)
    return lowest, np.where(step > 0, step, np.float32(1))


def _raw(vectors: Float32, lowest: Float32, step: Float32) -> Float32:
    levels: Float32 = (vectors - lowest) / step + np.float32(LOWEST)
    return np.trunc(np.clip(levels, LOWEST, LOWEST + LEVELS))
