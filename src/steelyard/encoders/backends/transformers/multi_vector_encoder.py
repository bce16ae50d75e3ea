"""Token vectors from sentence-transformers: ColBERT checkpoints, and the token states of any transformer.

A checkpoint for late interaction (saved by sentence-transformers 6, PyLate or Stanford's ColBERT) is used as it
declares itself: projection, prefixes, lengths, query expansion, skip-list. Any other transformer does not have a
projection for tokens, and the library would add one with random weights. Such a model returns the normalised states of
its last layer instead, and the setting `head` records this.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

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
)
from steelyard.encoders.backends.transformers.ragged_batches import RaggedBatches
from steelyard.encoders.deferred import deferred
from steelyard.encoders.model_folder import HUBS, ModelFolder
from steelyard.encoders.token_starts import starts_of_tokenizer
from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.types import Float32, Int64, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.maxsim import TokenVectors

OWN_OPTIONS = ("batch_tokens", "document_length", "query_expansion", "query_length", "similarity_fn_name", "skiplist")
MODULES = "sentence_transformers.base.modules"
OWN_MODULES = "sentence_transformers.multi_vector_encoder.modules"


class TransformerTokens(prompts.PromptsByTask):
    """A multi-vector encoder. `similarity` is `maxsim` or `meanmaxsim`, as the model declares it."""

    storable = True

    def __init__(self, folder: ModelFolder, loading: LoadOptions, options: Options) -> None:
        self.name = folder.name
        self._folder = folder
        self._loading = loading
        self.head = "declared" if declares_late_interaction(folder) else "token states"
        self._model = self._load()
        self._adjust(options)
        self._choose = partial(prompts.role_prompts, self._model.prompts, options)
        self._prompts = self._choose()
        pool = device_pool(self._model, loading.devices, token_vectors, loading.threads)
        size = batch_size(options, loading.devices, reproducible=True)
        self._batches = RaggedBatches(self._model, self.name, pool, size)

    def _load(self) -> Any:
        encoder = import_class("MultiVectorEncoder")
        try:
            if self.head != "declared":
                return load_complete(self._folder, lambda: self._over_states(encoder))
            return load_complete(self._folder, lambda: encoder(str(self._folder.path), **self._loading.arguments))
        except (OSError, ValueError, KeyError) as error:
            raise load_error(self.name, error) from error

    def _over_states(self, encoder: Any) -> Any:
        """Return the library's encoder over the plain transformer: no projection, all tokens, normalised."""
        arguments = self._loading.arguments
        remote = {"trust_remote_code": arguments["trust_remote_code"]}
        transformer = import_class("Transformer", MODULES)(
            str(self._folder.path),
            model_kwargs={**arguments["model_kwargs"], **remote},
            config_kwargs={**arguments["config_kwargs"], **remote},
        )
        normalise = import_class("Normalize", MODULES)(module_input_name="token_embeddings")
        modules = [transformer, import_class("MultiVectorMask", OWN_MODULES)(), normalise]
        declared = self._folder.json_object("config_sentence_transformers.json").get("prompts")
        return encoder(modules=modules, device=arguments["device"], prompts=declared)

    def _adjust(self, options: Options) -> None:
        """Replace what the model declares by the options."""
        transformer = self._model[0]
        if (limit := self._loading.max_seq_length) is not None:
            self._model.max_seq_length = limit
        expansion = _expansion(options)
        if expansion is not None:
            transformer.query_expansion = None  # the library rejects a length below that of an expansion
        for name in ("query_length", "document_length"):
            if (length := options.whole(name, None)) is not None:
                setattr(transformer, name, length)
        try:
            if expansion:
                transformer.query_expansion = expansion
            if similarity := options.text("similarity_fn_name"):
                self._model.similarity_fn_name = similarity
        except ValueError as error:
            hint = "see the options in docs/late-interaction.md"
            raise UsageError(f"{self.name} does not accept these options: {error}", hint=hint) from error
        if (skiplist := options.text("skiplist")) is not None:
            self._skip(options.choice("skiplist", ("punctuation", "none")) if skiplist else "none")

    def _skip(self, words: str) -> None:
        """Skip document tokens that are punctuation, or none."""
        masks = [module for module in self._model if hasattr(module, "skiplist_words")]
        if not masks:
            raise UsageError(
                f"the model {self.name} does not support a skiplist",
                option="skiplist",
                hint="remove the option skiplist",
            )
        # Only words of the vocabulary: the library warns about others.
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
        """Return the most tokens that a text may have, special tokens included."""
        transformer = self._model[0]
        if role == "query" and (transformer.query_expansion or {}).get("strategy") == "fixed":
            return int(transformer.query_expansion["length"])
        own = getattr(transformer, f"{role}_length")
        limit = own if own is not None else self._model.max_seq_length
        return None if limit is None else int(limit)

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> TokenVectors:
        """Return the token vectors of each text; an empty text has those of the special tokens."""
        arrays: list[Any] = [None] * len(texts)
        for rows, part in self._batches.encode(texts, role, self._prompts[role], self._limit(role)):
            for row, array in zip(rows.tolist(), part[: len(rows)], strict=True):
                arrays[row] = array
            tick(len(rows))
        return TokenVectors.of(arrays, int(self._model.get_embedding_dimension() or 0))

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


def token_vectors(model: Any, texts: list[str], role: Role, prompt: str) -> list[Float32]:
    """Return the token vectors of each text of a batch, computed on the device of the model."""
    encode = model.encode_query if role == "query" else model.encode_document
    arrays = encode(texts, prompt=prompt, batch_size=len(texts), show_progress_bar=False, convert_to_numpy=True)
    return list(arrays)


def declares_late_interaction(folder: ModelFolder) -> bool:
    """Return whether the checkpoint has its own projection for tokens."""
    sentence = folder.json_object("config_sentence_transformers.json")
    architectures = [str(name) for name in folder.json_object("config.json").get("architectures") or []]
    modules = folder.json_list("modules.json")
    return (
        sentence.get("model_type") in ("MultiVectorEncoder", "ColBERT")
        or "HF_ColBERT" in architectures
        or any(name.endswith("ForRetrieval") for name in architectures)
        or any("pylate" in str(module.get("type")) for module in modules)
    )


def _expansion(options: Options) -> dict[str, Any] | None:
    """Return the option query_expansion: a length, an object with the library's fields, {} for `none`, or None."""
    text = options.text("query_expansion")
    if text is None:
        return None
    if text == "none":
        return {}
    if text.startswith("{"):
        return options.json_object("query_expansion")
    return {"strategy": "fixed", "length": options.whole("query_expansion", 32), "attend": False}


def from_options(
    id: str, revision: str | None, raw_options: Mapping[str, str], settings: Settings
) -> TransformerTokens:
    """Return the encoder of a folder or hub repository, opened when it encodes; variants share the loaded one."""
    hub = Options(f"late:{id}", {"hub": raw_options.get("hub", "")}, ("hub",)).choice("hub", HUBS)
    folder = ModelFolder.find(id, revision, hub=hub, settings=settings)
    key = cache_key(raw_options, settings)
    encoder: TransformerTokens = deferred(
        TransformerTokens, folder, raw_options, lambda: _loaded(folder, folder.weights, key)
    )
    return encoder


@lru_cache(maxsize=2)
def _loaded(folder: ModelFolder, weights: str, raw_options: tuple[tuple[str, str], ...]) -> TransformerTokens:
    options = Options(f"late:{folder.id}", dict(raw_options), (*OPTIONS, *OWN_OPTIONS, *prompts.RETRIEVAL_OPTIONS))
    loading = LoadOptions.of(options)
    import_class("MultiVectorEncoder")
    return TransformerTokens(folder, loading, options)
