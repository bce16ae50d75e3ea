"""Encode each distinct text once, for encodings of variable length: token vectors, sparse vectors.

An encoder returns `RaggedEncodings` (`TokenVectors`, `SparseVectors`). Stored ones are read; the others are encoded,
checked and stored part by part, longest texts first, so that a batch has texts of similar length.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from steelyard.config import Settings
from steelyard.encoders.batching import raise_not_finite
from steelyard.encoders.cache.blob_store import BlobStore
from steelyard.encoders.cache.cached_encoder import Tally, measured, open_model
from steelyard.encoders.streaming import ReportsUsage
from steelyard.errors import ModelError
from steelyard.types import Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick

PART_TEXTS = 512
"""Texts that each of the encoder's `workers` encodes between two writes to the store."""


class RaggedEncodings(Protocol):
    """The encodings of some texts."""

    @classmethod
    def joined(cls, parts: Sequence[Any]) -> Self:
        """Join the texts of all parts."""
        ...

    @classmethod
    def from_blobs(cls, blobs: Sequence[bytes]) -> Self:
        """Return the encodings that `blobs` wrote."""
        ...

    def blobs(self) -> list[bytes]:
        """Return each text's encoding as bytes."""
        ...

    @property
    def finite(self) -> npt.NDArray[np.bool_]:
        """Which texts have only finite numbers."""
        ...

    def take(self, rows: npt.ArrayLike) -> Self:
        """Return the texts of these rows, in their order."""
        ...

    def __len__(self) -> int: ...


B = TypeVar("B", bound=RaggedEncodings)
B_co = TypeVar("B_co", bound=RaggedEncodings, covariant=True)


@runtime_checkable
class RaggedEncoder(Protocol[B_co]):
    """Turns texts into encodings of variable length."""

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
        """The similarity that the model declares."""
        ...

    @property
    def storable(self) -> bool:
        """Whether `settings` determine the encodings, so that they may be stored."""
        ...

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> B_co:
        """Return an encoding for each text, in their order."""
        ...


@runtime_checkable
class LooksUpEncodings(Protocol[B_co]):
    """Has the encodings already, by id or by text."""

    def look_up(self, ids: Sequence[str], texts: Sequence[str], role: Role) -> B_co:
        """Return the encoding of each text; raise a DataError for one that is missing."""
        ...


def open_blob_store(encoder: RaggedEncoder[Any], settings: Settings | None = None) -> BlobStore | None:
    """Return the store of an encoder's encodings; None if nothing is to be stored."""
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
    """Return encodings in the order of the texts, and how they were obtained. `tick` counts all texts."""
    if isinstance(encoder, LooksUpEncodings):
        encodings = encoder.look_up(ids, texts, role)
        tick(len(texts))
        return encodings, Tally(len(texts), 0, len(texts))
    row_of: dict[str, int] = {}
    rows = np.fromiter((row_of.setdefault(text, len(row_of)) for text in texts), dtype=np.int64, count=len(texts))
    distinct = list(row_of)
    keys = store.keys(distinct, role) if store is not None else []
    blobs = store.get(keys) if store is not None else [None] * len(distinct)
    unknown = sorted((row for row, blob in enumerate(blobs) if blob is None), key=lambda row: -len(distinct[row]))
    tick(len(texts) - len(unknown))
    parts = [kind.from_blobs([blob for blob in blobs if blob is not None])]
    order = [row for row, blob in enumerate(blobs) if blob is not None]
    opening = open_model(encoder) if unknown else {}
    begin = time.perf_counter()
    step = PART_TEXTS * getattr(encoder, "workers", 1) if unknown else PART_TEXTS
    for start in range(0, len(unknown), step):
        part = unknown[start : start + step]
        encoded = _checked(encoder, [distinct[row] for row in part], role, tick)
        if store is not None:
            store.put([keys[row] for row in part], encoded.blobs())
        parts.append(encoded)
        order += part
    costs = measured(store.folder if store is not None else None, role, len(unknown), len(distinct), begin)
    position = np.empty(len(distinct), dtype=np.int64)
    position[order] = np.arange(len(distinct))
    account = encoder.account() if isinstance(encoder, ReportsUsage) and unknown else {}
    problems = tuple(store.problems) if store is not None else ()
    account = {**account, **opening}
    tally = Tally(len(texts), len(unknown), len(distinct) - len(unknown), problems, account, *costs)
    return kind.joined(parts).take(position[rows]), tally


def _checked(encoder: RaggedEncoder[B], texts: Sequence[str], role: Role, tick: Tick) -> B:
    """Return the encodings of the texts; raise a ModelError unless there is a finite one for each."""
    encoded = encoder.encode(texts, role, tick)
    if len(encoded) != len(texts):
        raise ModelError.invalid(
            f"the number of encodings of {encoder.name}",
            expected=f"{len(texts)}, one per text",
            found=len(encoded),
        )
    raise_not_finite(np.flatnonzero(~encoded.finite), texts, role, encoder.name)
    return encoded
