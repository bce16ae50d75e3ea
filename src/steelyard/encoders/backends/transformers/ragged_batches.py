"""Batches for models of sentence-transformers whose encodings have different lengths: token or sparse vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from steelyard.encoders.backends.transformers.dense_encoder import token_counts
from steelyard.encoders.batching import BatchSize, ErrorContext, describe_text, encode_in_batches, replace_surrogates
from steelyard.encoders.devices.worker_pool import Job, WorkerPool
from steelyard.types import Int64, Role
from steelyard.types.protocols import ModelSettings

R = TypeVar("R")
MEMORY_HINT = "use a smaller max_seq_length, a smaller dtype, or another device"


class RaggedBatches(Generic[R]):
    """Computes encodings, longest texts first, and counts truncated texts and halved batches.

    The workers of the pool get texts, their role and its prompt.
    """

    def __init__(self, model: Any, name: str, pool: WorkerPool[R], size: BatchSize) -> None:
        self._model = model
        self._name = name
        self._pool = pool
        self._size = size
        self._truncated = 0

    @property
    def workers(self) -> int:
        """The number of batches computed at a time."""
        return len(self._pool)

    def encode(self, texts: Sequence[str], role: Role, prompt: str, limit: int | None) -> Iterator[tuple[Int64, R]]:
        """Yield the rows and encodings of each batch; count texts of more tokens than `limit`."""
        clean = [replace_surrogates(text) for text in texts]
        lengths = token_counts(self._model, [prompt + text for text in clean])
        if limit is not None:
            self._truncated += int((lengths > limit).sum())
            lengths = np.minimum(lengths, limit)

        def job(rows: Int64) -> Job:
            return [clean[row] for row in self._size.copies(rows, int(lengths[rows[0]]))], role, prompt

        context = ErrorContext(self._name, partial(describe_text, clean, role), MEMORY_HINT)
        yield from encode_in_batches(lengths, self._pool, job, self._size, context)

    def account(self) -> ModelSettings:
        """Return, since the last call, how many texts were truncated and how many batches were halved."""
        truncated, halved = self._truncated, self._size.halved
        self._truncated = self._size.halved = 0
        return {"texts_cut": truncated, "batches_halved": halved} if halved else {"texts_cut": truncated}
