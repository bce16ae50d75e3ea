"""Sparse vectors from sentence-transformers: SPLADE and its kin, inference-free ones, sparse autoencoders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.torch_model import OPTIONS, Loading, count_cut, failed_to_load, library, prompts_of, quiet
from steelyard.errors import UsageError
from steelyard.protocols import Settings, Tick, no_tick
from steelyard.services.options import Options
from steelyard.types import Role
from steelyard.vectors.ragged import offsets_of
from steelyard.vectors.sparse import SparseVectors

SIMILARITIES = ("dot", "cosine")
TICK = 4
"""Batches between two ticks."""


class TransformerSparse:
    """A sparse encoder; `similarity` is `dot` or `cosine`, as the model declares it."""

    storable = True

    def __init__(self, folder: ModelFolder, loading: Loading, similarity: str | None = None) -> None:
        self.name = folder.id
        self._folder = folder
        self._loading = loading
        encoder = library("SparseEncoder")
        try:
            with quiet():
                self._model: Any = encoder(str(folder.path), **loading.arguments)
        except (OSError, ValueError, KeyError) as error:
            raise failed_to_load(folder.id, error) from error
        if loading.max_seq_length is not None:
            self._model.max_seq_length = loading.max_seq_length
        self.similarity = similarity or str(self._model.similarity_fn_name)
        if self.similarity not in SIMILARITIES:
            raise UsageError(
                f"{self.name} compares by {self.similarity}, which an inverted index cannot do",
                hint=f"similarity_fn_name={' or '.join(SIMILARITIES)}",
            )
        self._prompts = prompts_of(self._model, loading)
        self._cut = 0

    @cached_property
    def settings(self) -> Settings:
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
        prompt = self._prompts[role]
        self._cut += count_cut(self._model.tokenizer, [prompt + text for text in texts], self._limit)
        encode = self._model.encode_query if role == "query" else self._model.encode_document
        parts = []
        step = TICK * self._loading.batch_size
        for start in range(0, len(texts), step):
            part = list(texts[start : start + step])
            matrix = encode(
                part,
                prompt=prompt,
                batch_size=self._loading.batch_size,
                show_progress_bar=False,
                save_to_cpu=True,
            ).coalesce()
            text, column = matrix.indices().numpy()
            counts = np.bincount(text, minlength=len(part))
            weights = matrix.values().float().numpy()
            parts.append(SparseVectors.of(offsets_of(counts), column, weights, dimension=matrix.shape[1]))
            tick(len(part))
        nothing = SparseVectors.from_dense(np.empty((0, int(self._model.get_embedding_dimension() or 0))))
        return SparseVectors.joined([nothing, *parts])

    def account(self) -> Settings:
        """How many texts were longer than the model reads."""
        cut, self._cut = self._cut, 0
        return {"texts_cut": cut}


def from_options(id: str, revision: str | None, given: Mapping[str, str]) -> TransformerSparse:
    """The encoder of a folder or of a repository of the hub; variants of one search share one that is loaded."""
    return _loaded(id, revision, tuple(sorted(given.items())))


@lru_cache(maxsize=2)
def _loaded(id: str, revision: str | None, given: tuple[tuple[str, str], ...]) -> TransformerSparse:
    options = Options(f"sparse:{id}", dict(given), (*OPTIONS, "similarity_fn_name"))
    loading = Loading.of(options)
    library("SparseEncoder")
    similarity = options.choice("similarity_fn_name", SIMILARITIES) if "similarity_fn_name" in options.given else None
    return TransformerSparse(ModelFolder.find(id, revision), loading, similarity)
