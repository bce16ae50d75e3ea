"""A model on this machine at work: texts of like length together, longest first, and what happened on the way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import ClassVar

from steelyard.encoders.batching import (
    BatchSize,
    Subject,
    check_finite,
    described,
    encode_in_batches,
    whole,
    windows,
)
from steelyard.encoders.devices.worker_pool import Crew, Job
from steelyard.encoders.streaming import joined
from steelyard.types import Float32, Int64, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick


class EncodesByLength(ABC):
    """Texts are sorted by length and go to the model in batches sized by tokens.

    Vectors are handed on batch by batch (`encode_parts`), so that an interruption costs little.
    """

    name: str
    _too_long: ClassVar[str]
    """What to do about a text that memory cannot hold."""

    def __init__(self, crew: Crew[Float32], size: BatchSize) -> None:
        self._crew = crew
        self._size = size
        self._seen = self._cut = 0

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Length of a vector."""

    @abstractmethod
    def _prepared(self, texts: list[str], role: Role) -> tuple[Int64, Callable[[Int64], Job]]:
        """How many tokens of each text are read, and what the crew gets of some; counts `_seen` and `_cut`."""

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Vectors in the order of the texts."""
        return joined(self, texts, role, self.dimension, tick)

    def encode_parts(self, texts: Sequence[str], role: Role) -> Generator[tuple[Int64, Float32], None, None]:
        """The vectors as they are ready, longest texts first: which texts, and theirs."""
        for window in windows(len(texts)):
            sound = [whole(texts[row]) for row in window]
            lengths, job = self._prepared(sound, role)
            subject = Subject(self.name, partial(described, sound, role), self._too_long)
            for rows, vectors in encode_in_batches(lengths, self._crew, job, self._size, subject):
                check_finite(vectors, [sound[row] for row in rows], role, self.name)
                yield rows + window.start, vectors

    def account(self) -> ModelSettings:
        """Of the texts encoded since the last call: how many were longer than the model reads, and batches halved."""
        seen, cut, halved = self._seen, self._cut, self._size.halved
        self._seen = self._cut = self._size.halved = 0
        if not seen:
            return {}
        return {"texts_cut": cut, "batches_halved": halved} if halved else {"texts_cut": cut}
