"""Files that are there whole or not at all, whatever happens to the process that writes them.

The content goes to a hidden file in the same folder, to disk, and then takes its name in one step. The writer holds
a lock on the hidden file, which the system lets go when the process dies: so what a killed run left behind can be
told from what a living one is still writing, also when many runs share the folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows: leftovers are told by their age
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".tmp"
OLD = 3600.0
"""Seconds after which a hidden file counts as left behind where there are no locks."""


def write_whole(path: Path, *parts: bytes | memoryview) -> None:
    """Put the parts, one after the other, under that name, in place of what was there.

    The folder is made if need be. An OSError leaves nothing behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while not _try_to_write(path, parts):
        pass


def remember(path: Path, facts: Mapping[str, Any]) -> None:
    """Keep facts that can be found out again as a JSON file; where nothing can be written, they are not kept."""
    with contextlib.suppress(OSError):
        write_whole(path, json.dumps(facts).encode() + b"\n")


def remembered(path: Path) -> dict[str, Any]:
    """The facts that were kept; none where there are none, or what is there is not whole."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def remove_leftovers(folder: Path) -> int:
    """Remove what killed writers left anywhere in the folder, where it may be removed; how many files that were."""
    files = (Path(inside, name) for inside, _, names in os.walk(folder) for name in names)
    return sum(_remove_if_abandoned(path) for path in files if path.match(f".*{SUFFIX}"))


def _try_to_write(path: Path, parts: tuple[bytes | memoryview, ...]) -> bool:
    """False in the rare case that a cleaner took the new file for a leftover before it was locked."""
    temporary = path.with_name(f".{path.name[:80]}.{secrets.token_hex(6)}{SUFFIX}")
    with temporary.open("xb") as file:
        try:
            if fcntl:
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(file, fcntl.LOCK_EX)
                if os.fstat(file.fileno()).st_nlink == 0:
                    return False
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)
        finally:  # after a failure; once it has its name, there is nothing left to remove
            temporary.unlink(missing_ok=True)
    return True


def _remove_if_abandoned(path: Path) -> bool:
    with contextlib.suppress(OSError), path.open("rb") as file:
        if not _abandoned(file):
            return False
        path.unlink()
        return True
    return False


def _abandoned(file: BinaryIO) -> bool:
    if fcntl:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: its age must tell
            pass
        else:
            return True
    return time.time() - os.fstat(file.fileno()).st_mtime > OLD
