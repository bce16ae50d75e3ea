"""Encode each distinct text once: stored vectors are read, the others are encoded, checked and stored.

What is encoded together does not depend on what is stored where that could change a vector (`fixed_batches`): a run
with a cache, a resumed run and a fresh run of the same texts give the same bytes, in any order of tasks. Such a vector
is stored for its batch: the same text in another batch, of another task, is encoded again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.batching import check_finite
from steelyard.encoders.cache.batch_plan import parts, planned_batches
from steelyard.encoders.cache.cost_log import record_cost, stored_seconds
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.encoders.streaming import LooksUpVectors, ReportsUsage, StreamsVectors, fill_vectors
from steelyard.errors import ModelError
from steelyard.types import Float32, Int64, Role
from steelyard.types.protocols import Encoder, ModelSettings, Tick, no_tick
from steelyard.vectors.mapped import Allocate, take_rows


@dataclass(frozen=True)
class Tally:
    """How the vectors of some texts were obtained."""

    texts: int
    encoded: int
    """Distinct texts that were not in the store."""
    stored: int
    """Distinct texts whose vectors were in the store."""
    problems: tuple[str, ...] = ()
    account: ModelSettings = field(default_factory=dict)
    """What encoding has cost, from an encoder that counts it: requests, tokens, truncated texts."""
    seconds: float | None = None
    """Seconds of encoding; None if it was not measured."""
    stored_seconds: float | None = None
    """Seconds that the vectors from the store took when they were made; None if it is not known."""

    @property
    def notes(self) -> ModelSettings:
        """The counts for the notes of an index."""
        notes: dict[str, Any] = {"texts": self.texts, "texts_encoded": self.encoded, "texts_from_cache": self.stored}
        if self.seconds is not None:
            notes["encode_seconds"] = round(self.seconds, 6)
        if self.stored_seconds is not None:
            notes["encode_seconds_stored"] = round(self.stored_seconds, 6)
        notes |= self.account
        return {**notes, "cache_problems": list(self.problems)} if self.problems else notes


def open_store(encoder: Encoder, settings: Settings | None = None) -> VectorStore | None:
    """Return the store of an encoder's vectors; None if the cache size is 0 or the encoder has `storable = False`.

    Vectors of a function without a version are not stored, because a change of the function would not be detected.
    """
    settings = settings or Settings.load()
    return VectorStore(encoder, settings) if settings.cache_bytes > 0 and getattr(encoder, "storable", True) else None


def in_memory(shape: tuple[int, int]) -> Float32:
    """Allocate a matrix in memory."""
    return np.empty(shape, dtype=np.float32)


def encode_once(
    encoder: Encoder,
    texts: Sequence[str],
    role: Role,
    *,
    ids: Sequence[str] | None = None,
    store: VectorStore | None = None,
    tick: Tick = no_tick,
    allocate: Allocate = in_memory,
) -> tuple[Float32, Tally]:
    """Return vectors in the order of the texts, and how they were obtained. `tick` counts all texts, stored ones first.

    `ids` are for encoders that look vectors up by id; `allocate` makes the matrix, which may be a mapped file.
    """
    if isinstance(encoder, LooksUpVectors):
        vectors = encoder.look_up(ids, texts, role)
        tick(len(texts))
        return vectors, Tally(len(texts), encoded=0, stored=len(set(texts)))
    distinct = list(dict.fromkeys(texts))
    vectors = allocate((len(distinct), encoder.dimension))
    if store is None:
        known = np.zeros(len(distinct), dtype=bool)
    else:
        keys = store.keys(distinct, role)
        known = store.read(keys, vectors)
    unknown = np.flatnonzero(~known)
    tick(len(texts) - len(unknown))

    def keep(rows: Int64) -> None:
        if store is not None:
            store.put(keys[rows], vectors[rows])

    opening = open_model(encoder) if len(unknown) else {}
    start = time.perf_counter()
    if len(unknown) and isinstance(encoder, StreamsVectors):
        fill_vectors(encoder, distinct, unknown, role, vectors, keep, tick)
    else:
        fixed = getattr(encoder, "fixed_batches", False)
        for rows in _fixed_batches(distinct, unknown) if fixed else parts(unknown):
            # Stored texts of a fixed batch are encoded again; they were counted above.
            vectors[rows] = _checked(
                encoder, [distinct[row] for row in rows.tolist()], role, no_tick if fixed else tick
            )
            if fixed:
                tick(int(np.count_nonzero(~known[rows])))
            keep(rows)
    costs = measured(store.folder if store is not None else None, role, len(unknown), len(distinct), start)
    problems = tuple(store.problems) if store is not None else ()
    account = encoder.account() if isinstance(encoder, ReportsUsage) else {}
    account = {**account, **opening}
    tally = Tally(len(texts), len(unknown), len(distinct) - len(unknown), problems, account, *costs)
    if len(distinct) == len(texts):
        return vectors, tally
    row_of = {text: row for row, text in enumerate(distinct)}
    rows_of_texts = np.fromiter((row_of[text] for text in texts), dtype=np.int64, count=len(texts))
    return take_rows(vectors, rows_of_texts, allocate), tally


def open_model(encoder: object) -> ModelSettings:
    """Open a model that is opened at first use, so that its rate is that of encoding; return the seconds of it."""
    if getattr(encoder, "is_open", True):
        return {}
    start = time.perf_counter()
    _ = encoder.opened  # type: ignore[attr-defined]
    return {"open_seconds": round(time.perf_counter() - start, 6)}


def measured(folder: Path | None, role: Role, encoded: int, texts: int, start: float) -> tuple[float, float | None]:
    """Return the seconds since the start and those of the stored texts; add the new ones to the log of the store."""
    seconds = time.perf_counter() - start if encoded else 0.0
    if folder is None:
        return seconds, None
    stored = stored_seconds(folder, role, texts - encoded) if encoded < texts else 0.0
    record_cost(folder, role, encoded, seconds)
    return seconds, stored


def _fixed_batches(texts: Sequence[str], unknown: Int64) -> Iterator[Int64]:
    """Return the planned batches that contain a text that is not stored."""
    if not len(unknown):
        return
    missing = np.zeros(len(texts), dtype=bool)
    missing[unknown] = True
    yield from (rows for rows in planned_batches(texts) if missing[rows].any())


def _checked(encoder: Encoder, texts: Sequence[str], role: Role, tick: Tick) -> Float32:
    """Return the vectors of the texts; raise a ModelError unless they are finite and of the right shape."""
    vectors = np.asarray(encoder.encode(texts, role, tick), dtype=np.float32)
    expected = (len(texts), encoder.dimension)
    if vectors.shape != expected:
        raise ModelError.invalid(
            f"the shape of the vectors of the encoder {encoder.name}",
            expected=f"{expected}, (texts, dimension)",
            found=str(vectors.shape),
            hint="return one vector of the declared dimension for each text",
        )
    check_finite(vectors, texts, role, encoder.name)
    return vectors
