"""Merge many small files of stored vectors into one, so that opening a store stays fast.

No lock is needed. The merged file is complete before its parts are removed; a process that is killed in between, or two
processes that merge at the same time, leave vectors twice. A reader that misses a part repeats the look-up.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np

from steelyard.encoders.cache import budget
from steelyard.encoders.cache.key_index import KEY, Keys
from steelyard.encoders.cache.vector_file import DamagedFile, NotAVectorFile, VectorFile, write_vector_file

MANY = 64
"""The most small files in a folder."""
LARGE = 64 * 2**20
"""Bytes of the largest merged file; a file of more than half that size is not small."""


def compact(folder: Path, limit: int = 8 * LARGE) -> Path | None:
    """Merge the small files of a store if there are many, least recently used first; return the merged file or None."""
    large = min(LARGE, limit // 8)  # trimming removes whole files, so none may be most of the cache
    small = []
    for entry in budget.entries(folder):
        if entry.name.endswith(budget.SUFFIX):
            with suppress(FileNotFoundError):
                stat = entry.stat()
                if stat.st_size <= large // 2:
                    small.append((stat.st_mtime_ns, entry.name, stat.st_size))
    if len(small) <= MANY:
        return None
    parts: list[VectorFile] = []
    taken = newest = 0
    for used, name, size in sorted(small):
        if taken + size > large:
            break
        with suppress(FileNotFoundError, DamagedFile, NotAVectorFile):  # the reader reports it
            segment = VectorFile.open(folder / name)
            if not parts or segment.dimension == parts[0].dimension:
                parts.append(segment)
                taken, newest = taken + size, used
    return _merge(folder, parts, newest) if len(parts) > 1 else None


def _merge(folder: Path, parts: list[VectorFile], used: int) -> Path | None:
    try:
        vectors = np.concatenate([part.vectors() for part in parts])
    except (FileNotFoundError, DamagedFile):  # merged by another process, or reported by the reader
        return None
    tables = np.concatenate([part.table for part in parts])
    keys: Keys = np.empty(len(tables), dtype=KEY)
    keys["high"], keys["low"] = tables["high"], tables["low"]
    _, first = np.unique(keys, return_index=True)
    merged = write_vector_file(folder, keys[first], vectors[first])
    with suppress(FileNotFoundError):  # merged again or trimmed by another process
        os.utime(merged, ns=(used, used))
        _flush(folder)
    for part in parts:
        if part.path != merged:
            part.path.unlink(missing_ok=True)
    return merged


def _flush(folder: Path) -> None:
    """Flush the new name to disk before the old files are removed, in case of a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
