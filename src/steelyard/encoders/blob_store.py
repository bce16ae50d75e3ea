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
from pathlib import Path

import numpy as np

from steelyard import config
from steelyard.encoders import budget
from steelyard.encoders.budget import SUFFIX
from steelyard.encoders.store import describe, digests, fingerprint, of_folder, prompt_of
from steelyard.files import write_whole
from steelyard.protocols import Settings
from steelyard.types import Role

MARK = b"SYBLOB02"
HEADER = struct.Struct("<8sQQ")
ENTRY = np.dtype([("key", "V16"), ("end", "<u8"), ("crc", "<u4")])


class BlobStore:
    """The stored encodings of one encoder. `problems` says what could not be read or written."""

    def __init__(self, name: str, settings: Settings, home: Path | None = None) -> None:
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")
        self.folder = (home or config.home()) / budget.FOLDER / f"{slug}-{fingerprint(of_folder(settings))}"
        self.problems: list[str] = []
        self._name, self._settings = name, settings
        self._places: dict[bytes, tuple[Path, int, int, int]] = {}
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
                with path.open("rb") as file:
                    os.utime(file.fileno())  # used now: trimming removes others first
                    for place in places:
                        _, start, end, crc = self._places[keys[place]]
                        file.seek(start)
                        blob = file.read(end - start)
                        if zlib.crc32(blob) == crc:
                            found[place] = blob
                        else:
                            self.problems.append(f"{path}: the encoding at byte {start} is damaged, and made again")
            except FileNotFoundError:  # trimmed by another process
                continue
            except OSError as error:
                self.problems.append(f"{path} not read: {error.strerror or error}")
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
            describe(self.folder, self._name, self._settings)
            write_whole(self.folder / name, HEADER.pack(MARK, len(keys), _checksum(body)), body, *blobs)
            budget.enforce(self.folder.parent)
        except OSError as error:
            self.problems.append(f"encodings not stored in {self.folder}: {error.strerror or error}")

    def _refresh(self) -> None:
        """Read the tables of the segments that appeared since the last look."""
        if not self.folder.is_dir():
            return
        for entry in sorted(os.scandir(self.folder), key=lambda entry: entry.name):
            if entry.name.endswith(SUFFIX) and entry.name not in self._known:
                self._known.add(entry.name)
                try:
                    self._open(Path(entry.path))
                except OSError as error:
                    self.problems.append(f"{entry.path} passed over: {error.strerror or error}")

    def _open(self, path: Path) -> None:
        with path.open("rb") as file:
            head = file.read(HEADER.size)
            mark, count, checksum = HEADER.unpack(head) if len(head) == HEADER.size else (b"", 0, 0)
            body = file.read(count * ENTRY.itemsize) if mark == MARK else b""
            size = os.fstat(file.fileno()).st_size
        start = HEADER.size + len(body)
        entries = np.frombuffer(body, dtype=ENTRY) if len(body) == count * ENTRY.itemsize else np.empty(0, ENTRY)
        if not len(entries) or _checksum(body) != checksum or size != start + int(entries["end"][-1]):
            self.problems.append(f"{path} passed over: not a whole file of encodings")
            return
        ends = entries["end"].tolist()
        for key, begin, end, crc in zip(
            entries["key"].tolist(), [0, *ends[:-1]], ends, entries["crc"].tolist(), strict=True
        ):
            self._places[bytes(key)] = (path, start + begin, start + end, crc)


def _checksum(body: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(body, digest_size=8).digest(), "little")
