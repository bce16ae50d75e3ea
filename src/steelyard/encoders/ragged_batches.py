"""Texts to a model of sentence-transformers in batches sized by tokens, where what comes out has its own length."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from steelyard.encoders.batching import BatchSize, encode_in_batches, shown, whole
from steelyard.encoders.dense_transformer import token_counts
from steelyard.encoders.devices import ran_out_of_memory
from steelyard.errors import ModelError
from steelyard.protocols import Settings
from steelyard.types import Int64


class Batches:
    """Feeds a model, longest texts first; memory that runs out halves the batches. Keeps account of both."""

    def __init__(self, model: Any, name: str, texts: int, tokens: int) -> None:
        self._model = model
        self._name = name
        self._size = BatchSize(texts, tokens)
        self._cut = 0

    def encoded(
        self, texts: Sequence[str], prompt: str, limit: int | None, encode: Callable[[list[str]], Any]
    ) -> Iterator[tuple[Int64, Any]]:
        """What `encode` gives for each batch, and which texts were in it; counts those of more tokens than `limit`."""
        sound = [whole(text) for text in texts]
        lengths = token_counts(self._model, [prompt + text for text in sound])
        if limit is not None:
            self._cut += int((lengths > limit).sum())
            lengths = np.minimum(lengths, limit)

        def too_long(row: int) -> ModelError:
            return ModelError(
                f"{self._name} runs out of memory over one text of {len(sound[row])} characters: {shown(sound[row])}",
                hint="a smaller max_seq_length, a smaller dtype, or another device",
            )

        def batch(rows: Int64) -> Any:
            return encode([sound[row] for row in rows])

        yield from encode_in_batches(lengths, batch, self._size, _exhausted, too_long)

    def account(self) -> Settings:
        """Since the last call: how many texts were longer than the model reads, and batches halved."""
        cut, halved = self._cut, self._size.halved
        self._cut = self._size.halved = 0
        return {"texts_cut": cut, "batches_halved": halved} if halved else {"texts_cut": cut}


def _exhausted(error: BaseException) -> bool:
    if not ran_out_of_memory(error):
        return False
    torch: Any = importlib.import_module("torch")
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return True
