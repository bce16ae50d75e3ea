"""The disk space of stored encodings, and what is removed first.

STEELYARD_CACHE_BYTES   the most bytes that stored encodings may take, such as 500MB or 20GB (default 10GB; 0: none)
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard.files import TEMPORARY

VARIABLE = "STEELYARD_CACHE_BYTES"
FOLDER = "vectors"
SUFFIX = ".vectors"
ENCODER_FOLDER = re.compile(r".*-[0-9a-f]{16}", re.DOTALL)
"""The name of an encoder's folder: its name and a hash of its settings."""
CACHE_FILE = re.compile(r"[0-9a-f]{24}" + re.escape(SUFFIX))
"""The name of a file of encodings: a hash of its keys."""
ABANDONED_SECONDS = 3600.0
"""The age after which a temporary file was left by a killed process: writing one takes a moment."""


@dataclass(frozen=True)
class Trimmed:
    """What trimming removed, and how many bytes are left."""

    files: int
    freed: int
    left: int


def trim(folder: Path, limit: int) -> Trimmed:
    """Remove files until at most `limit` bytes are left, least recently used first; and abandoned temporary files.

    Only files that the cache writes are removed, by their names; links are not followed. A process that reads a
    removed file continues to read it; one that opens it later encodes the texts again.
    """
    files, abandoned = [], []
    for path, stat in _files(folder):
        if CACHE_FILE.fullmatch(path.name):
            files.append((stat.st_mtime_ns, path.name, stat.st_size, path))
        elif TEMPORARY.fullmatch(path.name) and time.time() - stat.st_mtime > ABANDONED_SECONDS:
            abandoned.append((stat.st_size, path))
    left = sum(size for _, _, size, _ in files)
    removed = freed = 0
    for size, path in abandoned:
        path.unlink(missing_ok=True)
        removed, freed = removed + 1, freed + size
    for _, _, size, path in sorted(files):
        if left <= limit:
            break
        path.unlink(missing_ok=True)
        removed, freed, left = removed + 1, freed + size, left - size
    return Trimmed(removed, freed, left)


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Return the regular files in the folders of all encoders; one that is removed meanwhile is skipped."""
    for encoder in entries(folder):
        if encoder.is_dir(follow_symlinks=False) and ENCODER_FOLDER.fullmatch(encoder.name):
            for entry in entries(encoder.path):
                with suppress(FileNotFoundError):
                    if entry.is_file(follow_symlinks=False):
                        yield Path(entry.path), entry.stat(follow_symlinks=False)


def entries(folder: str | Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder; none if it was removed by another process."""
    try:
        return list(os.scandir(folder))
    except FileNotFoundError:
        return []
