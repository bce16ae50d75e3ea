"""Merge many small files of stored vectors into one, so that opening a store stays quick.

No lock is needed. The merged file is whole before its parts are removed; a process that is killed in between leaves
vectors twice, and two processes that merge at a time do the same. Whoever was about to read a part looks again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np

from steelyard.encoders.cache import budget
from steelyard.encoders.cache.vector_file import KEY, DamagedFile, Keys, NotAVectorFile, VectorFile, write_vector_file

MANY = 64
"""Small files that may lie side by side."""
LARGE = 64 * 2**20
"""Bytes of the largest file that merging makes; one of half that size is not small any more."""


def compact(folder: Path, limit: int = 8 * LARGE) -> Path | None:
    """Merge the small files of a store if there are many, the longest unused first; the merged file, or None."""
    large = min(LARGE, limit // 8)  # trimming removes whole files: none may be most of what is stored
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
        with suppress(FileNotFoundError, DamagedFile, NotAVectorFile):  # whoever reads it says so
            segment = VectorFile.open(folder / name)
            if not parts or segment.dimension == parts[0].dimension:
                parts.append(segment)
                taken, newest = taken + size, used
    return _merge(folder, parts, newest) if len(parts) > 1 else None


def _merge(folder: Path, parts: list[VectorFile], used: int) -> Path | None:
    try:
        vectors = np.concatenate([part.vectors() for part in parts])
    except (FileNotFoundError, DamagedFile):  # another process was quicker, or a reader will say what is wrong
        return None
    tables = np.concatenate([part.table for part in parts])
    keys: Keys = np.empty(len(tables), dtype=KEY)
    keys["high"], keys["low"] = tables["high"], tables["low"]
    _, first = np.unique(keys, return_index=True)
    merged = write_vector_file(folder, keys[first], vectors[first])
    with suppress(FileNotFoundError):  # merged again or trimmed by another process, which is as good
        os.utime(merged, ns=(used, used))
        _flush(folder)
    for part in parts:
        if part.path != merged:
            part.path.unlink(missing_ok=True)
    return merged


def _flush(folder: Path) -> None:
    """Have the new name on disk before the old ones go, in case the power fails in between."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
