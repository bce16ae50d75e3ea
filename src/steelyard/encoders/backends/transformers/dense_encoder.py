"""Dense vectors from sentence-transformers, with the model's own settings unless options change them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from steelyard.encoders import prompts
from steelyard.encoders.backends.transformers.device_process import device_pool
from steelyard.encoders.backends.transformers.loading import (
    BATCH_TOKENS,
    OPTIONS,
    LoadOptions,
    batch_size,
    cache_key,
    import_class,
    load_complete,
    load_error,
    saved_class,
)
from steelyard.encoders.backends.transformers.packed_bert import (
    Ids,
    PackedBert,
    computation_of,
    compute_packed,
    divided_threads,
    packed_bert,
    release_weights,
    workers,
)
from steelyard.encoders.backends.transformers.span_vectors import check_pooling, span_vectors
from steelyard.encoders.batching import BatchedEncoder
from steelyard.encoders.deferred import deferred
from steelyard.encoders.devices.worker_pool import Job, LocalWorker, WorkerPool
from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.pooling import POOLING_MODES
from steelyard.encoders.token_starts import starts_of_tokenizer
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
ALL_OPTIONS = tuple(sorted({*OPTIONS, *OWN_OPTIONS, *prompts.ALL_OPTIONS}))
RESERVED_ARGUMENTS = {
    "batch_size",
    "convert_to_numpy",
    "convert_to_tensor",
    "device",
    "output_value",
    "pool",
    "precision",
}
RESERVED_ARGUMENTS |= {
    "chunk_size",
    "inputs",
    "prompt",
    "prompt_name",
    "sentences",
    "show_progress_bar",
    "truncate_dim",
}
"""Arguments of `encode` that have options of their own, or that would return something other than vectors."""


PACKED_TOKENS = 1_024
"""Tokens of a batch without padding: more do not fit into the cache of a core."""
TOKENISED_TEXTS = 1_024
"""Texts tokenised at a time: ids as Python integers take ten times the memory."""
MIN_TEXTS = 16
"""The least number of rows that a dense layer after pooling computes with the same rounding as any larger number."""


class DenseTransformer(prompts.PromptsByTask, BatchedEncoder):
    """A model of sentence-transformers."""

    _memory_hint = "use a smaller max_seq_length, a smaller dtype, or another device"

    def __init__(self, folder: ModelFolder, options: Options) -> None:
        self.name = folder.name
        self._folder = folder
        self._loading = LoadOptions.of(options)
        self._encode_kwargs = self._read_encode_kwargs(options)
        self._processor_kwargs = options.json_object("processor_kwargs")
        self._model = self._load(options)
        set_pooling_mode(self._model, options.choice("pooling_mode", ("", *POOLING_MODES)), self.name)
        if self._loading.max_seq_length is not None:
            self._model.max_seq_length = self._loading.max_seq_length
        self.similarity = similarity(str(self._model.similarity_fn_name), self.name).name
        self._choose = partial(prompts.all_prompts, self._model.prompts, options, self._model.default_prompt_name)
        self._prompts = self._choose()
        self._limit = _finite(self._model.max_seq_length)
        devices = self._loading.devices
        self._packed = None
        if set(devices) == {"cpu"} and not self._processor_kwargs:
            self._packed = packed_bert(
                self._model, partial(tokenise, self._model.tokenizer, limit=self._limit), self._encode_kwargs
            )
        size = batch_size(options, devices, PACKED_TOKENS if self._packed else BATCH_TOKENS, reproducible=True)
        size.packed, size.equal_lengths = self._packed is not None, self._packed is None and size.equal_lengths
        if any(list(module.parameters()) for module in list(self._model.children())[1:]):
            size.min_texts = MIN_TEXTS
        threads = self._loading.threads
        pool = device_pool(self._model, devices, compute_packed if self._packed else compute_vectors, threads)
        if self._packed is not None and len(devices) == 1:
            release_weights(self._model)
            pool = WorkerPool([LocalWorker(partial(_without_model, self._packed)) for _ in range(workers(threads))])
        super().__init__(pool, size)

    def _load(self, options: Options) -> Any:
        """Load the model on its device."""
        if (kind := saved_class(self._folder)) not in (None, "SentenceTransformer"):
            warnings.warn(
                f"{self._folder.id} was saved as a {kind}; as a dense model it uses mean pooling and not its "
                "declared prompts",
                stacklevel=2,
            )
        encoder = import_class("SentenceTransformer")
        arguments = self._loading.arguments
        arguments["truncate_dim"] = options.whole("truncate_dim", None)
        requested = options.text("similarity_fn_name")
        arguments["similarity_fn_name"] = similarity(requested, self.name).name if requested else None
        arguments["processor_kwargs"] = self._processor_kwargs
        try:
            return load_complete(self._folder, lambda: encoder(str(self._folder.path), **arguments))
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
            raise load_error(self.name, error) from error

    def _read_encode_kwargs(self, options: Options) -> dict[str, Any]:
        arguments = options.json_object("encode_kwargs")
        if reserved := sorted(RESERVED_ARGUMENTS & set(arguments)):
            raise UsageError(
                f"encode_kwargs must not contain {', '.join(reserved)}",
                option="encode_kwargs",
                found=reserved,
                hint="use the model's options instead",
            )
        return arguments

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
            "encode_kwargs": self._encode_kwargs,
            "processor_kwargs": self._processor_kwargs,
            "symmetric": not self._routes,
            **self._loading.settings,
        }

    @cached_property
    def computation(self) -> int:
        """The version of the computation: part of the key of stored vectors, not of results."""
        return computation_of(self._model)

    @property
    def _routes(self) -> bool:
        """Whether queries and documents use different modules of the model."""
        return any(type(module).__name__ == "Router" for module in self._model)

    @cached_property
    def dimension(self) -> int:
        """Length of a vector."""
        known = self._model.get_embedding_dimension()
        return (
            int(known) if known else int(compute_vectors(self._model, *self._job(["steelyard"], "document")).shape[1])
        )

    def token_starts(self, texts: Sequence[str]) -> list[Int64]:
        """Return where the tokens of each text start."""
        return starts_of_tokenizer(getattr(self._model, "tokenizer", None), texts, self.name)

    def encode_parts(self, texts: Sequence[str], role: Role) -> Generator[tuple[Int64, Float32], None, None]:
        """Yield the rows and vectors of each batch as it is ready; batches without padding are computed in parallel."""
        if self._packed is None:
            yield from super().encode_parts(texts, role)
            return
        with divided_threads(len(self._pool), self._loading.threads):
            yield from super().encode_parts(texts, role)

    def check_spans(self) -> None:
        """Raise a UsageError if vectors are not means over all tokens of the text."""
        check_pooling(self._model, self.name, self._prompts.get("document", ""))

    def span_tokens(self, title: str) -> int | None:
        """Return how many tokens the model reads after the prompt and a title; None without a limit."""
        if self._limit is None:
            return None
        before = self._prompts.get("document", "") + (f"{title} " if title else "")
        return max(1, self._limit - int(token_counts(self._model, [before])[0]))

    def encode_spans(self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> list[Float32]:
        """Return a vector for each span of each document, from one reading of its text."""
        prompt = self._prompts.get("document", "")
        return span_vectors(self._model, self._packed, texts, spans, prompt, self._limit, self._loading.threads)

    def _prepare(self, texts: list[str], role: Role) -> tuple[Int64, Callable[[Int64], Job]]:
        if self._packed is None:
            return self._lengths(texts, role), lambda rows: self._job([texts[row] for row in rows], role)
        prompt = self._prompts.get(role, "")
        ids, truncated = tokenise(self._model.tokenizer, [prompt + text for text in texts], self._limit)
        self._texts_seen += len(texts)
        self._texts_truncated += truncated
        normalise = bool(self._encode_kwargs.get("normalize_embeddings"))
        return np.array(list(map(len, ids)), dtype=np.int64), lambda rows: ([ids[row] for row in rows], normalise)

    def _job(self, texts: list[str], role: Role) -> Job:
        return texts, role, self._prompts.get(role, ""), self._encode_kwargs

    def _lengths(self, texts: list[str], role: Role) -> Int64:
        """Return the tokens that the model reads of each text, special tokens included; count truncated texts."""
        lengths = token_counts(self._model, [self._prompts.get(role, "") + text for text in texts])
        self._texts_seen += len(texts)
        if self._limit is None:
            return lengths
        self._texts_truncated += int((lengths > self._limit).sum())
        return np.minimum(lengths, self._limit)


def _without_model(packed: PackedBert, ids: Sequence[Ids], _: bool) -> Float32:
    """Return the vectors of a batch; arguments as in the processes of several devices."""
    return packed(ids)


def compute_vectors(model: Any, texts: list[str], role: Role, prompt: str, arguments: Mapping[str, Any]) -> Float32:
    """Return the vectors of a batch, computed on the device of the model."""
    methods = {"query": model.encode_query, "document": model.encode_document, "text": model.encode}
    vectors = methods[role](
        texts,
        prompt=prompt,
        batch_size=len(texts),
        show_progress_bar=False,
        convert_to_numpy=False,
        convert_to_tensor=True,
        **arguments,
    )
    return np.asarray(vectors.float().cpu().numpy(), dtype=np.float32)


def set_pooling_mode(model: Any, mode: str, name: str) -> None:
    """Set the pooling mode of a model; an empty mode changes nothing."""
    keys = [key for key, module in model.named_children() if hasattr(module, "pooling_mode")]
    if not mode:
        return
    if not keys:
        raise UsageError(
            f"the model {name} does not have a pooling module", option="pooling_mode", hint="remove pooling_mode"
        )
    key = keys[0]
    old = model.get_submodule(key)
    if old.pooling_mode == mode:
        return
    new = type(old)(old.embedding_dimension, pooling_mode=mode, include_prompt=old.include_prompt)
    after = list(model.children())[list(dict(model.named_children())).index(key) + 1 :]
    if new.get_embedding_dimension() != old.get_embedding_dimension() and any(list(m.parameters()) for m in after):
        raise UsageError(
            f"the modules after pooling in {name} need {', '.join(old.pooling_mode)} together",
            option="pooling_mode",
            hint="remove pooling_mode",
        )
    setattr(model, key, new)


def token_counts(model: Any, texts: list[str]) -> Int64:
    """Return the tokens of each text, special tokens included; an estimate if the model has no text tokenizer."""
    tokenizer: Any = getattr(model, "tokenizer", None)
    if hasattr(tokenizer, "encode_batch"):
        counts = [len(encoding.ids) for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
    elif callable(tokenizer) and texts:
        counts = [len(text) for text in token_ids(tokenizer, texts)]
    else:
        counts = [1 + len(text) // 4 for text in texts]
    return np.array(counts, dtype=np.int64)


def token_ids(tokenizer: Any, texts: list[str], **arguments: Any) -> list[list[int]]:
    """Return the ids of the tokens of each text, special tokens included; complete unless the arguments truncate."""
    silent = {"padding": False, "return_attention_mask": False, "return_token_type_ids": False, "verbose": False}
    ids: list[list[int]] = tokenizer(texts, **{"truncation": False, **silent, **arguments})["input_ids"]
    return ids


def tokenise(tokenizer: Any, texts: list[str], limit: int | None) -> tuple[list[Ids], int]:
    """Return the token ids of each text, truncated to the limit, and how many texts were truncated."""
    ids: list[Ids] = []
    truncated = 0
    for start in range(0, len(texts), TOKENISED_TEXTS):
        part = texts[start : start + TOKENISED_TEXTS]
        complete = token_ids(tokenizer, part)
        if limit is not None and (rows := [row for row, text in enumerate(complete) if len(text) > limit]):
            shorter = token_ids(tokenizer, [part[row] for row in rows], truncation="longest_first", max_length=limit)
            for row, text in zip(rows, shorter, strict=True):
                complete[row] = text
            truncated += len(rows)
        ids += [np.array(text, dtype=np.int32) for text in complete]
    return ids, truncated


def _finite(limit: float | None) -> int | None:
    return None if limit is None or limit == float("inf") else int(limit)


def from_folder(folder: ModelFolder, raw_options: Mapping[str, str]) -> DenseTransformer:
    """Return the encoder of a folder, opened when it encodes; variants of one model share the loaded one."""
    key = cache_key(raw_options, folder.settings)
    encoder: DenseTransformer = deferred(
        DenseTransformer, folder, raw_options, lambda: _loaded(folder, folder.weights, key)
    )
    return encoder


@lru_cache(maxsize=2)
def _loaded(folder: ModelFolder, weights: str, raw_options: tuple[tuple[str, str], ...]) -> DenseTransformer:
    return DenseTransformer(folder, Options(f"dense:{folder.id}", dict(raw_options), ALL_OPTIONS))
