"""The cache of encodings of variable length, by content: token vectors, sparse vectors.

Files are written completely, renamed and never changed, as in `vector_store`: any number of processes may read and add
at the same time, and a crash leaves no partial file.

A file has the mark `SYBLOB02`, the count (uint64) and a checksum (uint64) of the table; the table with the key of each
text (16 bytes), the end of its encoding (uint64) and a CRC of it (uint32); then the encodings. The CRC detects an
encoding that the disk has damaged, which would silently change a score.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.cache import budget
from steelyard.encoders.cache.budget import SUFFIX
from steelyard.encoders.cache.vector_file import DamagedFile, NotAVectorFile
from steelyard.encoders.cache.vector_store import (
    digests,
    fingerprint,
    folder_settings,
    prompt_of,
    remove_damaged,
    write_description,
)
from steelyard.files import write_atomic
from steelyard.types import Role
from steelyard.types.protocols import ModelSettings

MARK = b"SYBLOB02"
HEADER = struct.Struct("<8sQQ")
ENTRY = np.dtype([("key", "V16"), ("end", "<u8"), ("crc", "<u4")])

Location = tuple[Path, int, int, int]
"""The location of an encoding: its file, first byte, end and CRC."""


class BlobStore:
    """The stored encodings of one encoder. `problems` lists what could not be read or written, without repeats."""

    def __init__(self, name: str, encoder_settings: ModelSettings, settings: Settings | None = None) -> None:
        settings = settings or Settings.load()
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")
        self.folder = settings.home / budget.FOLDER / f"{slug}-{fingerprint(folder_settings(encoder_settings))}"
        self.problems: list[str] = []
        self._name, self._settings, self._limit = name, encoder_settings, settings.cache_bytes
        self._locations: dict[bytes, Location] = {}
        self._known: set[str] = set()

    def keys(self, texts: Sequence[str], role: Role) -> list[bytes]:
        """Return the keys of texts in a role."""
        return digests(texts, role, prompt_of(self._settings, role))

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the encodings of these keys; None for one that is not stored."""
        self._refresh()
        rows_of: dict[Path, list[int]] = {}
        for row, key in enumerate(keys):
            if key in self._locations:
                rows_of.setdefault(self._locations[key][0], []).append(row)
        encodings: list[bytes | None] = [None] * len(keys)
        for path, rows in rows_of.items():
            try:
                blobs = _read(path, [self._locations[keys[row]] for row in rows])
            except FileNotFoundError:  # trimmed by another process
                continue
            except DamagedFile as error:
                self._forget(path, error)
            except OSError as error:
                self._note(f"{path} could not be read: {error.strerror or error}")
            else:
                for row, blob in zip(rows, blobs, strict=True):
                    encodings[row] = blob
        return encodings

    def put(self, keys: Sequence[bytes], blobs: Sequence[bytes]) -> None:
        """Store encodings by their keys. A failure does not stop the run; it is added to `problems`."""
        if not keys:
            return
        entries = np.empty(len(keys), dtype=ENTRY)
        entries["key"] = np.frombuffer(b"".join(keys), dtype="V16")
        entries["end"] = np.cumsum([len(blob) for blob in blobs])
        entries["crc"] = [zlib.crc32(blob) for blob in blobs]
        body = entries.tobytes()
        digest = hashlib.blake2b(body, digest_size=12)
        name = digest.hexdigest() + SUFFIX
        try:
            write_description(self.folder, self._name, self._settings)
            write_atomic(self.folder / name, HEADER.pack(MARK, len(keys), _checksum(body)), body, *blobs)
            budget.trim(self.folder.parent, self._limit)
        except OSError as error:
            self._note(f"encodings could not be stored in {self.folder}: {error.strerror or error}")

    def _refresh(self) -> None:
        """Read the tables of the files that appeared since the last call."""
        for entry in sorted(budget.entries(self.folder), key=lambda entry: entry.name):
            if entry.name.endswith(SUFFIX) and entry.name not in self._known:
                self._known.add(entry.name)
                path = Path(entry.path)
                try:
                    self._locations |= _table(path)
                except FileNotFoundError:  # removed by another process between listing and opening
                    continue
                except DamagedFile as error:
                    self._forget(path, error)
                except (NotAVectorFile, OSError) as error:
                    self._note(f"{path} was skipped: {error}")

    def _forget(self, path: Path, damage: DamagedFile) -> None:
        """Remove a damaged file, so that its texts are encoded and stored again."""
        self._note(remove_damaged(path, damage))
        self._locations = {key: location for key, location in self._locations.items() if location[0] != path}
        if not path.exists():
            self._known.discard(path.name)

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def _table(path: Path) -> dict[bytes, Location]:
    """Return the locations of the encodings of a file, by key."""
    with path.open("rb") as file:
        head = file.read(HEADER.size)
        if len(head) < HEADER.size or not head.startswith(MARK):
            raise NotAVectorFile("not a cache file of this version")
        _, count, checksum = HEADER.unpack(head)
        size, start = os.fstat(file.fileno()).st_size, HEADER.size + count * ENTRY.itemsize
        body = file.read(count * ENTRY.itemsize) if start <= size else b""  # a damaged count may be any number
    if not body or _checksum(body) != checksum:
        raise DamagedFile("its table has changed")
    entries = np.frombuffer(body, dtype=ENTRY)
    ends = (entries["end"] + start).tolist()
    if size != ends[-1]:
        raise DamagedFile(f"it has {size:,} bytes, expected {ends[-1]:,}")
    crcs = entries["crc"].tolist()
    spans = zip([start, *ends[:-1]], ends, crcs, strict=True)
    return {bytes(key): (path, *span) for key, span in zip(entries["key"].tolist(), spans, strict=True)}


def _read(path: Path, locations: Sequence[Location]) -> list[bytes]:
    """Return the encodings at some locations of a file."""
    blobs = []
    with path.open("rb") as file:
        with suppress(OSError):  # a read-only store can still be read
            os.utime(file.fileno())  # used now: trimming removes others first
        for _, start, end, crc in locations:
            file.seek(start)
            blobs.append(file.read(end - start))
            if zlib.crc32(blobs[-1]) != crc:
                raise DamagedFile(f"the encoding at byte {start:,} has changed")
    return blobs


def _checksum(body: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(body, digest_size=8).digest(), "little")
