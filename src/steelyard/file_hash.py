"""Hashes of files, remembered: a model or a source of many gigabytes is read once for its hash, not at every start."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from steelyard.files import remember, remembered

FOLDER = "hashes"
SMALL = 1 << 20
"""Smaller files are hashed in less time than it takes to look up what was remembered."""


def file_hash(path: Path, home: Path) -> bytes:
    """The BLAKE2b digest of a file's contents.

    That of a large file is remembered under the home folder, and holds while path, size, times and place on the disk
    are the same. Where nothing can be remembered, the file is read again.
    """
    path = path.resolve()
    stat = path.stat()
    if stat.st_size < SMALL:
        return _computed(path)
    # An archive gives a file the time it had when it was packed, which may be that of the file it replaces. No program
    # sets the time of the last change of the file's record (ctime), and another file has another number.
    times = [stat.st_mtime_ns, stat.st_ctime_ns]
    seen = {"path": str(path), "size": stat.st_size, "changed": times, "file": stat.st_ino}
    name = hashlib.blake2b(str(path).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    record = home / FOLDER / f"{name}.json"
    kept = remembered(record)
    if {name: kept.get(name) for name in seen} == seen and isinstance(known := kept.get("digest"), str):
        with suppress(ValueError):  # not whole: the file is read again
            return bytes.fromhex(known)
    digest = _computed(path)
    remember(record, {**seen, "digest": digest.hex()})
    return digest


def _computed(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").digest()
