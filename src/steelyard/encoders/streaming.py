"""Vectors that arrive little by little, from an encoder that waits for others: kept as they come, whatever happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Protocol, runtime_checkable

import numpy as np

from steelyard.types import Float32, Int64, Role
from steelyard.types.protocols import ModelSettings, Tick

PART = 4096
"""Vectors that are kept together, at most: a file of the store each."""
SECONDS = 5.0
"""The longest that vectors wait to be kept: what the loss of the process can cost."""


@runtime_checkable
class EncodesInParts(Protocol):
    """An encoder that has vectors to hand on before it is done with all of them."""

    def encode_parts(self, texts: Sequence[str], role: Role) -> Generator[tuple[Int64, Float32], None, None]:
        """The vectors as they are ready, in any order: the rows of the texts, and a checked vector for each."""
        ...


@runtime_checkable
class LooksUpVectors(Protocol):
    """An encoder that has the vectors already, by the ids or the texts of what is encoded."""

    def look_up(self, ids: Sequence[str] | None, texts: Sequence[str], role: Role) -> Float32:
        """The vector of each; one that is not there is a DataError."""
        ...


@runtime_checkable
class KeepsAccount(Protocol):
    """An encoder that can say what encoding has cost."""

    def account(self) -> ModelSettings:
        """What happened since the last call, JSON-ready; counting starts anew."""
        ...


def joined(encoder: EncodesInParts, texts: Sequence[str], role: Role, dimension: int, tick: Tick) -> Float32:
    """All vectors of an encoder that hands them on in parts, in the order of the texts."""
    vectors = np.empty((len(texts), dimension), dtype=np.float32)
    with closing(encoder.encode_parts(texts, role)) as parts:
        for rows, part in parts:
            vectors[rows] = part
            tick(len(rows))
    return vectors


def receive(
    encoder: EncodesInParts,
    texts: Sequence[str],
    rows: Int64,
    role: Role,
    vectors: Float32,
    keep: Callable[[Int64], None],
    tick: Tick,
) -> None:
    """Fill `vectors[rows]` with the vectors of those texts.

    `keep` is called with the rows that are filled: from time to time, and before any error or interruption passes.
    """
    held: list[Int64] = []
    since = time.monotonic()
    with closing(encoder.encode_parts([texts[row] for row in rows], role)) as parts:
        try:
            for places, part in parts:
                vectors[rows[places]] = part
                held.append(rows[places])
                tick(len(places))
                if sum(map(len, held)) >= PART or time.monotonic() - since >= SECONDS:
                    keep(np.concatenate(held))
                    held, since = [], time.monotonic()
        finally:
            if held:
                keep(np.concatenate(held))
