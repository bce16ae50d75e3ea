"""Encodings of any length that were computed before, by content: token vectors, sparse vectors.

The layout on disk, the promises and the limit of `store` hold here too: files are written whole, renamed and never
changed, so any number of processes may read and add at a time and a crash leaves nothing half-written behind.

A segment: the mark `SYBLOB02`, the count (uint64) and a checksum (uint64) of the table; the table, for each text its
key (16 bytes), where its encoding ends (uint64) and a CRC of it (uint32); then the encodings, one after the other. The
CRC finds an encoding that the disk has damaged: it would be a wrong figure that nobody sees.
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

Place = tuple[Path, int, int, int]
"""Where an encoding is: its file, first byte, last byte and CRC."""


class BlobStore:
    """The stored encodings of one encoder. `problems` says what could not be read or written, each thing once."""

    def __init__(self, name: str, encoder_settings: ModelSettings, settings: Settings | None = None) -> None:
        settings = settings or Settings.load()
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")
        self.folder = settings.home / budget.FOLDER / f"{slug}-{fingerprint(folder_settings(encoder_settings))}"
        self.problems: list[str] = []
        self._name, self._settings, self._limit = name, encoder_settings, settings.cache_bytes
        self._places: dict[bytes, Place] = {}
        self._known: set[str] = set()

    def keys(self, texts: Sequence[str], role: Role) -> list[bytes]:
        """The keys of texts in a role."""
        return digests(texts, role, prompt_of(self._settings, role))

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The encodings under these keys; None where there is none."""
        self._refresh()
        wanted: dict[Path, list[int]] = {}
        for place, key in enumerate(keys):
            if key in self._places:
                wanted.setdefault(self._places[key][0], []).append(place)
        found: list[bytes | None] = [None] * len(keys)
        for path, places in wanted.items():
            try:
                blobs = _read(path, [self._places[keys[place]] for place in places])
            except FileNotFoundError:  # trimmed by another process
                continue
            except DamagedFile as error:
                self._forget(path, error)
            except OSError as error:
                self._note(f"{path} not read: {error.strerror or error}")
            else:
                for place, blob in zip(places, blobs, strict=True):
                    found[place] = blob
        return found

    def put(self, keys: Sequence[bytes], blobs: Sequence[bytes]) -> None:
        """Store encodings under their keys. Where that fails, the work goes on and `problems` says why."""
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
            self._note(f"encodings not stored in {self.folder}: {error.strerror or error}")

    def _refresh(self) -> None:
        """Read the tables of the segments that appeared since the last look."""
        for entry in sorted(budget.entries(self.folder), key=lambda entry: entry.name):
            if entry.name.endswith(SUFFIX) and entry.name not in self._known:
                self._known.add(entry.name)
                path = Path(entry.path)
                try:
                    self._places |= _table(path)
                except FileNotFoundError:  # removed by another process between listing and opening
                    continue
                except DamagedFile as error:
                    self._forget(path, error)
                except (NotAVectorFile, OSError) as error:
                    self._note(f"{path} passed over: {error}")

    def _forget(self, path: Path, damage: DamagedFile) -> None:
        """Remove a damaged file, so that its texts are encoded and stored again, maybe under the same name."""
        self._note(remove_damaged(path, damage))
        self._places = {key: place for key, place in self._places.items() if place[0] != path}
        if not path.exists():
            self._known.discard(path.name)

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def _table(path: Path) -> dict[bytes, Place]:
    """Where the encodings of a file are, by key."""
    with path.open("rb") as file:
        head = file.read(HEADER.size)
        if len(head) < HEADER.size or not head.startswith(MARK):
            raise NotAVectorFile("not a file of encodings of this version")
        _, count, checksum = HEADER.unpack(head)
        size, start = os.fstat(file.fileno()).st_size, HEADER.size + count * ENTRY.itemsize
        body = file.read(count * ENTRY.itemsize) if start <= size else b""  # a changed count may be any number
    if not body or _checksum(body) != checksum:
        raise DamagedFile("its table was changed")
    entries = np.frombuffer(body, dtype=ENTRY)
    ends = (entries["end"] + start).tolist()
    if size != ends[-1]:
        raise DamagedFile(f"{size:,} bytes where {ends[-1]:,} were written")
    crcs = entries["crc"].tolist()
    places = zip([start, *ends[:-1]], ends, crcs, strict=True)
    return {bytes(key): (path, *place) for key, place in zip(entries["key"].tolist(), places, strict=True)}


def _read(path: Path, places: Sequence[Place]) -> list[bytes]:
    """The encodings at some places of a file."""
    blobs = []
    with path.open("rb") as file:
        with suppress(OSError):  # a store that may only be read is still a store
            os.utime(file.fileno())  # used now: trimming removes others first
        for _, start, end, crc in places:
            file.seek(start)
            blobs.append(file.read(end - start))
            if zlib.crc32(blobs[-1]) != crc:
                raise DamagedFile(f"the encoding at byte {start:,} was changed")
    return blobs


def _checksum(body: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(body, digest_size=8).digest(), "little")
