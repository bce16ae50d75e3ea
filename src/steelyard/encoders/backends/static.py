"""Static embeddings of model2vec: the mean of the vectors of a text's tokens, thousands of texts per second."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from importlib import metadata
from typing import Any

import numpy as np

from steelyard.encoders import prompts
from steelyard.encoders.batching import replace_surrogates
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.encoders.deferred import deferred
from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.token_starts import starts_of_tokenizer
from steelyard.errors import MissingPart, ModelError
from steelyard.options import Options
from steelyard.types import Float32, Int64, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.similarity import SIMILARITIES

OPTIONS = ("batch_size", "dtype", "max_seq_length", "similarity_fn_name", "truncate_dim", *prompts.ALL_OPTIONS)
DTYPES = ("float32", "float16")
"""The dtypes of the table of vectors; means are always 32-bit floats."""
BATCH = 1024


class DenseStatic(prompts.PromptsByTask):
    """A model of model2vec. It reads at most 512 tokens of a text, unless the model or an option sets another limit."""

    def __init__(self, folder: ModelFolder, options: Options) -> None:
        self.name = folder.name
        self.similarity = options.choice("similarity_fn_name", SIMILARITIES)
        self._folder = folder
        self._batch_size = options.whole("batch_size", BATCH)
        self._truncate = options.whole("truncate_dim", None)
        self._dtype = options.choice("dtype", DTYPES)
        self._model = _load(folder, self._truncate, self._dtype)
        self._tokenizer = self._model.tokenizer = _CountingTokenizer(self._model.tokenizer)
        self._limit: int | None = options.whole("max_seq_length", self._model.max_length)
        declared = folder.json_object("config_sentence_transformers.json")
        own, default = declared.get("prompts") or {}, declared.get("default_prompt_name")
        self._choose = partial(prompts.all_prompts, own, options, default)
        self._prompts = self._choose()
        self._texts_seen = self._texts_truncated = 0

    @cached_property
    def settings(self) -> ModelSettings:
        """Everything that could change a vector."""
        return {
            "encoder": self.name,
            "weights": self._folder.weights,
            "revision": self._folder.revision,
            "prompts": self._prompts,
            "max_seq_length": self._limit,
            "truncate_dim": self._truncate,
            "dtype": self._dtype,
            "library": f"model2vec {metadata.version('model2vec')}",
            "symmetric": True,
        }

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._model.dim)

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Return the vectors in the order of the texts; a text without a known token has the zero vector."""
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), self._batch_size):
            part = [
                replace_surrogates(self._prompts.get(role, "") + text)
                for text in texts[start : start + self._batch_size]
            ]
            vectors[start : start + len(part)] = self._model.encode(
                part, max_length=self._limit, batch_size=self._batch_size, use_multiprocessing=False
            )
            self._texts_seen += len(part)
            self._texts_truncated += self._count_truncated(part)
            tick(len(part))
        return vectors

    def token_starts(self, texts: Sequence[str]) -> list[Int64]:
        """Return where the tokens of each text start."""
        self._model.tokenizer.no_truncation()
        return starts_of_tokenizer(self._model.tokenizer, texts, self.name)

    def _count_truncated(self, texts: list[str]) -> int:
        """Count what was truncated of the texts just encoded, also before it was tokenised, by characters."""
        if self._limit is None:
            return 0
        characters = self._limit * self._model.median_token_length
        pairs = zip(texts, self._tokenizer.truncated, strict=True)
        return sum(truncated or len(text) > characters for text, truncated in pairs)

    def account(self) -> ModelSettings:
        """Return how many texts were truncated since the last call."""
        seen, truncated = self._texts_seen, self._texts_truncated
        self._texts_seen = self._texts_truncated = 0
        return {"texts_cut": truncated} if seen else {}


class _CountingTokenizer:
    """The tokenizer of a model, which remembers the texts that it truncated: to count them apart takes as long."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.truncated: list[bool] = []
        """Whether each text of the last batch was truncated."""

    def encode_batch_fast(self, texts: Sequence[str], **options: Any) -> list[Any]:
        """Return what the tokenizer returns."""
        encodings: list[Any] = self._tokenizer.encode_batch_fast(texts, **options)
        self.truncated = [bool(encoding.overflowing) for encoding in encodings]
        return encodings

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)


def _load(folder: ModelFolder, dimension: int | None, dtype: str) -> Any:
    try:
        library: Any = importlib.import_module("model2vec")
    except ImportError as error:
        raise MissingPart.extra("model2vec", "static") from error
    try:
        return library.StaticModel.from_pretrained(
            folder.path, dimensionality=dimension, quantize_to=None if dtype == "float32" else dtype
        )
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            f"model2vec cannot load {folder.id}: {error}", hint="check that it is a model of model2vec"
        ) from error


def from_folder(folder: ModelFolder, raw_options: Mapping[str, str]) -> DenseStatic:
    """Return the encoder of a folder, opened when it encodes."""
    options = Options(f"dense:{folder.id}", raw_options, OPTIONS, NOT_FOR["static"])
    encoder: DenseStatic = deferred(DenseStatic, folder, raw_options, lambda: DenseStatic(folder, options))
    return encoder
