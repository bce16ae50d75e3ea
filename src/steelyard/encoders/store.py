"""Vectors that were computed before, by content: a text that an encoder has seen is never encoded again.

Under `<home>/vectors` each encoder has a folder named after a hash of its settings. In it lie segments: files that
are written whole under another name, flushed and then renamed, and never changed. So any number of processes may
read and add at a time, a crash leaves nothing half-written behind, and a file that is not whole is passed over.

A segment: the mark `SYVEC001`, then as little-endian numbers the dimension and the count (uint32), a checksum of the
keys (uint64); then the keys (16 bytes each), then the vectors (float32).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard import config
from steelyard.encoders import budget
from steelyard.protocols import Encoder, Settings
from steelyard.types import Float32, Int64, Role

MARK = b"SYVEC001"
HEADER = struct.Struct("<8sIIQ")
SUFFIX = ".vectors"
KEY = np.dtype([("high", "<u8"), ("low", "<u8")])
Keys = npt.NDArray[np.void]


def fingerprint(settings: Settings) -> str:
    """A hash of everything that could change a vector.

    >>> fingerprint({"a": 1, "b": None}) == fingerprint({"b": None, "a": 1})
    True
    """
    text = json.dumps(settings, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def keys_of(texts: Sequence[str], role: str) -> Keys:
    """The 128-bit keys of texts in a role; an empty role stands for an encoder that treats roles alike.

    >>> keys_of(["a"], "query") == keys_of(["a"], "document")
    array([False])
    """
    person = role.encode()
    digests = (
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=person).digest() for text in texts
    )
    return np.frombuffer(b"".join(digests), dtype=KEY)


class VectorStore:
    """The stored vectors of one encoder. `problems` says what could not be read or written."""

    def __init__(self, encoder: Encoder, home: Path | None = None) -> None:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", encoder.name)
        self.folder = (home or config.home()) / budget.FOLDER / f"{name}-{fingerprint(encoder.settings)}"
        self.problems: list[str] = []
        self._encoder = encoder
        self._symmetric = encoder.settings.get("symmetric") is True
        self._segments: list[Float32] = []
        self._files: dict[str, int] = {}
        self._high: npt.NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._low: npt.NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._place: Int64 = np.empty((0, 2), dtype=np.int64)

    def keys(self, texts: Sequence[str], role: Role) -> Keys:
        """The keys of texts: the role counts, unless the encoder's settings say that it is symmetric."""
        return keys_of(texts, "" if self._symmetric else role)

    def get(self, keys: Keys) -> tuple[npt.NDArray[np.bool_], Float32]:
        """Which of the keys are stored, and a matrix with their vectors; the other rows hold nothing of use."""
        self._refresh()
        vectors = np.empty((len(keys), self._encoder.dimension), dtype=np.float32)
        if not len(self._high):
            return np.zeros(len(keys), dtype=bool), vectors
        at = np.minimum(np.searchsorted(self._high, keys["high"]), len(self._high) - 1)
        found = (self._high[at] == keys["high"]) & (self._low[at] == keys["low"])
        place = self._place[at]
        for segment in np.unique(place[found, 0]):
            here = found & (place[:, 0] == segment)
            vectors[here] = self._segments[segment][place[here, 1]]
        self._touch(np.unique(place[found, 0]))
        return found, vectors

    def put(self, keys: Keys, vectors: Float32) -> None:
        """Store vectors under their keys. Where that fails, the work goes on and `problems` says why."""
        if not len(keys):
            return
        order = np.argsort(keys["high"], kind="stable")
        body = np.ascontiguousarray(keys[order]).tobytes()
        head = HEADER.pack(MARK, vectors.shape[1], len(keys), _checksum(body))
        name = hashlib.blake2b(body, digest_size=12).hexdigest() + SUFFIX
        temporary = self.folder / f".{name}.{os.getpid()}.{secrets.token_hex(4)}"
        try:
            self._make_folder()
            with temporary.open("wb") as file:
                file.write(head + body)
                file.write(np.ascontiguousarray(vectors[order], dtype="<f4").data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.folder / name)
            budget.enforce(self.folder.parent)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            self.problems.append(f"vectors not stored in {self.folder}: {error.strerror or error}")

    def _make_folder(self) -> None:
        described = self.folder / "encoder.json"
        if not described.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = described.with_name(f".encoder.{os.getpid()}.{secrets.token_hex(4)}")
            text = json.dumps({"name": self._encoder.name, "settings": dict(self._encoder.settings)}, indent=2)
            temporary.write_text(text + "\n", encoding="utf-8")
            temporary.replace(described)

    def _refresh(self) -> None:
        """Open the segments that appeared since the last look, ours and those of other processes."""
        try:
            names = sorted(entry.name for entry in os.scandir(self.folder) if entry.name.endswith(SUFFIX))
        except FileNotFoundError:  # nothing was stored yet
            return
        except OSError as error:
            self.problems.append(f"{self.folder} cannot be read: {error.strerror or error}")
            return
        new = [name for name in names if name not in self._files]
        parts = [(name, *opened) for name in new if (opened := self._open(name)) is not None]
        if not parts:
            return
        keys = [part_keys for _, part_keys, _ in parts]
        places = []
        for name, part_keys, vectors in parts:
            self._files[name] = len(self._segments)
            rows = np.arange(len(part_keys))
            places.append(np.stack([np.full_like(rows, len(self._segments)), rows], axis=1))
            self._segments.append(vectors)
        high = np.concatenate([self._high, *(part["high"] for part in keys)])
        order = np.argsort(high, kind="stable")
        self._high = high[order]
        self._low = np.concatenate([self._low, *(part["low"] for part in keys)])[order]
        self._place = np.concatenate([self._place, *places])[order]

    def _open(self, name: str) -> tuple[Keys, Float32] | None:
        path = self.folder / name
        self._files[name] = -1
        try:
            with path.open("rb") as file:
                head = file.read(HEADER.size)
                mark, dimension, count, checksum = HEADER.unpack(head) if len(head) == HEADER.size else (b"", 0, 0, 0)
                body = file.read(count * KEY.itemsize) if mark == MARK else b""
            size = HEADER.size + count * (KEY.itemsize + 4 * dimension)
            whole = mark == MARK and path.stat().st_size == size and _checksum(body) == checksum
            if not whole or dimension != self._encoder.dimension:
                self.problems.append(f"{path} passed over: not a whole file of {self._encoder.dimension} dimensions")
                return None
            start = HEADER.size + len(body)
            vectors: Any = np.memmap(path, dtype="<f4", mode="r", offset=start, shape=(count, dimension))
        except OSError as error:  # removed by another process between listing and opening, or not readable
            self.problems.append(f"{path} passed over: {error.strerror or error}")
            return None
        return np.frombuffer(body, dtype=KEY), vectors

    def _touch(self, segments: npt.NDArray[np.int64]) -> None:
        """Mark segments as used, so that trimming removes others first."""
        names = {segment: name for name, segment in self._files.items()}
        for segment in segments.tolist():
            try:
                os.utime(self.folder / names[segment])
            except OSError as error:
                self.problems.append(f"{self.folder / names[segment]} not marked as used: {error.strerror or error}")


def _checksum(body: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(body, digest_size=8).digest(), "little")
