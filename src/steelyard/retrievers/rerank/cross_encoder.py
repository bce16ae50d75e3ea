"""Cross-encoders of sentence-transformers as rerankers: the model reads query and document together."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.backends.onnx_session import download_patterns
from steelyard.encoders.backends.transformers.device_process import device_pool
from steelyard.encoders.backends.transformers.loading import LoadOptions, batch_size, import_class, load_complete
from steelyard.encoders.compute_options import COMPUTE
from steelyard.encoders.deferred import deferred
from steelyard.encoders.instructions import OPTIONS as INSTRUCTION_OPTIONS
from steelyard.encoders.load import detect_backend
from steelyard.encoders.model_folder import HUBS, ModelFolder
from steelyard.encoders.token_starts import starts_of_tokenizer
from steelyard.errors import ModelError
from steelyard.options import Options
from steelyard.retrievers.rerank import yes_no
from steelyard.retrievers.rerank.pair_batches import PairReranker, chosen_label
from steelyard.spec import ModelSpec
from steelyard.types import Float32, Int64
from steelyard.types.protocols import ModelSettings, Reranker

OPTIONS = (
    *("activation", "batch_size", "batch_tokens", "config_kwargs", "document_prompt", *COMPUTE, *INSTRUCTION_OPTIONS),
    *("label", "max_length", "model_kwargs", "prompt", "query_prompt", "trust_remote_code"),
)
BACKENDS = ("auto", "sentence-transformers", "onnx", "yes-no")
ACTIVATIONS = ("model", "identity", "sigmoid", "auto")
"""`auto` is an old spelling of `model`."""

PAIR_TOKENS = 2048
"""Tokens of a batch on a CPU: larger ones leave its cache, and take 1.4 times the processor time."""


class CrossEncoderReranker(PairReranker):
    """A cross-encoder of sentence-transformers, with the activation that the model declares, as in the library."""

    def __init__(self, folder: ModelFolder, options: Options, name: str) -> None:
        self.name = name
        self._folder = folder
        self._options = options
        self._loading = LoadOptions.of(options, folder.settings.device)
        self._model = self._load()
        # Before version 6 of the library, this attribute had another name.
        self._length = "max_seq_length" if hasattr(self._model, "max_seq_length") else "max_length"
        if (max_length := options.whole("max_length", None)) is not None:
            setattr(self._model, self._length, max_length)
        self._label = chosen_label(int(self._model.num_labels), options.whole("label", None, minimum=0), folder.id)
        self._activation = self._activation_function(options.choice("activation", ACTIVATIONS))
        compute = partial(scores, activation=self._activation, label=self._label, prompt=options.text("prompt"))
        crew = device_pool(self._model, self._loading.devices, compute, self._loading.threads)
        super().__init__(options, crew, batch_size(options, self._loading.devices, PAIR_TOKENS))

    def _load(self) -> Any:
        encoder = import_class("CrossEncoder")
        try:
            return load_complete(self._folder, partial(encoder, str(self._folder.path), **self._loading.arguments))
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
            raise ModelError(
                f"sentence-transformers cannot load {self._folder.id} as a cross-encoder: {error}",
                hint="use a model for sequence classification, such as BAAI/bge-reranker-v2-m3",
            ) from error

    def _activation_function(self, name: str) -> Any:
        torch: Any = importlib.import_module("torch")
        others = {"identity": torch.nn.Identity, "sigmoid": torch.nn.Sigmoid}
        return others[name]() if name in others else self._model.activation_fn

    @cached_property
    def settings(self) -> ModelSettings:
        """Return everything that could change a score."""
        return {
            "reranker": self._folder.name,
            "revision": self._folder.revision,
            "weights": self._folder.weights,
            "max_length": self._limit,
            **self._loading.settings,
            "activation": type(self._activation).__name__,
            "label": self._label,
            "prompt": self._options.text("prompt"),
            **{f"{role}_prompt": prompt or None for role, prompt in self._prompts.items()},
        }

    def token_starts(self, texts: Sequence[str]) -> list[Int64]:
        """Return where the tokens of each text start."""
        return starts_of_tokenizer(self._model.tokenizer, texts, self.name)

    def _tokens(self, texts: list[str]) -> Int64:
        """Return the number of tokens of each text; the number of characters for a model without a tokenizer."""
        tokenizer = self._model.tokenizer
        if not callable(tokenizer):
            return np.array([len(text) for text in texts], dtype=np.int64)
        ids = tokenizer(texts, add_special_tokens=False, truncation=False, padding=False, verbose=False)["input_ids"]
        return np.array([len(text) for text in ids], dtype=np.int64)

    @property
    def _limit(self) -> int | None:
        """Return the maximum tokens of a pair; None without a limit (transformers then has 10 to the 30th)."""
        limit = getattr(self._model, self._length)
        return int(limit) if limit and limit < 1_000_000 else None


def scores(
    model: Any, pairs: list[tuple[str, str]], *, activation: Any, label: int | None, prompt: str | None
) -> Float32:
    """Return the scores of a batch on the device of the model."""
    output = model.predict(
        pairs,
        batch_size=len(pairs),
        activation_fn=activation,
        show_progress_bar=False,
        convert_to_numpy=True,
        **({"prompt": prompt} if prompt else {}),
    )
    values = np.asarray(output, dtype=np.float32)
    return values if label is None else values[:, label]


def from_spec(spec: ModelSpec, settings: Settings) -> Reranker:
    """Return the reranker of `rerank:ID@REVISION?OPTIONS`: a folder or a hub model, for torch or ONNX Runtime.

    A causal language model judges pairs by the probabilities of yes and no.
    """
    values = dict(spec.options)
    source = Options(
        f"rerank:{spec.id}", {name: values.pop(name, "") for name in ("backend", "hub")}, ("backend", "hub")
    )
    backend, hub = source.choice("backend", BACKENDS), source.choice("hub", HUBS)
    only = download_patterns(values.get("file_name")) if backend == "onnx" else None
    folder = ModelFolder.find(spec.id, spec.revision, hub=hub, only=only, settings=settings)
    if backend == "auto" and folder.revision is None and detect_backend(folder) == "onnx":
        backend = "onnx"
    if backend == "onnx":
        from steelyard.retrievers.rerank import cross_encoder_onnx

        return cross_encoder_onnx.from_folder(folder, values, str(spec))
    if backend == "yes-no" or (backend == "auto" and yes_no.is_causal(folder)):
        judge = Options(f"rerank:{spec.id}", values, yes_no.OPTIONS)
        yes_no_reranker: Reranker = deferred(
            yes_no.YesNoReranker, folder, values, lambda: yes_no.YesNoReranker(folder, judge, str(spec)), name=str(spec)
        )
        return yes_no_reranker

    def opened() -> CrossEncoderReranker:
        return CrossEncoderReranker(folder, Options(f"rerank:{spec.id}", values, OPTIONS), str(spec))

    reranker: Reranker = deferred(CrossEncoderReranker, folder, values, opened, name=str(spec))
    return reranker
