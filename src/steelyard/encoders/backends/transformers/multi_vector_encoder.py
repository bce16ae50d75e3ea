"""Token vectors from sentence-transformers: ColBERT checkpoints, and the token states of any transformer.

A checkpoint that was made for late interaction (saved by sentence-transformers 6, PyLate or Stanford's ColBERT) is used
as it declares itself: projection, prefixes, lengths, query expansion, skip-list. Any other transformer has no
projection for tokens; left alone, the library would add one with random weights. Here such a model gives the states of
its last layer at length 1 instead, and the settings say so (`head`).
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from steelyard.config import Settings
from steelyard.encoders import prompts
from steelyard.encoders.backends.transformers.complete import load_whole
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
from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.types import Float32, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.maxsim import TokenVectors

OWN_OPTIONS = ("batch_tokens", "document_length", "query_expansion", "query_length", "similarity_fn_name", "skiplist")
MODULES = "sentence_transformers.base.modules"
OWN_MODULES = "sentence_transformers.multi_vector_encoder.modules"


class TransformerTokens:
    """A multi-vector encoder. `similarity` is `maxsim` or `meanmaxsim`, as the model declares it."""

    storable = True

    def __init__(self, folder: ModelFolder, loading: Loading, options: Options) -> None:
        self.name = folder.name
        self._folder = folder
        self._loading = loading
        self.head = "declared" if declares_late_interaction(folder) else "token states"
        self._model = self._load()
        self._adjust(options)
        self._prompts = prompts.role_prompts(self._model.prompts, options)
        crew = crew_of(self._model, loading.devices, token_vectors)
        self._batches = Batches(self._model, self.name, crew, batch_size(options, loading.devices))

    def _load(self) -> Any:
        encoder = library("MultiVectorEncoder")
        try:
            if self.head != "declared":
                return load_whole(self._folder, lambda: self._over_states(encoder))
            return load_whole(self._folder, lambda: encoder(str(self._folder.path), **self._loading.arguments))
        except (OSError, ValueError, KeyError) as error:
            raise failed_to_load(self.name, error) from error

    def _over_states(self, encoder: Any) -> Any:
        """The library's encoder over the bare transformer: no projection, every token counts, length 1."""
        arguments = self._loading.arguments
        remote = {"trust_remote_code": arguments["trust_remote_code"]}
        transformer = library("Transformer", MODULES)(
            str(self._folder.path),
            model_kwargs={**arguments["model_kwargs"], **remote},
            config_kwargs={**arguments["config_kwargs"], **remote},
        )
        normalise = library("Normalize", MODULES)(module_input_name="token_embeddings")
        modules = [transformer, library("MultiVectorMask", OWN_MODULES)(), normalise]
        declared = (self._folder.json("config_sentence_transformers.json") or {}).get("prompts")
        return encoder(modules=modules, device=arguments["device"], prompts=declared)

    def _adjust(self, options: Options) -> None:
        """Put what the options ask for in the place of what the model declares."""
        transformer = self._model[0]
        if (limit := self._loading.max_seq_length) is not None:
            self._model.max_seq_length = limit
        expansion = _expansion(options)
        if expansion is not None:
            transformer.query_expansion = None  # the library refuses a length below that of an expansion
        for name in ("query_length", "document_length"):
            if (length := options.whole(name, None)) is not None:
                setattr(transformer, name, length)
        try:
            if expansion:
                transformer.query_expansion = expansion
            if similarity := options.text("similarity_fn_name"):
                self._model.similarity_fn_name = similarity
        except ValueError as error:
            hint = "docs/late-interaction.md tells what each option takes"
            raise UsageError(f"{self.name} does not take these options: {error}", hint=hint) from error
        if (skiplist := options.text("skiplist")) is not None:
            self._skip(options.choice("skiplist", ("punctuation", "none")) if skiplist else "none")

    def _skip(self, words: str) -> None:
        """Leave out document tokens that are punctuation, or none."""
        masks = [module for module in self._model if hasattr(module, "skiplist_words")]
        if not masks:
            raise UsageError(f"the model {self.name} has no mask for a skiplist", hint="leave out the option skiplist")
        # Only words of the vocabulary: the library warns of others.
        known = self._model.tokenizer.get_vocab()
        for mask in masks:
            mask.skiplist_words = [mark for mark in string.punctuation if mark in known] if words != "none" else []
            mask.resolve_with_tokenizer(self._model.tokenizer)

    @property
    def similarity(self) -> str:
        """`maxsim` or `meanmaxsim`."""
        return str(self._model.similarity_fn_name)

    @cached_property
    def settings(self) -> ModelSettings:
        """Everything that could change a vector."""
        transformer = self._model[0]
        masks = [module for module in self._model if hasattr(module, "skiplist_words")]
        return {
            "encoder": self.name,
            "kind": "token vectors",
            "weights": self._folder.weights,
            "revision": self._folder.revision,
            "head": self.head,
            "prompts": self._prompts,
            "query_length": self._limit("query"),
            "document_length": self._limit("document"),
            "query_expansion": dict(transformer.query_expansion) if transformer.query_expansion else None,
            "skiplist": "".join(sorted(word for mask in masks for word in mask.skiplist_words)),
            **self._loading.settings,
        }

    def _limit(self, role: str) -> int | None:
        """The most tokens that a text may have, marks included."""
        transformer = self._model[0]
        if role == "query" and (transformer.query_expansion or {}).get("strategy") == "fixed":
            return int(transformer.query_expansion["length"])
        own = getattr(transformer, f"{role}_length")
        limit = own if own is not None else self._model.max_seq_length
        return None if limit is None else int(limit)

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> TokenVectors:
        """The token vectors of each text; an empty one has those of the marks that the model puts around texts."""
        arrays: list[Any] = [None] * len(texts)
        for rows, part in self._batches.encoded(texts, role, self._prompts[role], self._limit(role)):
            for row, array in zip(rows.tolist(), part, strict=True):
                arrays[row] = array
            tick(len(rows))
        return TokenVectors.of(arrays, int(self._model.get_embedding_dimension() or 0))

    @property
    def workers(self) -> int:
        """How many devices share the texts."""
        return self._batches.workers

    def account(self) -> ModelSettings:
        """How many texts were longer than the model reads."""
        return self._batches.account()


def token_vectors(model: Any, texts: list[str], role: Role, prompt: str) -> list[Float32]:
    """Those of each text of a batch, on the device where the model is."""
    encode = model.encode_query if role == "query" else model.encode_document
    found = encode(texts, prompt=prompt, batch_size=len(texts), show_progress_bar=False, convert_to_numpy=True)
    return list(found)


def declares_late_interaction(folder: ModelFolder) -> bool:
    """Whether the checkpoint has a projection for tokens of its own."""
    sentence = folder.json("config_sentence_transformers.json") or {}
    architectures = (folder.json("config.json") or {}).get("architectures") or []
    modules = folder.json("modules.json") or []
    return (
        sentence.get("model_type") in ("MultiVectorEncoder", "ColBERT")
        or "HF_ColBERT" in architectures
        or any(name.endswith("ForRetrieval") for name in architectures)
        or any("pylate" in str(module.get("type")) for module in modules)
    )


def _expansion(options: Options) -> dict[str, Any] | None:
    """The query expansion asked for: a length, an object with the library's fields, `none` ({}), or nothing (None)."""
    text = options.text("query_expansion")
    if text is None:
        return None
    if text == "none":
        return {}
    if text.startswith("{"):
        return options.json_object("query_expansion")
    return {"strategy": "fixed", "length": options.whole("query_expansion", 32), "attend": False}


def from_options(id: str, revision: str | None, given: Mapping[str, str], settings: Settings) -> TransformerTokens:
    """The encoder of a folder or of a repository of the hub; variants of one search share one that is loaded."""
    return _loaded(id, revision, known(given, settings), settings)


@lru_cache(maxsize=2)
def _loaded(id: str, revision: str | None, given: tuple[tuple[str, str], ...], settings: Settings) -> TransformerTokens:
    options = Options(f"late:{id}", dict(given), (*OPTIONS, *OWN_OPTIONS, *prompts.OPTIONS))
    loading = Loading.of(options)
    library("MultiVectorEncoder")
    folder = ModelFolder.find(id, revision, hub=options.choice("hub", HUBS), settings=settings)
    return TransformerTokens(folder, loading, options)
