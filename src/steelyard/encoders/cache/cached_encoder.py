"""Encode each distinct text once: what the store holds is read, the rest is encoded, checked and stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.batching import check_finite
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.encoders.streaming import EncodesInParts, KeepsAccount, LooksUpVectors, receive
from steelyard.errors import ModelError
from steelyard.types import Float32, Int64, Role
from steelyard.types.protocols import Encoder, ModelSettings, Tick, no_tick

PROMISE = "an encoder gives one vector for each text, of the dimension that it declares"
PART = 512
"""Texts encoded between two writes to the store: what an interruption can cost, some seconds of work."""


@dataclass(frozen=True)
class Tally:
    """How the vectors of some texts were obtained."""

    texts: int
    encoded: int
    """Distinct texts that the encoder had to read."""
    stored: int
    """Distinct texts whose vectors were in the store."""
    problems: tuple[str, ...] = ()
    account: ModelSettings = field(default_factory=dict)
    """What encoding has cost, from an encoder that keeps account: requests, tokens, texts cut."""

    @property
    def notes(self) -> ModelSettings:
        """For the notes of an index."""
        notes: dict[str, Any] = {"texts": self.texts, "texts_encoded": self.encoded, "texts_from_cache": self.stored}
        notes |= self.account
        return {**notes, "cache_problems": list(self.problems)} if self.problems else notes


def open_store(encoder: Encoder, settings: Settings | None = None) -> VectorStore | None:
    """The store of that encoder's vectors; None where STEELYARD_CACHE_BYTES is 0, or where it says `storable = False`.

    Vectors of a function without a version are not stored: nothing would tell that it has changed.
    """
    settings = settings or Settings.load()
    return VectorStore(encoder, settings) if settings.cache_bytes > 0 and getattr(encoder, "storable", True) else None


def encode_once(
    encoder: Encoder,
    texts: Sequence[str],
    role: Role,
    *,
    ids: Sequence[str] | None = None,
    store: VectorStore | None = None,
    tick: Tick = no_tick,
) -> tuple[Float32, Tally]:
    """Vectors in the order of the texts, and how they were obtained. `tick` counts all texts, known ones at once.

    `ids` are for encoders that have the vectors already and may go by them.
    """
    if isinstance(encoder, LooksUpVectors):
        found = encoder.look_up(ids, texts, role)
        tick(len(texts))
        return found, Tally(len(texts), encoded=0, stored=len(set(texts)))
    distinct = list(dict.fromkeys(texts))
    if store is None:
        known, vectors = np.zeros(len(distinct), dtype=bool), np.empty((len(distinct), encoder.dimension), np.float32)
    else:
        keys = store.keys(distinct, role)
        known, vectors = store.get(keys)
    unknown = np.flatnonzero(~known)
    tick(len(texts) - len(unknown))

    def keep(part: Int64) -> None:
        if store is not None:
            store.put(keys[part], vectors[part])

    if isinstance(encoder, EncodesInParts):
        receive(encoder, distinct, unknown, role, vectors, keep, tick)
    elif store is None and distinct:  # nothing to be kept on the way: in one piece, without a copy
        vectors = _checked(encoder, distinct, role, tick)
    else:
        for start in range(0, len(unknown), PART):
            part = unknown[start : start + PART]
            vectors[part] = _checked(encoder, [distinct[row] for row in part], role, tick)
            keep(part)
    problems = tuple(store.problems) if store is not None else ()
    account = encoder.account() if isinstance(encoder, KeepsAccount) else {}
    tally = Tally(len(texts), len(unknown), len(distinct) - len(unknown), problems, account)
    if len(distinct) == len(texts):
        return vectors, tally
    row_of = {text: row for row, text in enumerate(distinct)}
    return vectors[[row_of[text] for text in texts]], tally


def _checked(encoder: Encoder, texts: Sequence[str], role: Role, tick: Tick) -> Float32:
    """What the encoder gives, if it is a finite vector of the right length for each text."""
    vectors = np.asarray(encoder.encode(texts, role, tick), dtype=np.float32)
    expected = (len(texts), encoder.dimension)
    if vectors.shape != expected:
        raise ModelError(
            f"the encoder {encoder.name} gave an array of shape {vectors.shape}, expected {expected}", hint=PROMISE
        )
    check_finite(vectors, texts, role, encoder.name)
    return vectors
