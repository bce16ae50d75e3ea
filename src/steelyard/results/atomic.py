"""Files that are there whole or not at all, whatever happens to the process that writes them.

The content goes to a hidden file in the same folder, to disk, and then takes its name in one step. The writer holds
a lock on the hidden file, which the system lets go when the process dies: so what a killed run left behind can be
told from what a living one is still writing, also when many runs share the folder.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from pathlib import Path
from typing import BinaryIO

from steelyard.errors import ResultError

try:
    import fcntl
except ImportError:  # Windows: leftovers are told by their age
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".tmp"
_OLD = 3600.0


def write_whole(path: Path, content: bytes) -> None:
    """Put the content under that name, in place of what was there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while not _try_to_write(path, content):
            pass
    except OSError as error:
        raise ResultError(
            f"cannot write {path}: {error.strerror}", hint="choose another folder with --output, or free space"
        ) from error


def _try_to_write(path: Path, content: bytes) -> bool:
    """False in the rare case that a cleaner took the new file for a leftover before it was locked."""
    temporary = path.with_name(f".{path.name[:80]}.{secrets.token_hex(6)}{SUFFIX}")
    with temporary.open("xb") as file:
        try:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX)
                if os.fstat(file.fileno()).st_nlink == 0:
                    return False
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)
        finally:  # after a failure; once it has its name, there is nothing left to remove
            temporary.unlink(missing_ok=True)
    return True


def remove_leftovers(folder: Path) -> int:
    """Remove what killed writers left anywhere in the folder; how many files that were."""
    return sum(_remove_if_abandoned(path) for path in folder.rglob(f".*{SUFFIX}"))


def _remove_if_abandoned(path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        if not _abandoned(file):
            return False
        path.unlink()
        return True
    return False


def _abandoned(file: BinaryIO) -> bool:
    if not fcntl:
        return time.time() - os.fstat(file.fileno()).st_mtime > _OLD
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
