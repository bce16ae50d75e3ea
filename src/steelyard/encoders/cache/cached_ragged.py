"""Encode each distinct text once, where an encoding has no fixed length: token vectors, sparse vectors.

An encoder here gives a `RaggedEncodings` (`TokenVectors`, `SparseVectors`) for some texts. What the store holds is read, the
rest is encoded, checked and stored part by part, longest texts first, so that a batch holds texts of like length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from steelyard.config import Settings
from steelyard.encoders.batching import raise_not_finite
from steelyard.encoders.cache.blob_store import BlobStore
from steelyard.encoders.cache.cached_encoder import Tally
from steelyard.encoders.streaming import ReportsUsage
from steelyard.errors import ModelError
from steelyard.types import Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick

PART_TEXTS = 512
"""Texts that each of the encoder's `workers` encodes between two writes to the store: what an interruption can cost."""


class RaggedEncodings(Protocol):
    """The encodings of some texts."""

    @classmethod
    def joined(cls, parts: Sequence[Any]) -> Self:
        """The texts of all parts, one part after the other."""
        ...

    @classmethod
    def from_blobs(cls, blobs: Sequence[bytes]) -> Self:
        """What `blobs` gave, read again."""
        ...

    def blobs(self) -> list[bytes]:
        """Each text's encoding as bytes."""
        ...

    @property
    def finite(self) -> npt.NDArray[np.bool_]:
        """Which texts have only finite numbers."""
        ...

    def take(self, rows: npt.ArrayLike) -> Self:
        """The texts of these places, in their order."""
        ...

    def __len__(self) -> int: ...


B = TypeVar("B", bound=RaggedEncodings)
B_co = TypeVar("B_co", bound=RaggedEncodings, covariant=True)


@runtime_checkable
class RaggedEncoder(Protocol[B_co]):
    """Turns texts into encodings of their own lengths."""

    @property
    def name(self) -> str:
        """Short name."""
        ...

    @property
    def settings(self) -> ModelSettings:
        """Everything that could change an encoding."""
        ...

    @property
    def similarity(self) -> str:
        """How encodings are compared, as the model declares it."""
        ...

    @property
    def storable(self) -> bool:
        """Whether `settings` fix the encodings, so that they may be stored; a function's do not."""
        ...

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> B_co:
        """An encoding for each text, in their order."""
        ...


@runtime_checkable
class LooksUpEncodings(Protocol[B_co]):
    """Has the encodings already, by the ids or the texts of what is encoded."""

    def look_up(self, ids: Sequence[str], texts: Sequence[str], role: Role) -> B_co:
        """The encoding of each; one that is not there is a DataError."""
        ...


def open_blob_store(encoder: RaggedEncoder[Any], settings: Settings | None = None) -> BlobStore | None:
    """The store of that encoder's encodings; None where nothing is to be stored."""
    settings = settings or Settings.load()
    if not encoder.storable or settings.cache_bytes <= 0:
        return None
    return BlobStore(encoder.name, encoder.settings, settings)


def encode_ragged(
    kind: type[B],
    encoder: RaggedEncoder[B],
    ids: Sequence[str],
    texts: Sequence[str],
    role: Role,
    *,
    store: BlobStore | None = None,
    tick: Tick = no_tick,
) -> tuple[B, Tally]:
    """Encodings in the order of the texts, and how they were obtained. `tick` counts all texts, known ones at once."""
    if isinstance(encoder, LooksUpEncodings):
        found = encoder.look_up(ids, texts, role)
        tick(len(texts))
        return found, Tally(len(texts), 0, len(texts))
    row_of: dict[str, int] = {}
    rows = np.fromiter((row_of.setdefault(text, len(row_of)) for text in texts), dtype=np.int64, count=len(texts))
    distinct = list(row_of)
    keys = store.keys(distinct, role) if store is not None else []
    blobs = store.get(keys) if store is not None else [None] * len(distinct)
    unknown = sorted((row for row, blob in enumerate(blobs) if blob is None), key=lambda row: -len(distinct[row]))
    tick(len(texts) - len(unknown))
    parts = [kind.from_blobs([blob for blob in blobs if blob is not None])]
    order = [row for row, blob in enumerate(blobs) if blob is not None]
    step = PART_TEXTS * getattr(encoder, "workers", 1)
    for start in range(0, len(unknown), step):
        part = unknown[start : start + step]
        encoded = _checked(encoder, [distinct[row] for row in part], role, tick)
        if store is not None:
            store.put([keys[row] for row in part], encoded.blobs())
        parts.append(encoded)
        order += part
    place = np.empty(len(distinct), dtype=np.int64)
    place[order] = np.arange(len(distinct))
    account = encoder.account() if isinstance(encoder, ReportsUsage) and unknown else {}
    problems = tuple(store.problems) if store is not None else ()
    tally = Tally(len(texts), len(unknown), len(distinct) - len(unknown), problems, account)
    return kind.joined(parts).take(place[rows]), tally


def _checked(encoder: RaggedEncoder[B], texts: Sequence[str], role: Role, tick: Tick) -> B:
    """What the encoder gives, if it is one for each text and all of it finite."""
    encoded = encoder.encode(texts, role, tick)
    if len(encoded) != len(texts):
        raise ModelError(
            f"the encoder {encoder.name} gave {len(encoded)} encodings for {len(texts)} texts", hint="one a text"
        )
    raise_not_finite(np.flatnonzero(~encoded.finite), texts, role, encoder.name)
    return encoded
