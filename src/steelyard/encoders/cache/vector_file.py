"""A file of stored vectors: written completely under another name, flushed, renamed, and never changed afterwards.

Contents, little-endian: the mark `SYVEC002`, the dimension and the count (uint32), a checksum of the table (uint64);
the table with a key of 16 bytes and a checksum of the vector (uint32) for each text, in the order of the keys; then the
vectors (float32). The checksums detect a vector that the disk has damaged, which would silently change a score.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from steelyard.encoders.cache.budget import SUFFIX
from steelyard.encoders.cache.key_index import Keys
from steelyard.files import write_atomic
from steelyard.types import Float32, Int64

MARK = b"SYVEC002"
HEADER = struct.Struct("<8sIIQ")
ENTRY = np.dtype([("high", "<u8"), ("low", "<u8"), ("sum", "<u4")])
FEW = 16
"""If fewer than one in so many vectors are needed, they are read one by one; otherwise the whole file is read."""


class NotAVectorFile(Exception):
    """The file was not written by this version, or has another dimension."""


class DamagedFile(Exception):
    """The file has changed since it was written."""


@dataclass(frozen=True, eq=False)
class VectorFile:
    """The table of a file; the vectors stay on disk until they are read."""

    path: Path
    dimension: int
    table: npt.NDArray[np.void]

    @classmethod
    def open(cls, path: Path) -> VectorFile:
        """Read and check the table of a file."""
        with path.open("rb") as file:
            head = file.read(HEADER.size)
            if len(head) < HEADER.size or not head.startswith(MARK):
                raise NotAVectorFile("not a vector file of this version")
            _, dimension, count, checksum = HEADER.unpack(head)
            size = os.fstat(file.fileno()).st_size
            if size != HEADER.size + count * (ENTRY.itemsize + 4 * dimension):
                raise DamagedFile(f"{size:,} bytes are not {count:,} vectors of {dimension:,} dimensions")
            table = file.read(count * ENTRY.itemsize)
        if _checksum(table) != checksum:
            raise DamagedFile("its table has changed")
        return cls(path, dimension, np.frombuffer(table, dtype=ENTRY))

    def vectors(self, rows: Int64 | None = None) -> Float32:
        """The vectors of these rows, or of all; a file that is gone is a FileNotFoundError, a changed one Damaged.

        Reading marks the file as used, so that trimming removes others first.
        """
        few = rows is not None and len(rows) * FEW < len(self.table)
        width, start = 4 * self.dimension, HEADER.size + self.table.nbytes
        with self.path.open("rb") as file:
            with suppress(OSError):  # a read-only store can still be read
                os.utime(file.fileno())
            if rows is not None and few:
                data = b"".join(os.pread(file.fileno(), width, start + row * width) for row in rows.tolist())
            else:
                file.seek(start)
                data = file.read()
        table = self.table[rows] if few else self.table
        if len(data) != len(table) * width:
            raise DamagedFile("it is truncated")
        matrix = np.frombuffer(data, dtype="<f4").reshape(len(table), self.dimension)
        if (row_checksums(matrix) != table["sum"]).any():
            raise DamagedFile("a vector in it has changed")
        return matrix if rows is None or few else matrix[rows]


def vector_file(keys: Keys, vectors: Float32) -> tuple[str, list[bytes | memoryview]]:
    """Return the name of the file of these vectors, which is a hash of the keys, and its parts."""
    order = np.lexsort((keys["low"], keys["high"]))
    matrix = np.ascontiguousarray(vectors[order], dtype="<f4")
    table = np.empty(len(order), dtype=ENTRY)
    table["high"], table["low"], table["sum"] = keys["high"][order], keys["low"][order], row_checksums(matrix)
    body = table.tobytes()
    name = hashlib.blake2b(keys[["high", "low"]][order].tobytes(), digest_size=12).hexdigest() + SUFFIX
    return name, [HEADER.pack(MARK, matrix.shape[1], len(table), _checksum(body)), body, matrix.data]


def write_vector_file(folder: Path, keys: Keys, vectors: Float32) -> Path:
    """Store vectors by their keys, in a file named after the keys; a failure leaves no file."""
    name, parts = vector_file(keys, vectors)
    write_atomic(folder / name, *parts)
    return folder / name


def read_table(read: Callable[[int, int], bytes]) -> npt.NDArray[np.void]:
    """Return the table of a file that is read in ranges of bytes; an empty one for a damaged or foreign file."""
    head = read(0, HEADER.size)
    if len(head) < HEADER.size or not head.startswith(MARK):
        return np.empty(0, dtype=ENTRY)
    _, _, count, checksum = HEADER.unpack(head)
    table = read(HEADER.size, HEADER.size + count * ENTRY.itemsize)
    return np.frombuffer(table if _checksum(table) == checksum else b"", dtype=ENTRY)


def parse_vectors(content: bytes, dimension: int) -> Float32:
    """Return the vectors of the content of a file, checked."""
    head = HEADER.size
    table = read_table(lambda start, end: content[start:end])
    if not len(table) or HEADER.unpack(content[:head])[1] != dimension:
        raise NotAVectorFile(f"not a file of vectors of {dimension} dimensions")
    data = content[head + table.nbytes :]
    if len(data) != len(table) * 4 * dimension:
        raise DamagedFile("it is truncated")
    matrix = np.frombuffer(data, dtype="<f4").reshape(len(table), dimension)
    if (row_checksums(matrix) != table["sum"]).any():
        raise DamagedFile("a vector in it has changed")
    return matrix


def row_checksums(matrix: Float32) -> npt.NDArray[np.uint32]:
    """Return a checksum of each vector that changes with any one of its numbers.

    >>> zero, one = np.zeros((1, 3), np.float32), np.eye(1, 3, dtype=np.float32)
    >>> bool(row_checksums(zero) == row_checksums(one)), bool(row_checksums(one) == row_checksums(one[:, ::-1].copy()))
    (False, False)
    """
    odd = np.arange(1, matrix.shape[1] + 1, dtype=np.uint32) * np.uint32(2654435761) | np.uint32(1)
    return np.asarray(np.einsum("ij,j->i", matrix.view("<u4"), odd), dtype=np.uint32)


def _checksum(body: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(body, digest_size=8).digest(), "little")
