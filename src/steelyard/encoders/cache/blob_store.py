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
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from steelyard.config import Settings
from steelyard.encoders.cache import budget
from steelyard.encoders.cache.budget import SUFFIX
from steelyard.encoders.cache.key_index import KEY, Keys
from steelyard.encoders.cache.shared_files import SharedFiles
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
KEYED_ENTRY = np.dtype([("high", "<u8"), ("low", "<u8"), ("end", "<u8"), ("crc", "<u4")])
"""The same bytes as `ENTRY`, with the key in two numbers."""

Location = tuple[Path, int, int, int]
"""The location of an encoding: its file, first byte, end and CRC."""


class BlobStore:
    """The stored encodings of one encoder. `problems` lists what could not be read or written, without repeats."""

    def __init__(self, name: str, encoder_settings: ModelSettings, settings: Settings | None = None) -> None:
        settings = settings or Settings.load()
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")
        self.folder = settings.home / budget.FOLDER / f"{slug}-{fingerprint(folder_settings(encoder_settings))}"
        self.problems: list[str] = []
        self.shared = SharedFiles.of(settings.vectors, self.folder.name, _shared_table, self._note)
        """The store that machines share; None without one."""
        self._name, self._settings, self._limit = name, encoder_settings, settings.cache_bytes
        self._locations: dict[bytes, Location] = {}
        self._known: set[str] = set()

    def with_settings(self, encoder_settings: ModelSettings) -> BlobStore:
        """Return the store for the same encoder with other prompts."""
        other = copy(self)
        other._settings = encoder_settings
        return other

    def keys(self, texts: Sequence[str], role: Role) -> list[bytes]:
        """Return the keys of texts in a role."""
        return digests(texts, role, prompt_of(self._settings, role))

    def has(self, keys: Sequence[bytes]) -> npt.NDArray[np.bool_]:
        """Return which of the keys are stored, by the tables of the files; encodings are checked when they are read.

        With a store that machines share, only what is there counts.
        """
        if self.shared is not None:
            return self.shared.has(_key_array(keys))
        self._refresh()
        return np.fromiter((key in self._locations for key in keys), dtype=bool, count=len(keys))

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
        if self.shared is not None:
            self._download(keys, encodings)
        return encodings

    def _download(self, keys: Sequence[bytes], encodings: list[bytes | None]) -> None:
        """Read the encodings that are in the shared store only, and keep their files."""
        assert self.shared is not None
        missing = np.array([row for row, blob in enumerate(encodings) if blob is None], dtype=np.int64)
        for name, content, places, rows in self.shared.files_with(_key_array(keys), missing):
            table = _shared_table(partial(_range, content))
            ends = table["end"].astype(np.int64) + HEADER.size + table.nbytes
            for row, at in zip(places.tolist(), rows.tolist(), strict=True):
                start = HEADER.size + table.nbytes if at == 0 else int(ends[at - 1])
                blob = content[start : int(ends[at])]
                if zlib.crc32(blob) == int(table["crc"][at]):
                    encodings[row] = blob
                else:
                    self._note(f"{self.shared.url}/{name} is damaged: the encoding at byte {start:,} has changed")
            with suppress(OSError):  # a full disk: it is read from the shared store each time
                write_description(self.folder, self._name, self._settings)
                write_atomic(self.folder / name, content)

    def publish(self, keys: Sequence[bytes]) -> None:
        """Copy encodings that are stored here but not in the shared store; without one, do nothing."""
        if self.shared is None or not len(keys):
            return
        absent = [key for key, known in zip(keys, self.shared.has(_key_array(keys)).tolist(), strict=True) if not known]
        pairs = [(key, blob) for key, blob in zip(absent, self.get(absent), strict=True) if blob is not None]
        if pairs:
            name, parts = _blob_file([key for key, _ in pairs], [blob for _, blob in pairs])
            self.shared.upload(name, *parts)

    def put(self, keys: Sequence[bytes], blobs: Sequence[bytes]) -> None:
        """Store encodings by their keys. A failure does not stop the run; it is added to `problems`."""
        if not keys:
            return
        name, parts = _blob_file(keys, blobs)
        if self.shared is not None:
            self.shared.upload(name, *parts)
        try:
            write_description(self.folder, self._name, self._settings)
            write_atomic(self.folder / name, *parts)
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


def _blob_file(keys: Sequence[bytes], blobs: Sequence[bytes]) -> tuple[str, list[bytes]]:
    """Return the name of the file of these encodings and its parts."""
    entries = np.empty(len(keys), dtype=ENTRY)
    entries["key"] = np.frombuffer(b"".join(keys), dtype="V16")
    entries["end"] = np.cumsum([len(blob) for blob in blobs])
    entries["crc"] = [zlib.crc32(blob) for blob in blobs]
    body = entries.tobytes()
    name = hashlib.blake2b(body, digest_size=12).hexdigest() + SUFFIX
    return name, [HEADER.pack(MARK, len(keys), _checksum(body)), body, *blobs]


def _range(content: bytes, start: int, end: int) -> bytes:
    return content[start:end]


def _key_array(keys: Sequence[bytes]) -> Keys:
    return np.frombuffer(b"".join(keys), dtype=KEY)


def _shared_table(read: Callable[[int, int], bytes]) -> npt.NDArray[np.void]:
    """Return the table of a file that is read in ranges of bytes; an empty one for a damaged or foreign file."""
    head = read(0, HEADER.size)
    if len(head) < HEADER.size or not head.startswith(MARK):
        return np.empty(0, dtype=KEYED_ENTRY)
    _, count, checksum = HEADER.unpack(head)
    body = read(HEADER.size, HEADER.size + count * ENTRY.itemsize)
    return np.frombuffer(body if _checksum(body) == checksum else b"", dtype=KEYED_ENTRY)


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
