"""Hashes of files, remembered: a model of many gigabytes is read once for its hash, not at every start."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from steelyard import config

FOLDER = "hashes"
Seen = dict[str, str | int]
"""What a remembered hash holds for."""
SMALL = 1 << 20
"""Smaller files are hashed in less time than it takes to look up what was remembered."""


def file_hash(path: Path) -> bytes:
    """The BLAKE2b digest of a file's contents.

    That of a large file is remembered under the home folder, and holds while path, size and time of change are the
    same. Where nothing can be remembered, the file is read again.
    """
    path = path.resolve()
    stat = path.stat()
    if stat.st_size < SMALL:
        return _computed(path)
    seen: Seen = {"path": str(path), "size": stat.st_size, "changed": stat.st_mtime_ns}
    name = hashlib.blake2b(str(path).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    record = config.home() / FOLDER / f"{name}.json"
    if (known := _remembered(record, seen)) is not None:
        return known
    digest = _computed(path)
    _remember(record, {**seen, "digest": digest.hex()})
    return digest


def _computed(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").digest()


def _remembered(record: Path, seen: Seen) -> bytes | None:
    try:
        stored = json.loads(record.read_text(encoding="utf-8"))
        digest = bytes.fromhex(stored.pop("digest"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # not there or not whole: the file is read again
    return digest if stored == seen else None


def _remember(record: Path, stored: Seen) -> None:
    temporary = record.with_name(f".{record.name}.{os.getpid()}")
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(stored) + "\n", encoding="utf-8")
        temporary.replace(record)
    except OSError:  # a home that cannot be written to: the store of vectors says so
        with suppress(OSError):
            temporary.unlink()
