"""Cross-encoders of sentence-transformers as rerankers: query and document go through the model together."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cached_property
from importlib import metadata
from itertools import chain
from typing import Any

import numpy as np

from steelyard.encoders.batching import BatchSize, encode_in_batches, shown, whole, windows
from steelyard.encoders.devices import choose, ran_out_of_memory
from steelyard.encoders.model_folder import HUBS, ModelFolder
from steelyard.encoders.torch_model import DTYPES, library, quiet
from steelyard.errors import ModelError, UsageError
from steelyard.protocols import Settings, Tick, no_tick
from steelyard.services.options import Options
from steelyard.spec import ModelSpec
from steelyard.types import Float32, Int64

OPTIONS = (
    *("activation", "batch_size", "batch_tokens", "config_kwargs", "device", "document_prompt", "dtype", "hub"),
    *("label", "max_length", "model_kwargs", "prompt", "query_prompt", "trust_remote_code"),
)
ACTIVATIONS = ("auto", "identity", "sigmoid", "model")
BATCH_PAIRS, BATCH_TOKENS, ACCELERATED = 256, 8_192, 4
"""The most pairs and tokens of a batch; an accelerator gets so many times as much."""
MARKS = 3
"""Tokens that a model adds to a pair: a start, a middle, an end."""


class CrossEncoderReranker:
    """A cross-encoder. Pairs of all queries are sorted by length and go to the model in batches sized by tokens.

    With `activation=auto` a sigmoid is left out: it changes no order, but rounds the best scores to 1, where they tie.
    """

    def __init__(self, folder: ModelFolder, options: Options, name: str) -> None:
        self.name = name
        self._folder = folder
        self._options = options
        self._device = choose(options.text("device"))[0]
        self._dtype = options.choice("dtype", DTYPES)
        self._model = self._load()
        # Until version 6 of the library, this had another name.
        self._length = "max_seq_length" if hasattr(self._model, "max_seq_length") else "max_length"
        if (longest := options.whole("max_length", None)) is not None:
            setattr(self._model, self._length, longest)
        self._label = self._column(options)
        self._activation = self._activation_function(options.choice("activation", ACTIVATIONS))
        scale = 1 if self._device.startswith("cpu") else ACCELERATED
        self._size = BatchSize(
            options.whole("batch_size", BATCH_PAIRS * scale), options.whole("batch_tokens", BATCH_TOKENS * scale)
        )
        self._cut = 0

    def _load(self) -> Any:
        options = self._options
        encoder = library("CrossEncoder")
        try:
            with quiet():
                return encoder(
                    str(self._folder.path),
                    device=self._device,
                    trust_remote_code=options.choice("trust_remote_code", ("false", "true")) == "true",
                    model_kwargs={"dtype": self._dtype, **options.json_object("model_kwargs")},
                    config_kwargs=options.json_object("config_kwargs"),
                )
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
            raise UsageError(
                f"sentence-transformers cannot load {self._folder.id} as a cross-encoder: {error}",
                hint="is it a model for sequence classification, such as BAAI/bge-reranker-v2-m3?",
            ) from error

    def _column(self, options: Options) -> int | None:
        """Which of several scores counts; None for a model that gives one."""
        labels, label = int(self._model.num_labels), options.whole("label", None, least=0)
        if labels > 1 and (label is None or label >= labels):
            raise UsageError(
                f"{self._folder.id} gives {labels} scores for each pair",
                hint=f"say which one means that the document fits: label=0 to label={labels - 1}",
            )
        if labels == 1 and label:
            raise UsageError(f"{self._folder.id} gives one score for each pair", hint="leave label out")
        return label if labels > 1 else None

    def _activation_function(self, asked: str) -> Any:
        torch: Any = importlib.import_module("torch")
        own = self._model.activation_fn
        if asked == "auto":
            asked = "identity" if self._label is None and isinstance(own, torch.nn.Sigmoid) else "model"
        return {"identity": torch.nn.Identity(), "sigmoid": torch.nn.Sigmoid(), "model": own}[asked]

    @cached_property
    def settings(self) -> Settings:
        """Everything that could change a score."""
        options = self._options
        return {
            "reranker": self._folder.name,
            "revision": self._folder.revision,
            "weights": self._folder.weights,
            "max_length": self._limit,
            "dtype": self._dtype,
            "activation": type(self._activation).__name__,
            "label": self._label,
            **{name: options.text(name) for name in ("prompt", "query_prompt", "document_prompt")},
            "model_kwargs": options.json_object("model_kwargs"),
            "config_kwargs": options.json_object("config_kwargs"),
            "library": f"sentence-transformers {metadata.version('sentence-transformers')}",
        }

    def rerank(self, queries: Sequence[str], documents: Sequence[Sequence[str]], tick: Tick = no_tick) -> list[Float32]:
        """The scores of each query's documents, in their order. `tick` counts documents."""
        asked, read = (self._options.text(f"{role}_prompt") or "" for role in ("query", "document"))
        sides = [[asked + whole(query) for query in queries], [read + whole(text) for text in chain(*documents)]]
        counts = [len(texts) for texts in documents]
        query = np.repeat(np.arange(len(queries)), counts)
        scores = np.empty(len(query), dtype=np.float32)
        for window in windows(len(query)):
            rows = np.arange(window.start, window.stop)
            for part, found in self._scored(sides, query, rows):
                scores[part] = found
                tick(len(part))
        return np.split(scores, np.cumsum(counts)[:-1]) if counts else []

    def _scored(self, sides: list[list[str]], query: Int64, rows: Int64) -> Any:
        """The scores of these pairs, batch by batch, longest first."""
        asked, read = sides
        lengths = self._tokens([asked[q] for q in range(query[rows[0]], query[rows[-1]] + 1)])[
            query[rows] - query[rows[0]]
        ]
        lengths = lengths + self._tokens([read[row] for row in rows]) + MARKS
        if self._limit is not None:
            self._cut += int((lengths > self._limit).sum())
            lengths = np.minimum(lengths, self._limit)

        def predict(places: Int64) -> Float32:
            return self._predict([(asked[query[row]], read[row]) for row in rows[places].tolist()])

        def too_long(place: int) -> ModelError:
            row = int(rows[place])
            return ModelError(
                f"memory runs out for one pair: the query {shown(asked[query[row]])} with a document of "
                f"{len(read[row]):,} characters: {shown(read[row])}",
                hint="read less of it: max_length=512",
            )

        for places, found in encode_in_batches(lengths, predict, self._size, ran_out_of_memory, too_long):
            yield rows[places], found

    def _predict(self, pairs: list[tuple[str, str]]) -> Float32:
        prompt = {"prompt": text} if (text := self._options.text("prompt")) else {}
        found = self._model.predict(
            pairs,
            batch_size=len(pairs),
            activation_fn=self._activation,
            show_progress_bar=False,
            convert_to_numpy=True,
            **prompt,
        )
        scores = np.asarray(found, dtype=np.float32)
        return scores if self._label is None else scores[:, self._label]

    def _tokens(self, texts: list[str]) -> Int64:
        """How many tokens each text has; of a model that reads more than texts, its characters."""
        tokenizer = self._model.tokenizer
        if not callable(tokenizer):
            return np.array([len(text) for text in texts], dtype=np.int64)
        ids = tokenizer(texts, add_special_tokens=False, truncation=False, padding=False, verbose=False)["input_ids"]
        return np.array([len(text) for text in ids], dtype=np.int64)

    @property
    def _limit(self) -> int | None:
        """The most tokens of a pair; None where the model knows no limit (transformers then says 10 to the 30th)."""
        longest = getattr(self._model, self._length)
        return int(longest) if longest and longest < 1_000_000 else None

    def account(self) -> Settings:
        """How many pairs were longer than the model reads, since the last call."""
        cut, self._cut = self._cut, 0
        return {"pairs_cut": cut} if self._limit is not None else {}


def from_spec(spec: ModelSpec) -> CrossEncoderReranker:
    """The reranker of `rerank:ID@REVISION?OPTIONS`: a folder, or a model of the hub."""
    options = Options(f"rerank:{spec.id}", spec.options, OPTIONS)
    folder = ModelFolder.find(spec.id, spec.revision, hub=options.choice("hub", HUBS))
    return CrossEncoderReranker(folder, options, str(spec))
