"""Cross-encoders as ONNX files: `rerank:FOLDER` with `model.onnx` and `tokenizer.json`, without torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from importlib import metadata

import numpy as np

from steelyard.encoders.backends.onnx_session import (
    OnnxSession,
    depends_on_batch,
    load_tokenizer,
    model_file,
    open_sessions,
    pad,
    weights_hash,
)
from steelyard.encoders.batching import BatchSize
from steelyard.encoders.compute_options import NOT_FOR, Compute
from steelyard.encoders.deferred import deferred
from steelyard.encoders.devices.worker_pool import LocalWorker, WorkerPool
from steelyard.encoders.instructions import OPTIONS as INSTRUCTION_OPTIONS
from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.model_metadata import ModelConfig
from steelyard.encoders.token_starts import starts_of_tokenizer
from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.retrievers.rerank.pair_batches import PairReranker, chosen_label
from steelyard.types import Float32, Int64
from steelyard.types.protocols import ModelSettings

OPTIONS = (
    *("activation", "batch_size", "batch_tokens", "device", "document_prompt", "file_name", "first", "label"),
    *("max_length", "query_prompt", "threads", "tokenizer", *INSTRUCTION_OPTIONS),
)
ACTIVATIONS = ("model", "identity", "sigmoid", "softmax")
DECLARED = {"Identity": "identity", "Sigmoid": "sigmoid"}
"""Activations that a model can declare, by the name of their class in torch."""
BATCH_PAIRS, BATCH_TOKENS = 64, 4_096


class OnnxCrossEncoder(PairReranker):
    """An ONNX file that returns a score, or one for each label, for a pair of texts.

    If activations are quantised over the batch, a score depends on the other pairs: such a model gets one pair at a
    time, unless `batch_size` is set; then it is part of the settings.
    """

    def __init__(self, folder: ModelFolder, options: Options, name: str) -> None:
        self.name = name
        self._folder = folder
        self._file = model_file(folder, options.text("file_name"))
        sessions = open_sessions(self._file, Compute.of(options, folder.settings.device), pooled=True)
        self._session = sessions[0]
        if self._session.gives_states:
            raise UsageError.invalid(
                f"the output of {self._file}",
                expected="a score for each pair",
                found="states of tokens",
                hint="use a model for sequence classification",
            )
        self._by_batch = depends_on_batch(self._file)
        pairs: int = options.whole("batch_size", 1 if self._by_batch else BATCH_PAIRS)
        size = BatchSize(self._session.batch or pairs, options.whole("batch_tokens", BATCH_TOKENS))
        super().__init__(
            options, WorkerPool([LocalWorker(partial(self._predict, session)) for session in sessions]), size
        )
        max_length = options.whole("max_length", ModelConfig(folder, options.text("tokenizer")).limit)
        fixed = self._session.length
        self._max_length = max_length if fixed is None else min(max_length or fixed, fixed)
        self._tokenizer_name = options.text("tokenizer")
        self._tokenizer, self._pad = load_tokenizer(folder, self._tokenizer_name, self._max_length)
        self._counting, _ = load_tokenizer(folder, self._tokenizer_name, None)
        self._document_first = options.choice("first", ("query", "document")) == "document"
        labels = self._logits(self._session, [("steelyard", "steelyard")]).shape[1]
        self._label = chosen_label(labels, options.whole("label", None, minimum=0), folder.id)
        chosen = options.choice("activation", ACTIVATIONS)
        self._activation = declared_activation(folder, labels) if chosen == "model" else chosen
        if self._activation == "softmax" and self._label is None:
            raise UsageError(
                f"activation=softmax must be used with a model of several labels, got one score from {folder.id}",
                hint="use activation=identity or activation=sigmoid",
                option="activation",
            )

    @cached_property
    def settings(self) -> ModelSettings:
        """Return everything that could change a score."""
        return {
            "reranker": self._folder.name,
            "revision": self._folder.revision,
            "weights": weights_hash(self._folder, self._file),
            "file": self._file.relative_to(self._folder.path).as_posix(),
            "tokenizer": self._tokenizer_name,
            "max_length": self._limit,
            "first": "document" if self._document_first else "query",
            "activation": self._activation,
            "label": self._label,
            "query_prompt": self._prompts["query"],
            "document_prompt": self._prompts["document"],
            "batch_size": self._size.texts if self._by_batch else None,
            "library": f"onnxruntime {metadata.version('onnxruntime')}",
        }

    @property
    def _limit(self) -> int | None:
        return self._max_length

    def token_starts(self, texts: Sequence[str]) -> list[Int64]:
        """Return where the tokens of each text start."""
        return starts_of_tokenizer(self._counting, texts, self.name)

    def _tokens(self, texts: list[str]) -> Int64:
        encodings = self._counting.encode_batch(texts, add_special_tokens=False)
        return np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64)

    def _predict(self, session: OnnxSession, pairs: list[tuple[str, str]]) -> Float32:
        """Return the score of each pair."""
        logits = self._logits(session, pairs)
        if self._activation == "softmax":  # its logarithm: the same order, without rounding to 1
            top = logits.max(axis=1, keepdims=True)
            logits = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
        scores = logits[:, self._label or 0]
        return (1 / (1 + np.exp(-scores))).astype(np.float32) if self._activation == "sigmoid" else scores

    def _logits(self, session: OnnxSession, pairs: list[tuple[str, str]]) -> Float32:
        """Pad and run. If the file has a fixed size, the batch is filled up to it."""
        ordered = [(document, query) for query, document in pairs] if self._document_first else pairs
        encodings = self._tokenizer.encode_batch(ordered)
        lines = max(len(pairs), session.batch or 0)
        length = session.length or max(len(encoding.ids) for encoding in encodings)
        ids = pad([encoding.ids for encoding in encodings], lines, length, self._pad)
        mask, types = (
            pad([getattr(encoding, part) for encoding in encodings], lines, length, 0)
            for part in ("attention_mask", "type_ids")
        )
        return session.run(ids, mask, types)[: len(pairs)]


def declared_activation(folder: ModelFolder, labels: int) -> str:
    """Return the activation of a model as sentence-transformers chooses it: declared, or by the number of labels."""
    config = folder.json_object("config.json")
    inner = config.get("sentence_transformers")
    places = (
        folder.json_object("config_sentence_transformers.json").get("activation_fn"),
        inner.get("activation_fn") if isinstance(inner, Mapping) else None,
        config.get("sbert_ce_default_activation_function"),
    )
    path = next((str(place) for place in places if place), None)
    if path is None or not path.startswith("torch."):  # the library does not import other paths either
        return "sigmoid" if labels == 1 else "identity"
    if (name := path.rpartition(".")[2]) not in DECLARED:
        raise UsageError.invalid(
            f"the activation of {folder.id}",
            expected=f"one of {', '.join(DECLARED)}",
            found=path,
            hint="add activation=identity or activation=sigmoid to the options of the model",
            option="activation",
        )
    return DECLARED[name]


def from_folder(folder: ModelFolder, options: Mapping[str, str], name: str) -> OnnxCrossEncoder:
    """Return the reranker of a folder, opened when it scores."""
    parsed = Options(f"rerank:{folder.id}", options, OPTIONS, NOT_FOR["onnx"])
    weights = weights_hash(folder, model_file(folder, parsed.text("file_name")))
    reranker: OnnxCrossEncoder = deferred(
        OnnxCrossEncoder,
        folder,
        options,
        lambda: OnnxCrossEncoder(folder, parsed, name),
        name,
        weights=weights,
        related=("batch_size",),
    )
    return reranker
