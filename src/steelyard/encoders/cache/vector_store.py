"""Vectors that were computed before, by content: a text that an encoder has seen is never encoded again.

Under `<home>/vectors` each encoder has a folder named after a hash of its settings. In it lie segments: files that
are written whole under another name, flushed and then renamed, and never changed. So any number of processes may
read and add at a time, a crash leaves nothing half-written behind, and a file that is not whole is passed over. Many
small segments are merged into one; the longest unused go when the limit is reached (`budget`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from steelyard.config import Settings
from steelyard.encoders.cache import budget, compaction
from steelyard.encoders.cache.vector_file import KEY, DamagedFile, Keys, NotAVectorFile, VectorFile, write_vector_file
from steelyard.files import write_atomic
from steelyard.types import Float32, Int64, Role
from steelyard.types.protocols import Encoder, ModelSettings

__all__ = ["DESCRIPTION_FILE", "KEY", "Keys", "VectorStore", "fingerprint", "keys_of"]

DESCRIPTION_FILE = "encoder.json"
ATTEMPTS = 4
"""How often a look-up starts again because files went away meanwhile; what is not found then is encoded."""
SLUG = 100


def fingerprint(settings: ModelSettings) -> str:
    """A hash of everything that could change a vector.

    >>> fingerprint({"a": 1, "b": None}) == fingerprint({"b": None, "a": 1})
    True
    """
    text = json.dumps(settings, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def folder_settings(settings: ModelSettings) -> ModelSettings:
    """What a folder is named after: all but the prompts, each of which is part of its texts' keys (`digests`).

    So another prompt for queries leaves the documents where they are.

    >>> dict(folder_settings({"encoder": "e5", "prompts": {"query": "query: "}}))
    {'encoder': 'e5'}
    """
    return {name: value for name, value in settings.items() if name != "prompts"}


def prompt_of(settings: ModelSettings, role: Role) -> str:
    """What the settings put in front of a text in that role."""
    prompts = settings.get("prompts")
    return (prompts.get(role) or "") if isinstance(prompts, Mapping) else ""


def digests(texts: Sequence[str], role: str, prompt: str = "") -> list[bytes]:
    """The keys of texts in a role and behind a prompt, 16 bytes each; an empty role is that of any text."""
    person, key = role.encode(), hashlib.blake2b(prompt.encode(), digest_size=32).digest() if prompt else b""
    encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
    return [hashlib.blake2b(text, digest_size=16, person=person, key=key).digest() for text in encoded]


def keys_of(texts: Sequence[str], role: str, prompt: str = "") -> Keys:
    """`digests`, in an array.

    >>> keys_of(["a"], "query") == keys_of(["a"], "document"), keys_of(["a"], "") == keys_of(["a"], "", "query: ")
    (array([False]), array([False]))
    """
    return np.frombuffer(b"".join(digests(texts, role, prompt)), dtype=KEY)


def write_description(folder: Path, name: str, settings: ModelSettings) -> None:
    """Say, in the folder itself, whose encodings lie in it; once."""
    described = folder / DESCRIPTION_FILE
    if not described.exists():
        text = json.dumps({"name": name, "settings": dict(folder_settings(settings))}, indent=2)
        write_atomic(described, text.encode() + b"\n")


def remove_damaged(path: Path, damage: DamagedFile) -> str:
    """Remove a file that is of no use to anyone, so that its texts are encoded again, and say so."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        return f"{path} is damaged ({damage}) and cannot be removed: {error.strerror or error}"
    return f"{path} was damaged and is removed: {damage}"


class VectorStore:
    """The stored vectors of one encoder. `problems` says what could not be read or written, each thing once."""

    def __init__(self, encoder: Encoder, settings: Settings | None = None) -> None:
        settings = settings or Settings.load()
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", encoder.name)[:SLUG]
        self.folder = settings.home / budget.FOLDER / f"{name}-{fingerprint(folder_settings(encoder.settings))}"
        self.problems: list[str] = []
        self._limit = settings.cache_bytes
        self._encoder = encoder
        self._symmetric = encoder.settings.get("symmetric") is True
        self._segments: dict[str, VectorFile | None] = {}
        self._index = _Index([])

    def keys(self, texts: Sequence[str], role: Role) -> Keys:
        """The keys of texts: the prompt counts, and the role, unless the encoder's settings say it is symmetric."""
        return keys_of(texts, "" if self._symmetric else role, prompt_of(self._encoder.settings, role))

    def get(self, keys: Keys) -> tuple[npt.NDArray[np.bool_], Float32]:
        """Which of the keys are stored, and a matrix with their vectors; the other rows hold nothing of use."""
        found = np.zeros(len(keys), dtype=bool)
        vectors = np.empty((len(keys), self._encoder.dimension), dtype=np.float32)
        for _ in range(ATTEMPTS):
            self._refresh()
            if self._read(keys, found, vectors):
                break
        return found, vectors

    def put(self, keys: Keys, vectors: Float32) -> None:
        """Store vectors under their keys. Where that fails, the work goes on and `problems` says why."""
        if not len(keys):
            return
        try:
            write_description(self.folder, self._encoder.name, self._encoder.settings)
            written = write_vector_file(self.folder, keys, vectors)
            self._segments.pop(written.name, None)  # what was passed over under that name is replaced
        except OSError as error:
            self._note(f"vectors not stored in {self.folder}: {error.strerror or error}")
            return
        try:
            compaction.compact(self.folder, self._limit)
            budget.trim(self.folder.parent, self._limit)
        except OSError as error:
            self._note(f"stored vectors not tidied in {self.folder.parent}: {error.strerror or error}")

    def _read(self, keys: Keys, found: npt.NDArray[np.bool_], vectors: Float32) -> bool:
        """Fill in what is stored of the keys not yet found; False if a file went away or was damaged meanwhile."""
        steady = True
        for segment, wanted, rows in self._index.places(keys, np.flatnonzero(~found)):
            try:
                vectors[wanted] = segment.vectors(rows)
                found[wanted] = True
            except FileNotFoundError:  # trimmed, or merged with others
                steady = False
            except DamagedFile as error:
                self._note(remove_damaged(segment.path, error))
                self._know({**self._segments, segment.path.name: None})
                steady = False
            except OSError as error:
                self._note(f"{segment.path} passed over: {error.strerror or error}")
        return steady

    def _refresh(self) -> None:
        """Learn which segments came and went since the last look, ours and those of other processes."""
        try:
            names = sorted(e.name for e in budget.entries(self.folder) if e.name.endswith(budget.SUFFIX))
        except OSError as error:
            self._note(f"{self.folder} cannot be read: {error.strerror or error}")
            names = []
        if names != list(self._segments):
            self._know({n: self._segments[n] if n in self._segments else self._open(n) for n in names})

    def _know(self, segments: dict[str, VectorFile | None]) -> None:
        """Take up these files; None is one to pass over, unless it is gone: a new one may come under its name."""
        self._segments = {n: segment for n, segment in segments.items() if segment or (self.folder / n).exists()}
        self._index = _Index.of(self._segments)

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
            self._note(f"{path} passed over: {error}")
            return None
        if segment.dimension != self._encoder.dimension:
            self._note(f"{path} passed over: {segment.dimension} dimensions, expected {self._encoder.dimension}")
            return None
        return segment

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


class _Index:
    """The keys of many segments in one order, and where each of them is."""

    def __init__(self, segments: list[VectorFile]) -> None:
        self._segments = segments
        tables = [segment.table for segment in segments]
        high = np.concatenate([np.empty(0, np.uint64), *(table["high"] for table in tables)])
        order = np.argsort(high, kind="stable")
        self._high = high[order]
        self._low = np.concatenate([np.empty(0, np.uint64), *(table["low"] for table in tables)])[order]
        self._starts = np.cumsum([0, *map(len, tables)])
        self._place: Int64 = order

    @classmethod
    def of(cls, segments: Mapping[str, VectorFile | None]) -> _Index:
        """The index of those that can be read."""
        return cls([segment for segment in segments.values() if segment is not None])

    def places(self, keys: Keys, wanted: Int64) -> list[tuple[VectorFile, Int64, Int64]]:
        """For each segment that holds some of the wanted keys: the segment, which keys, and their rows in it."""
        if not len(self._high) or not len(wanted):
            return []
        high, low = keys["high"][wanted], keys["low"][wanted]
        at = np.minimum(np.searchsorted(self._high, high), len(self._high) - 1)
        held = (self._high[at] == high) & (self._low[at] == low)
        wanted, place = wanted[held], self._place[at[held]]
        if not len(wanted):
            return []
        owner = np.searchsorted(self._starts, place, side="right") - 1
        order = np.argsort(owner, kind="stable")
        owners, begins = np.unique(owner[order], return_index=True)
        parts = np.split(order, begins[1:])
        return [
            (self._segments[number], wanted[part], place[part] - self._starts[number])
            for number, part in zip(owners.tolist(), parts, strict=True)
        ]
