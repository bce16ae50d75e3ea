"""Vectors that arrive in parts, from an encoder that computes batch by batch or waits for a service.

They are stored as they arrive, so that an error or an interruption loses little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Protocol, runtime_checkable

import numpy as np

from steelyard.types import Float32, Int64, Role
from steelyard.types.protocols import ModelSettings, Tick

MAX_UNSTORED = 4096
"""The most vectors that wait to be stored: each time makes one file."""
MAX_UNSTORED_SECONDS = 5.0
"""The longest that vectors wait to be stored: what a killed process can lose."""


@runtime_checkable
class StreamsVectors(Protocol):
    """An encoder that returns vectors before all of them are ready."""

    def encode_parts(self, texts: Sequence[str], role: Role) -> Generator[tuple[Int64, Float32], None, None]:
        """Yield rows of the texts and a checked vector for each, in any order."""
        ...


@runtime_checkable
class LooksUpVectors(Protocol):
    """An encoder that has the vectors already, by id or by text."""

    def look_up(self, ids: Sequence[str] | None, texts: Sequence[str], role: Role) -> Float32:
        """Return the vector of each text; raise a DataError for one that is missing."""
        ...


@runtime_checkable
class ReportsUsage(Protocol):
    """An encoder that counts what encoding has cost."""

    def account(self) -> ModelSettings:
        """Return the counts since the last call, JSON-ready, and start again at zero."""
        ...


def collect_vectors(encoder: StreamsVectors, texts: Sequence[str], role: Role, dimension: int, tick: Tick) -> Float32:
    """Return all vectors of an encoder that yields them in parts, in the order of the texts."""
    vectors = np.empty((len(texts), dimension), dtype=np.float32)
    with closing(encoder.encode_parts(texts, role)) as parts:
        for rows, part in parts:
            vectors[rows] = part
            tick(len(rows))
    return vectors


def fill_vectors(
    encoder: StreamsVectors,
    texts: Sequence[str],
    rows: Int64,
    role: Role,
    vectors: Float32,
    store: Callable[[Int64], None],
    tick: Tick,
) -> None:
    """Fill `vectors[rows]` with the vectors of those texts.

    `store` is called with the rows that are filled: from time to time, and before an error or interrupt propagates.
    """
    unstored: list[Int64] = []
    since = time.monotonic()
    with closing(encoder.encode_parts([texts[row] for row in rows], role)) as parts:
        try:
            for positions, part in parts:
                vectors[rows[positions]] = part
                unstored.append(rows[positions])
                tick(len(positions))
                if sum(map(len, unstored)) >= MAX_UNSTORED or time.monotonic() - since >= MAX_UNSTORED_SECONDS:
                    store(np.concatenate(unstored))
                    unstored, since = [], time.monotonic()
        finally:
            if unstored:
                store(np.concatenate(unstored))
