"""Sparse vectors from sentence-transformers: SPLADE and its kin, inference-free ones, sparse autoencoders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders import prompts
from steelyard.encoders.backends.transformers.complete import load_whole, saved_as
from steelyard.encoders.backends.transformers.device_process import crew_of
from steelyard.encoders.backends.transformers.loading import (
    OPTIONS,
    Loading,
    batch_size,
    failed_to_load,
    known,
    library,
)
from steelyard.encoders.backends.transformers.ragged_batches import Batches
from steelyard.encoders.model_folder import HUBS, ModelFolder
from steelyard.errors import ModelError, UsageError
from steelyard.options import Options
from steelyard.types import Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.ragged import offsets_of
from steelyard.vectors.sparse import SparseVectors

SIMILARITIES = ("dot", "cosine")
BATCH_TOKENS = 4_096
"""Half of what others get: each token has a weight for every word of the vocabulary while it is computed."""


class TransformerSparse:
    """A sparse encoder; `similarity` is `dot` or `cosine`, as the model declares it."""

    storable = True

    def __init__(self, folder: ModelFolder, loading: Loading, options: Options) -> None:
        self.name = folder.name
        self._folder = folder
        self._loading = loading
        if saved_as(folder) == "SentenceTransformer":
            raise ModelError(
                f"{folder.id} is a dense model; the library would add a sparse layer with random weights",
                hint=f"dense:{folder.id}",
            )
        encoder = library("SparseEncoder")
        try:
            self._model: Any = load_whole(folder, lambda: encoder(str(folder.path), **loading.arguments))
        except (OSError, ValueError, KeyError) as error:
            raise failed_to_load(folder.id, error) from error
        if loading.max_seq_length is not None:
            self._model.max_seq_length = loading.max_seq_length
        self.similarity = options.text("similarity_fn_name") or str(self._model.similarity_fn_name)
        if self.similarity not in SIMILARITIES:
            raise UsageError(
                f"{self.name} compares by {self.similarity}, which an inverted index cannot do",
                hint=f"similarity_fn_name={' or '.join(SIMILARITIES)}",
            )
        self._prompts = prompts.role_prompts(self._model.prompts, options)
        crew = crew_of(self._model, loading.devices, sparse_vectors)
        self._batches = Batches(self._model, self.name, crew, batch_size(options, loading.devices, BATCH_TOKENS))

    @cached_property
    def settings(self) -> ModelSettings:
        """Everything that could change a vector. `max_active_dims` is the model's own cap."""
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
        """The sparse vector of each text."""
        parts = [SparseVectors.from_dense(np.empty((0, int(self._model.get_embedding_dimension() or 0))))]
        place = np.empty(len(texts), dtype=np.int64)
        done = 0
        for rows, part in self._batches.encoded(texts, role, self._prompts[role], self._limit):
            parts.append(part)
            place[rows] = np.arange(done, done + len(rows))
            done += len(rows)
            tick(len(rows))
        return SparseVectors.joined(parts).take(place)

    @property
    def workers(self) -> int:
        """How many devices share the texts."""
        return self._batches.workers

    def account(self) -> ModelSettings:
        """How many texts were longer than the model reads."""
        return self._batches.account()


def sparse_vectors(model: Any, texts: list[str], role: Role, prompt: str) -> SparseVectors:
    """Those of a batch, on the device where the model is."""
    encode = model.encode_query if role == "query" else model.encode_document
    found = encode(texts, prompt=prompt, batch_size=len(texts), show_progress_bar=False, save_to_cpu=True)
    return _read(found.coalesce())


def _read(matrix: Any) -> SparseVectors:
    """A sparse tensor of torch."""
    text, column = matrix.indices().numpy()
    offsets = offsets_of(np.bincount(text, minlength=matrix.shape[0]))
    return SparseVectors.of(offsets, column, matrix.values().float().numpy(), dimension=matrix.shape[1])


def from_options(id: str, revision: str | None, given: Mapping[str, str], settings: Settings) -> TransformerSparse:
    """The encoder of a folder or of a repository of the hub; variants of one search share one that is loaded."""
    return _loaded(id, revision, known(given, settings), settings)


@lru_cache(maxsize=2)
def _loaded(id: str, revision: str | None, given: tuple[tuple[str, str], ...], settings: Settings) -> TransformerSparse:
    options = Options(f"sparse:{id}", dict(given), (*OPTIONS, *prompts.OPTIONS, "batch_tokens", "similarity_fn_name"))
    loading = Loading.of(options)
    library("SparseEncoder")
    folder = ModelFolder.find(id, revision, hub=options.choice("hub", HUBS), settings=settings)
    return TransformerSparse(folder, loading, options)
