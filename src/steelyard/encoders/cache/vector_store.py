"""The cache of vectors, by content: a text that an encoder has seen is not encoded again.

Under `<home>/vectors` each encoder has a folder named after a hash of its settings, with files that are written
completely under another name, flushed, renamed and never changed. So any number of processes may read and add at the
same time, and a crash leaves no partial file. Many small files are merged into one; the least recently used files are
removed when the limit is reached (`budget`).

Merging needs no lock. The merged file is complete before its parts are removed; a process that is killed in between, or
two processes that merge at the same time, leave vectors twice. A reader that misses a part repeats the look-up.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from steelyard.config import Settings
from steelyard.encoders.cache import budget
from steelyard.encoders.cache.batch_plan import keys_in_batches
from steelyard.encoders.cache.key_index import KEY, KeyIndex, Keys
from steelyard.encoders.cache.shared_files import SharedFiles
from steelyard.encoders.cache.vector_file import (
    DamagedFile,
    NotAVectorFile,
    VectorFile,
    parse_vectors,
    read_table,
    vector_file,
    write_vector_file,
)
from steelyard.files import write_atomic
from steelyard.types import Float32, Role
from steelyard.types.protocols import Encoder, ModelSettings

__all__ = ["DESCRIPTION_FILE", "KEY", "Keys", "VectorStore", "fingerprint", "keys_of"]

DESCRIPTION_FILE = "encoder.json"
ATTEMPTS = 4
"""How often a look-up is repeated because files were removed meanwhile; what is then missing is encoded."""
SLUG = 100


def fingerprint(settings: ModelSettings) -> str:
    """Return a hash of everything that could change a vector.

    >>> fingerprint({"a": 1, "b": None}) == fingerprint({"b": None, "a": 1})
    True
    """
    text = json.dumps(settings, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def folder_settings(settings: ModelSettings) -> ModelSettings:
    """Return the settings that name a folder: all but the prompts, which are part of the keys (`digests`).

    So another prompt for queries does not change the documents.

    >>> dict(folder_settings({"encoder": "e5", "prompts": {"query": "query: "}}))
    {'encoder': 'e5'}
    """
    return {name: value for name, value in settings.items() if name != "prompts"}


def described(encoder: Encoder) -> ModelSettings:
    """Return what names the folder of an encoder: its settings, and the version of its computation if it has one."""
    settings, computation = folder_settings(encoder.settings), getattr(encoder, "computation", 0)
    return {**settings, "computation": computation} if computation else settings


def prompt_of(settings: ModelSettings, role: Role) -> str:
    """Return the prompt of a role in the settings."""
    prompts = settings.get("prompts")
    return (prompts.get(role) or "") if isinstance(prompts, Mapping) else ""


def digests(texts: Sequence[str], role: str, prompt: str = "") -> list[bytes]:
    """Return the keys of texts with a role and a prompt, 16 bytes each; an empty role means any role."""
    person, key = role.encode(), hashlib.blake2b(prompt.encode(), digest_size=32).digest() if prompt else b""
    empty = hashlib.blake2b(digest_size=16, person=person, key=key)  # a copy costs half as much as a new one
    keys = []
    for text in texts:
        one = empty.copy()
        one.update(text.encode("utf-8", "surrogatepass"))
        keys.append(one.digest())
    return keys


def keys_of(texts: Sequence[str], role: str, prompt: str = "") -> Keys:
    """Return `digests` in an array.

    >>> keys_of(["a"], "query") == keys_of(["a"], "document"), keys_of(["a"], "") == keys_of(["a"], "", "query: ")
    (array([False]), array([False]))
    """
    return np.frombuffer(b"".join(digests(texts, role, prompt)), dtype=KEY)


def write_description(folder: Path, name: str, settings: ModelSettings) -> None:
    """Write a file into the folder that names its encoder and settings, once."""
    description = folder / DESCRIPTION_FILE
    if not description.exists():
        text = json.dumps({"name": name, "settings": dict(folder_settings(settings))}, indent=2)
        write_atomic(description, text.encode() + b"\n")


def remove_damaged(path: Path, damage: DamagedFile) -> str:
    """Remove a damaged file, so that its texts are encoded again; return a note about it."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        return f"{path} is damaged ({damage}) and cannot be removed: {error.strerror or error}"
    return f"{path} was damaged and has been removed: {damage}"


class VectorStore:
    """The stored vectors of one encoder. `problems` lists what could not be read or written, without repeats."""

    def __init__(self, encoder: Encoder, settings: Settings | None = None) -> None:
        settings = settings or Settings.load()
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", encoder.name)[:SLUG]
        self._described = described(encoder)
        self.folder = settings.home / budget.FOLDER / f"{name}-{fingerprint(self._described)}"
        self.problems: list[str] = []
        self.shared = SharedFiles.of(settings.vectors, self.folder.name, read_table, self._note)
        """The store that machines share; None without one."""
        self._limit = settings.cache_bytes
        self._encoder = encoder
        self._symmetric = encoder.settings.get("symmetric") is True
        self._segments: dict[str, VectorFile | None] = {}
        self._index: KeyIndex[VectorFile] = KeyIndex([])

    def keys(self, texts: Sequence[str], role: Role) -> Keys:
        """Return the keys of distinct texts, by prompt and role; a symmetric encoder ignores the role.

        If a vector depends on the batch, so does its key: the texts are then all those that are encoded together.
        """
        keys = keys_of(texts, "" if self._symmetric else role, prompt_of(self._encoder.settings, role))
        return keys_in_batches(keys, texts) if getattr(self._encoder, "fixed_batches", False) else keys

    def has(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return which of the keys are stored, by the tables of the files; vectors are checked when they are read.

        With a store that machines share, only what is there counts.
        """
        if self.shared is not None:
            return self.shared.has(keys)
        self._refresh()
        stored = np.zeros(len(keys), dtype=bool)
        for _, places, _ in self._index.locate(keys, np.arange(len(keys))):
            stored[places] = True
        return stored

    def get(self, keys: Keys) -> tuple[npt.NDArray[np.bool_], Float32]:
        """Return which of the keys are stored, and a matrix of vectors; rows that are not stored are undefined."""
        vectors = np.empty((len(keys), self._encoder.dimension), dtype=np.float32)
        return self.read(keys, vectors), vectors

    def read(self, keys: Keys, vectors: Float32) -> npt.NDArray[np.bool_]:
        """Fill the rows of a matrix whose keys are stored, and return which these are."""
        stored = np.zeros(len(keys), dtype=bool)
        for _ in range(ATTEMPTS):
            self._refresh()
            if self._read(keys, stored, vectors):
                break
        if self.shared is not None:
            self._download(keys, stored, vectors)
        return stored

    def _download(self, keys: Keys, stored: npt.NDArray[np.bool_], vectors: Float32) -> None:
        """Read the vectors that are in the shared store only, and keep their files."""
        assert self.shared is not None
        for name, content, places, rows in self.shared.files_with(keys, np.flatnonzero(~stored)):
            try:
                vectors[places] = parse_vectors(content, self._encoder.dimension)[rows]
            except (DamagedFile, NotAVectorFile) as error:
                self._note(f"{self.shared.url}/{name} skipped: {error}")
                continue
            stored[places] = True
            with suppress(OSError):  # a full disk: it is read from the shared store each time
                write_description(self.folder, self._encoder.name, self._described)
                write_atomic(self.folder / name, content)

    def publish(self, keys: Keys) -> None:
        """Copy vectors that are stored here but not in the shared store; without one, do nothing."""
        if self.shared is None:
            return
        keys = keys[~self.shared.has(keys)]
        stored, vectors = self.get(keys)
        if stored.any():
            name, parts = vector_file(keys[stored], vectors[stored])
            self.shared.upload(name, *parts)

    def put(self, keys: Keys, vectors: Float32) -> None:
        """Store vectors by their keys. A failure does not stop the run; it is added to `problems`."""
        if not len(keys):
            return
        name, parts = vector_file(keys, vectors)
        if self.shared is not None:
            self.shared.upload(name, *parts)
        try:
            write_description(self.folder, self._encoder.name, self._described)
            write_atomic(self.folder / name, *parts)
            self._segments.pop(name, None)  # a skipped file of that name is replaced
        except OSError as error:
            self._note(f"vectors could not be stored in {self.folder}: {error.strerror or error}")
            return
        try:
            compact(self.folder, self._limit)
            budget.trim(self.folder.parent, self._limit)
        except OSError as error:
            self._note(f"stored vectors could not be trimmed in {self.folder.parent}: {error.strerror or error}")

    def _read(self, keys: Keys, stored: npt.NDArray[np.bool_], vectors: Float32) -> bool:
        """Read the vectors of keys not yet read; return False if a file was removed or damaged meanwhile."""
        complete = True
        for segment, places, rows in self._index.locate(keys, np.flatnonzero(~stored)):
            try:
                vectors[places] = segment.vectors(rows)
                stored[places] = True
            except FileNotFoundError:  # trimmed or merged with others
                complete = False
            except DamagedFile as error:
                self._note(remove_damaged(segment.path, error))
                self._use({**self._segments, segment.path.name: None})
                complete = False
            except OSError as error:
                self._note(f"{segment.path} skipped: {error.strerror or error}")
        return complete

    def _refresh(self) -> None:
        """Update the list of files, including those of other processes."""
        try:
            names = sorted(e.name for e in budget.entries(self.folder) if e.name.endswith(budget.SUFFIX))
        except OSError as error:
            self._note(f"{self.folder} cannot be read: {error.strerror or error}")
            names = []
        if names != list(self._segments):
            self._use({n: self._segments[n] if n in self._segments else self._open(n) for n in names})

    def _use(self, segments: dict[str, VectorFile | None]) -> None:
        """Use these files; None marks one to skip while it exists, because a new file may get its name."""
        self._segments = {n: segment for n, segment in segments.items() if segment or (self.folder / n).exists()}
        self._index = KeyIndex([segment for segment in self._segments.values() if segment is not None])

    def _open(self, name: str) -> VectorFile | None:
        path = self.folder / name
        try:
            segment = VectorFile.open(path)
        except FileNotFoundError:  # removed by another process between listing and opening
            return None
        except DamagedFile as error:
            self._note(remove_damaged(path, error))
            return None
        except (NotAVectorFile, OSError) as error:
            self._note(f"{path} skipped: {error}")
            return None
        if segment.dimension != self._encoder.dimension:
            self._note(f"{path} skipped: {segment.dimension} dimensions, expected {self._encoder.dimension}")
            return None
        return segment

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


MANY = 64
"""The most small files in a folder."""
LARGE = 64 * 2**20
"""Bytes of the largest merged file; a file of more than half that size is not small."""


def compact(folder: Path, limit: int = 8 * LARGE) -> Path | None:
    """Merge the small files of a store if there are many, least recently used first; return the merged file or None."""
    large = min(LARGE, limit // 8)  # trimming removes whole files, so none may be most of the cache
    small = []
    for entry in budget.entries(folder):
        if entry.name.endswith(budget.SUFFIX):
            with suppress(FileNotFoundError):
                stat = entry.stat()
                if stat.st_size <= large // 2:
                    small.append((stat.st_mtime_ns, entry.name, stat.st_size))
    if len(small) <= MANY:
        return None
    parts: list[VectorFile] = []
    taken = newest = 0
    for used, name, size in sorted(small):
        if taken + size > large:
            break
        with suppress(FileNotFoundError, DamagedFile, NotAVectorFile):  # the reader reports it
            segment = VectorFile.open(folder / name)
            if not parts or segment.dimension == parts[0].dimension:
                parts.append(segment)
                taken, newest = taken + size, used
    return _merge(folder, parts, newest) if len(parts) > 1 else None


def _merge(folder: Path, parts: list[VectorFile], used: int) -> Path | None:
    try:
        vectors = np.concatenate([part.vectors() for part in parts])
    except (FileNotFoundError, DamagedFile):  # merged by another process, or reported by the reader
        return None
    tables = np.concatenate([part.table for part in parts])
    keys: Keys = np.empty(len(tables), dtype=KEY)
    keys["high"], keys["low"] = tables["high"], tables["low"]
    _, first = np.unique(keys, return_index=True)
    merged = write_vector_file(folder, keys[first], vectors[first])
    with suppress(FileNotFoundError):  # merged again or trimmed by another process
        os.utime(merged, ns=(used, used))
        _flush(folder)
    for part in parts:
        if part.path != merged:
            part.path.unlink(missing_ok=True)
    return merged


def _flush(folder: Path) -> None:
    """Flush the new name to disk before the old files are removed, in case of a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
