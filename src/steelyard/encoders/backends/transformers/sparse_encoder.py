"""Sparse vectors from sentence-transformers: SPLADE, inference-free models, sparse autoencoders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders import prompts
from steelyard.encoders.backends.transformers.device_process import device_pool
from steelyard.encoders.backends.transformers.loading import (
    OPTIONS,
    LoadOptions,
    batch_size,
    cache_key,
    import_class,
    load_complete,
    load_error,
    saved_class,
)
from steelyard.encoders.backends.transformers.ragged_batches import RaggedBatches
from steelyard.encoders.deferred import deferred
from steelyard.encoders.model_folder import HUBS, ModelFolder
from steelyard.encoders.token_starts import starts_of_tokenizer
from steelyard.errors import ModelError, UsageError
from steelyard.options import Options
from steelyard.types import Int64, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.ragged import offsets_of
from steelyard.vectors.sparse import SparseVectors

SIMILARITIES = ("dot", "cosine")
BATCH_TOKENS = 4_096
"""Half of the usual number: each token has a weight for every word of the vocabulary while it is computed."""


class TransformerSparse(prompts.PromptsByTask):
    """A sparse encoder; `similarity` is `dot` or `cosine`, as the model declares it."""

    storable = True

    def __init__(self, folder: ModelFolder, loading: LoadOptions, options: Options) -> None:
        self.name = folder.name
        self._folder = folder
        self._loading = loading
        if saved_class(folder) == "SentenceTransformer":
            raise ModelError(
                f"{folder.id} is a dense model, not a sparse one",
                hint=f"use dense:{folder.id}",
            )
        encoder = import_class("SparseEncoder")
        try:
            self._model: Any = load_complete(folder, lambda: encoder(str(folder.path), **loading.arguments))
        except (OSError, ValueError, KeyError) as error:
            raise load_error(folder.id, error) from error
        if loading.max_seq_length is not None:
            self._model.max_seq_length = loading.max_seq_length
        self.similarity = options.text("similarity_fn_name") or str(self._model.similarity_fn_name)
        if self.similarity not in SIMILARITIES:
            raise UsageError(
                f"the similarity of {self.name} must be dot or cosine, got {self.similarity!r}",
                option="similarity_fn_name",
                found=self.similarity,
                expected="dot or cosine",
                hint="add similarity_fn_name=dot",
            )
        self._choose = partial(prompts.role_prompts, self._model.prompts, options)
        self._prompts = self._choose()
        pool = device_pool(self._model, loading.devices, sparse_vectors, loading.threads)
        size = batch_size(options, loading.devices, BATCH_TOKENS, reproducible=True)
        self._batches = RaggedBatches(self._model, self.name, pool, size)

    @cached_property
    def settings(self) -> ModelSettings:
        """Everything that could change a vector. `max_active_dims` is the model's own limit."""
        return {
            "encoder": self.name,
            "kind": "sparse vectors",
            "weights": self._folder.weights,
            "revision": self._folder.revision,
            "prompts": self._prompts,
            "max_seq_length": self._limit,
            "max_active_dims": self._model.max_active_dims,
            **self._loading.settings,
        }

    @property
    def _limit(self) -> int | None:
        limit = self._model.max_seq_length
        return None if limit is None or limit == float("inf") else int(limit)

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> SparseVectors:
        """Return the sparse vector of each text."""
        parts = [SparseVectors.from_dense(np.empty((0, int(self._model.get_embedding_dimension() or 0))))]
        position = np.empty(len(texts), dtype=np.int64)
        done = 0
        for rows, part in self._batches.encode(texts, role, self._prompts[role], self._limit):
            parts.append(part.take(np.arange(len(rows))))
            position[rows] = np.arange(done, done + len(rows))
            done += len(rows)
            tick(len(rows))
        return SparseVectors.joined(parts).take(position)

    def token_starts(self, texts: Sequence[str]) -> list[Int64]:
        """Return where the tokens of each text start."""
        return starts_of_tokenizer(getattr(self._model, "tokenizer", None), texts, self.name)

    @property
    def workers(self) -> int:
        """The number of devices that share the texts."""
        return self._batches.workers

    def account(self) -> ModelSettings:
        """Return how many texts were truncated."""
        return self._batches.account()


def sparse_vectors(model: Any, texts: list[str], role: Role, prompt: str) -> SparseVectors:
    """Return the vectors of a batch, computed on the device of the model."""
    encode = model.encode_query if role == "query" else model.encode_document
    matrix = encode(texts, prompt=prompt, batch_size=len(texts), show_progress_bar=False, save_to_cpu=True)
    return _read(matrix.coalesce())


def _read(matrix: Any) -> SparseVectors:
    """Return the vectors of a sparse torch tensor."""
    text, column = matrix.indices().numpy()
    offsets = offsets_of(np.bincount(text, minlength=matrix.shape[0]))
    return SparseVectors.of(offsets, column, matrix.values().float().numpy(), dimension=matrix.shape[1])


def from_options(
    id: str, revision: str | None, raw_options: Mapping[str, str], settings: Settings
) -> TransformerSparse:
    """Return the encoder of a folder or hub repository, opened when it encodes; variants share the loaded one."""
    hub = Options(f"sparse:{id}", {"hub": raw_options.get("hub", "")}, ("hub",)).choice("hub", HUBS)
    folder = ModelFolder.find(id, revision, hub=hub, settings=settings)
    key = cache_key(raw_options, settings)
    encoder: TransformerSparse = deferred(
        TransformerSparse, folder, raw_options, lambda: _loaded(folder, folder.weights, key)
    )
    return encoder


@lru_cache(maxsize=2)
def _loaded(folder: ModelFolder, weights: str, raw_options: tuple[tuple[str, str], ...]) -> TransformerSparse:
    options = Options(
        f"sparse:{folder.id}",
        dict(raw_options),
        (*OPTIONS, *prompts.RETRIEVAL_OPTIONS, "batch_tokens", "similarity_fn_name"),
    )
    loading = LoadOptions.of(options)
    import_class("SparseEncoder")
    return TransformerSparse(folder, loading, options)
