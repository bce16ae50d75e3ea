"""How much disk the stored vectors may take, and what is removed first.

STEELYARD_CACHE_BYTES   the most that stored vectors may take, such as 500MB or 20GB   (default 10GB; 0: store none)
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "STEELYARD_CACHE_BYTES"
FOLDER = "vectors"
SUFFIX = ".vectors"
ABANDONED = 3600.0
"""Seconds after which a file in the making has lost its writer: writing one takes a moment."""


@dataclass(frozen=True)
class Trimmed:
    """What trimming removed, and what is left."""

    files: int
    freed: int
    left: int


def trim(folder: Path, most: int) -> Trimmed:
    """Remove files until at most `most` bytes are left, the longest unused first; and what killed writers left.

    A process that reads a removed file goes on reading it; one that looks for it later encodes the texts again.
    """
    files, abandoned = [], []
    for path, stat in _files(folder):
        if path.name.endswith(SUFFIX):
            files.append((stat.st_mtime_ns, path.name, stat.st_size, path))
        elif path.name.startswith(".") and time.time() - stat.st_mtime > ABANDONED:
            abandoned.append((stat.st_size, path))
    left = sum(size for _, _, size, _ in files)
    removed = freed = 0
    for size, path in abandoned:
        path.unlink(missing_ok=True)
        removed, freed = removed + 1, freed + size
    for _, _, size, path in sorted(files):
        if left <= most:
            break
        path.unlink(missing_ok=True)
        removed, freed, left = removed + 1, freed + size, left - size
    return Trimmed(removed, freed, left)


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The files of all encoders; one that goes away meanwhile is passed over."""
    for encoder in entries(folder):
        for entry in entries(encoder.path) if encoder.is_dir() else []:
            with suppress(FileNotFoundError):
                yield Path(entry.path), entry.stat()


def entries(folder: str | Path) -> list[os.DirEntry[str]]:
    """What lies in a folder; nothing, where it is gone: other processes store, merge and remove at the same time."""
    try:
        return list(os.scandir(folder))
    except FileNotFoundError:
        return []
