"""Matrices that are larger than memory: memory-mapped files, searched block by block.

A mapped matrix is a numpy array like any other. What was read is released after each block, so a search holds one block
in memory, not the matrix. Blocks are those of a search in memory, so the scores are the same to the last bit.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.types import Float32
from steelyard.vectors.duplicate_rows import DuplicateRows
from steelyard.vectors.similarity import Similarity

Allocate = Callable[[tuple[int, int]], Float32]
"""Returns a new float32 matrix of some shape."""
BLOCK_ROWS = 16_384
CACHED_BLOCK = 1 << 16
"""Values that are changed at a time: 256 KB."""
MAPPED = "mapped"
"""The folder below `home` of indexes that are larger than memory."""


def allocator(folder: Path, limit: int) -> Allocate:
    """Return a function that allocates matrices of at most `limit` bytes in memory, and larger ones in a file.

    The file is in `folder`, has no name, and is gone with the array or the process, however that ends.
    """

    def allocate(shape: tuple[int, int]) -> Float32:
        size = shape[0] * shape[1] * np.dtype(np.float32).itemsize
        if size <= limit:
            return np.empty(shape, dtype=np.float32)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):  # a full disk is an error here, not a signal later
                os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, dtype=np.float32, mode="r+", shape=shape)

    return allocate


def is_mapped(array: npt.NDArray[Any]) -> bool:
    """Return whether an array is a file, or a view of one."""
    return _mapping(array) is not None


def release(array: npt.NDArray[Any]) -> None:
    """Drop the memory of a mapped array, or of a view of one; the file keeps its content. Does nothing for others."""
    mapping = _mapping(array)
    if mapping is None or not array.size or not hasattr(mapping, "madvise"):
        return
    base = np.frombuffer(mapping, dtype=np.uint8).ctypes.data
    page = mmap.PAGESIZE
    first = (array.ctypes.data - base) // page * page
    last = min(len(mapping), array.ctypes.data - base + array.nbytes)
    mapping.madvise(mmap.MADV_DONTNEED, first, last - first)


def _mapping(array: Any) -> mmap.mmap | None:
    while array is not None:
        if isinstance(array, mmap.mmap):
            return array
        array = getattr(array, "base", None)
    return None


def in_blocks(change: Callable[[Float32], Float32], matrix: Float32) -> Float32:
    """Return the matrix with every row changed, in place: a block stays in the processor's cache meanwhile."""
    step = max(1, CACHED_BLOCK // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), step):
        block = matrix[start : start + step]
        block[:] = change(block)
        release(block)
    return matrix


def take_rows(matrix: Float32, rows: npt.NDArray[np.int64], allocate: Allocate) -> Float32:
    """Return rows of a matrix in a new one, block by block."""
    taken = allocate((len(rows), matrix.shape[1]))
    for start in range(0, len(rows), BLOCK_ROWS):
        np.take(matrix, rows[start : start + BLOCK_ROWS], axis=0, out=taken[start : start + BLOCK_ROWS], mode="clip")
        release(matrix)
        release(taken[start : start + BLOCK_ROWS])
    return taken


@dataclass(frozen=True, eq=False)
class ShardedMatrix:
    """Vectors in several .npy files, one after the other, as `topk.search` reads them.

    >>> import tempfile
    >>> from steelyard.vectors.topk import search
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [Path(folder) / f"{number}.npy" for number in range(2)]
    ...     for number, path in enumerate(paths):
    ...         np.save(path, np.eye(2, dtype=np.float32) + number)
    ...     search(np.array([[0, 1]], dtype=np.float32), ShardedMatrix.open(paths), 2).rows.tolist()
    [[3, 1]]
    """

    shards: tuple[Float32, ...]
    starts: npt.NDArray[np.int64]

    @classmethod
    def open(cls, paths: Sequence[str | Path]) -> ShardedMatrix:
        """Map files of float32 matrices of one width; nothing is read yet."""
        shards = tuple(np.load(path, mmap_mode="r", allow_pickle=False) for path in paths)
        for path, shard in zip(paths, shards, strict=True):
            if shard.ndim != 2 or shard.dtype != np.float32 or shard.shape[1] != shards[0].shape[1]:
                raise DataError.invalid(
                    "a shard of vectors",
                    expected=f"a float32 matrix of {shards[0].shape[-1]} columns",
                    found=f"{shard.dtype} of shape {shard.shape}",
                    path=path,
                )
        return cls(shards, np.cumsum([0, *map(len, shards)]))

    def __len__(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def duplicates(self) -> DuplicateRows:
        """Rows that equal an earlier one, in any shard."""
        return DuplicateRows.find_in_blocks([shard for shard in self.shards if len(shard)], BLOCK_ROWS, release)

    def block(self, start: int, stop: int) -> Float32:
        """Return some rows; those of several shards are copied together."""
        first, last = np.searchsorted(self.starts, [start, stop - 1], side="right") - 1
        parts = [
            self.shards[shard][max(0, start - int(self.starts[shard])) : stop - int(self.starts[shard])]
            for shard in range(int(first), int(last) + 1)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def compare(self, queries: Float32, start: int, out: Float32, similarity: Similarity) -> None:
        """Compare with one block, then drop its memory."""
        block = self.block(start, start + out.shape[1])
        similarity.block(queries, block, out)
        release(block)
