"""Texts to a model of sentence-transformers in batches sized by tokens, where what comes out has its own length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from steelyard.encoders.backends.transformers.dense_encoder import token_counts
from steelyard.encoders.batching import BatchSize, Subject, described, encode_in_batches, whole
from steelyard.encoders.devices.worker_pool import Crew, Job
from steelyard.types import Int64, Role
from steelyard.types.protocols import ModelSettings

R = TypeVar("R")
REMEDY = "a smaller max_seq_length, a smaller dtype, or another device"


class Batches(Generic[R]):
    """Feeds a model, longest texts first; memory that runs out halves the batches. Keeps account of both.

    The hands of the crew get texts, their role and its prompt.
    """

    def __init__(self, model: Any, name: str, crew: Crew[R], size: BatchSize) -> None:
        self._model = model
        self._name = name
        self._crew = crew
        self._size = size
        self._cut = 0

    @property
    def workers(self) -> int:
        """How many batches are computed at a time."""
        return len(self._crew)

    def encoded(self, texts: Sequence[str], role: Role, prompt: str, limit: int | None) -> Iterator[tuple[Int64, R]]:
        """What comes of each batch, and which texts were in it; counts those of more tokens than `limit`."""
        sound = [whole(text) for text in texts]
        lengths = token_counts(self._model, [prompt + text for text in sound])
        if limit is not None:
            self._cut += int((lengths > limit).sum())
            lengths = np.minimum(lengths, limit)

        def job(rows: Int64) -> Job:
            return [sound[row] for row in rows], role, prompt

        subject = Subject(self._name, partial(described, sound, role), REMEDY)
        yield from encode_in_batches(lengths, self._crew, job, self._size, subject)

    def account(self) -> ModelSettings:
        """Since the last call: how many texts were longer than the model reads, and batches halved."""
        cut, halved = self._cut, self._size.halved
        self._cut = self._size.halved = 0
        return {"texts_cut": cut, "batches_halved": halved} if halved else {"texts_cut": cut}
