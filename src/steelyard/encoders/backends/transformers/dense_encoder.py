"""Vectors from sentence-transformers: any model that it loads, as the model declares itself, but for what is asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

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
from steelyard.encoders.by_length import EncodesByLength
from steelyard.encoders.devices.worker_pool import Job
from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.pooling import POOLING_MODES
from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.types import Float32, Int64, Role
from steelyard.types.protocols import ModelSettings
from steelyard.vectors.similarity import similarity

OWN_OPTIONS = (
    "batch_tokens",
    "encode_kwargs",
    "pooling_mode",
    "processor_kwargs",
    "similarity_fn_name",
    "truncate_dim",
)
ALL_OPTIONS = tuple(sorted({*OPTIONS, *OWN_OPTIONS, *prompts.OPTIONS, *prompts.TEXT_OPTIONS}))
NOT_TO_GIVE = {"batch_size", "convert_to_numpy", "convert_to_tensor", "device", "output_value", "pool", "precision"}
NOT_TO_GIVE |= {"chunk_size", "inputs", "prompt", "prompt_name", "sentences", "show_progress_bar", "truncate_dim"}
"""Arguments of `encode` that are options of their own, or would make something other than vectors of it."""


class DenseTransformer(prompts.PromptsByTask, EncodesByLength):
    """A model of sentence-transformers."""

    _too_long = "a smaller max_seq_length, a smaller dtype, or another device"

    def __init__(self, folder: ModelFolder, options: Options) -> None:
        self.name = folder.name
        self._folder = folder
        self._loading = Loading.of(options)
        self._more = self._encode_arguments(options)
        self._processor = options.json_object("processor_kwargs")
        self._model = self._load(options)
        set_pooling_mode(self._model, options.choice("pooling_mode", ("", *POOLING_MODES)), self.name)
        if self._loading.max_seq_length is not None:
            self._model.max_seq_length = self._loading.max_seq_length
        self.similarity = similarity(str(self._model.similarity_fn_name), self.name).name
        self._choose = partial(prompts.all_prompts, self._model.prompts, options, self._model.default_prompt_name)
        self._prompts = self._choose()
        self._limit = _finite(self._model.max_seq_length)
        devices = self._loading.devices
        super().__init__(crew_of(self._model, devices, vectors), batch_size(options, devices))

    def _load(self, options: Options) -> Any:
        """The model, on its device; what the library says while loading it is not for the terminal."""
        if (kind := saved_as(self._folder)) not in (None, "SentenceTransformer"):
            what = "its transformer with mean pooling, without the prompts that it declares"
            warnings.warn(f"{self._folder.id} was saved as a {kind}; as a dense model it is {what}", stacklevel=2)
        encoder = library("SentenceTransformer")
        arguments = self._loading.arguments
        arguments["truncate_dim"] = options.whole("truncate_dim", None)
        asked = options.text("similarity_fn_name")
        arguments["similarity_fn_name"] = similarity(asked, self.name).name if asked else None
        arguments["processor_kwargs"] = self._processor
        try:
            return load_whole(self._folder, lambda: encoder(str(self._folder.path), **arguments))
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
            raise failed_to_load(self.name, error) from error

    def _encode_arguments(self, options: Options) -> dict[str, Any]:
        given = options.json_object("encode_kwargs")
        if taken := sorted(NOT_TO_GIVE & set(given)):
            raise UsageError(
                f"{', '.join(taken)} cannot be given in encode_kwargs", hint="see the options of the model"
            )
        return given

    @cached_property
    def settings(self) -> ModelSettings:
        """Everything that could change a vector."""
        pooling = [module.pooling_mode for module in self._model if hasattr(module, "pooling_mode")]
        return {
            "encoder": self.name,
            "weights": self._folder.weights,
            "revision": self._folder.revision,
            "prompts": self._prompts,
            "max_seq_length": self._limit,
            "pooling_mode": pooling[0] if pooling and isinstance(pooling[0], str) else pooling,
            "truncate_dim": self._model.truncate_dim,
            "encode_kwargs": self._more,
            "processor_kwargs": self._processor,
            "symmetric": not self._routes,
            **self._loading.settings,
        }

    @property
    def _routes(self) -> bool:
        """Whether queries and documents take different ways through the model."""
        return any(type(module).__name__ == "Router" for module in self._model)

    @cached_property
    def dimension(self) -> int:
        """Length of a vector."""
        known = self._model.get_embedding_dimension()
        return int(known) if known else int(vectors(self._model, *self._job(["steelyard"], "document")).shape[1])

    def _prepared(self, texts: list[str], role: Role) -> tuple[Int64, Callable[[Int64], Job]]:
        return self._lengths(texts, role), lambda rows: self._job([texts[row] for row in rows], role)

    def _job(self, texts: list[str], role: Role) -> Job:
        return texts, role, self._prompts.get(role, ""), self._more

    def _lengths(self, texts: list[str], role: Role) -> Int64:
        """Tokens that the model reads of each text, marks included; counts those that have more."""
        lengths = token_counts(self._model, [self._prompts.get(role, "") + text for text in texts])
        self._seen += len(texts)
        if self._limit is None:
            return lengths
        self._cut += int((lengths > self._limit).sum())
        return np.minimum(lengths, self._limit)


def vectors(model: Any, texts: list[str], role: Role, prompt: str, more: Mapping[str, Any]) -> Float32:
    """A batch, on the device where the model is."""
    ways = {"query": model.encode_query, "document": model.encode_document, "text": model.encode}
    found = ways[role](
        texts,
        prompt=prompt,
        batch_size=len(texts),
        show_progress_bar=False,
        convert_to_numpy=False,
        convert_to_tensor=True,
        **more,
    )
    return np.asarray(found.float().cpu().numpy(), dtype=np.float32)


def set_pooling_mode(model: Any, mode: str, name: str) -> None:
    """Pool in that way; the mode that the model has already, or none, changes nothing. Other modules stay."""
    places = [key for key, module in model.named_children() if hasattr(module, "pooling_mode")]
    if not mode:
        return
    if not places:
        raise UsageError(f"the model {name} has no pooling to change", hint="leave out pooling_mode")
    key = places[0]
    old = model.get_submodule(key)
    if old.pooling_mode == mode:
        return
    new = type(old)(old.embedding_dimension, pooling_mode=mode, include_prompt=old.include_prompt)
    after = list(model.children())[list(dict(model.named_children())).index(key) + 1 :]
    if new.get_embedding_dimension() != old.get_embedding_dimension() and any(list(m.parameters()) for m in after):
        raise UsageError(
            f"{name} pools by {', '.join(old.pooling_mode)} together, and what follows needs all of it",
            hint="leave out pooling_mode",
        )
    setattr(model, key, new)


def token_counts(model: Any, texts: list[str]) -> Int64:
    """Tokens of each text, marks included; a quarter of its characters where the model has no tokenizer for text."""
    tokenizer: Any = getattr(model, "tokenizer", None)
    if hasattr(tokenizer, "encode_batch"):
        found = [len(encoding.ids) for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
    elif callable(tokenizer) and texts:
        ids = tokenizer(texts, truncation=False, padding=False, return_attention_mask=False, verbose=False)["input_ids"]
        found = [len(text) for text in ids]
    else:
        found = [1 + len(text) // 4 for text in texts]
    return np.array(found, dtype=np.int64)


def _finite(limit: float | None) -> int | None:
    return None if limit is None or limit == float("inf") else int(limit)


def from_folder(folder: ModelFolder, given: Mapping[str, str]) -> DenseTransformer:
    """The encoder of a folder; variants of one search share one that is loaded."""
    return _loaded(folder, folder.weights, known(given, folder.settings))


@lru_cache(maxsize=2)
def _loaded(folder: ModelFolder, weights: str, given: tuple[tuple[str, str], ...]) -> DenseTransformer:
    return DenseTransformer(folder, Options(f"dense:{folder.id}", dict(given), ALL_OPTIONS))
