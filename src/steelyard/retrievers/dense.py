"""Dense retrieval: one vector for each text and exact search, in full or in a smaller variant (truncated, quantised).

Variants of one model share the vectors of a task: `SharedVectors` encodes or fetches them once.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

from steelyard.config import Settings
from steelyard.encoders import load_encoder
from steelyard.encoders.cache.cached_encoder import Tally, encode_once, open_store
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.encoders.prompts import PromptsByTask
from steelyard.encoders.streaming import LooksUpVectors
from steelyard.retrievers.candidates import run_of
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.ranking import rank_by_search
from steelyard.retrievers.stored_encodings import StoredEncodings
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Float32, Queries, Ragged, Role, Run, TaskInfo
from steelyard.types.protocols import Encoder, ModelSettings, Tick, no_tick
from steelyard.vectors.mapped import MAPPED, allocator, in_blocks
from steelyard.vectors.topk import normalised
from steelyard.vectors.variants import OPTIONS, WHOLE, CodedVectors, Variant, VariantIndex

T = TypeVar("T", Corpus, Queries)
V = TypeVar("V")
Fetched = tuple[Float32, Tally]


class SharedVectors:
    """An encoder, its store, and the vectors of the last corpus and the last queries.

    Vectors have length 1 if the encoder's similarity is cosine. They are freed with the corpus they belong to.
    """

    def __init__(self, encoder: Encoder, store: VectorStore | None = None, settings: Settings | None = None) -> None:
        self.encoder = encoder
        self.store = store
        self._settings = settings
        self._documents: LatestOnly[Corpus, Fetched] = LatestOnly()
        self._queries: LatestOnly[Queries, Fetched] = LatestOnly()
        self._coded: LatestOnly[Corpus, CodedVectors] = LatestOnly()
        self._others: weakref.WeakValueDictionary[str, SharedVectors] = weakref.WeakValueDictionary()

    def for_task(self, info: TaskInfo) -> SharedVectors:
        """Return these vectors, or those with the encoder's prompts for the task; one object while in use."""
        encoder = self.encoder.for_task(info) if isinstance(self.encoder, PromptsByTask) else self.encoder
        if encoder is self.encoder:
            return self
        key = str(encoder.settings["prompts"])
        other = self._others.get(key)
        if other is None:
            store = None if self.store is None else open_store(encoder, self._settings)
            other = self._others[key] = SharedVectors(encoder, store, self._settings)
        return other

    def documents(self, corpus: Corpus, tick: Tick = no_tick) -> Fetched:
        """Return the matrix of a corpus, and how it was obtained; `tick` counts documents."""
        fetched = self._documents.get(corpus)
        if fetched is not None:
            tick(len(corpus))
            return _again(fetched)
        settings = self._settings or Settings.load()
        allocate = allocator(settings.home / MAPPED, settings.memory_bytes)
        vectors, tally = encode_once(
            self.encoder, corpus.texts, "document", ids=corpus.ids, store=self.store, tick=tick, allocate=allocate
        )
        return self._documents.set(corpus, (self._normalised(vectors), tally))

    def queries(self, queries: Queries) -> Fetched:
        """Return the matrix of the queries, and how it was obtained."""
        fetched = self._queries.get(queries)
        if fetched is not None:
            return _again(fetched)
        vectors, tally = encode_once(self.encoder, queries.texts, "query", ids=queries.ids, store=self.store)
        return self._queries.set(queries, (self._normalised(vectors), tally))

    def index(self, corpus: Corpus, variant: Variant, tick: Tick = no_tick) -> tuple[VariantIndex, Fetched]:
        """Return a corpus in some variant, and the vectors that it was made from."""
        fetched = self.documents(corpus, tick)
        coded = self._coded.get(corpus)
        if coded is None or (coded.truncate_dim, coded.precision) != (variant.truncate_dim, variant.precision):
            codes = CodedVectors.of(fetched[0], variant.truncate_dim, variant.precision, self.encoder.similarity, coded)
            coded = self._coded.set(corpus, codes)
        return VariantIndex(variant, coded), fetched

    def _normalised(self, vectors: Float32) -> Float32:
        if self.encoder.similarity != "cosine":
            return vectors
        # Vectors that were looked up may be those of the encoder, which stay as they are.
        return normalised(vectors) if isinstance(self.encoder, LooksUpVectors) else in_blocks(normalised, vectors)


def _again(fetched: Fetched) -> Fetched:
    """Return the same vectors, noted as not encoded this time."""
    vectors, tally = fetched
    known = None if tally.seconds is None else tally.seconds + (tally.stored_seconds or 0.0)
    again = replace(tally, encoded=0, stored=tally.encoded + tally.stored, account={})
    return vectors, replace(again, seconds=None if tally.seconds is None else 0.0, stored_seconds=known)


class LatestOnly(Generic[T, V]):
    """A cache of one value, for the latest key object and as long as that object exists."""

    def __init__(self) -> None:
        self._key: weakref.ref[T] | None = None
        self._value: V | None = None

    def get(self, key: T) -> V | None:
        """Return the value of this object. For another object, free the stored value and return None."""
        if self._key is None or self._key() is not key:
            self._key = self._value = None  # before the next value is made: two may not fit into memory
        return self._value

    def set(self, key: T, value: V) -> V:
        """Store a value until `key` is freed or another key comes."""
        self._key, self._value = weakref.ref(key, self._forget), value
        return value

    def _forget(self, key: weakref.ref[T]) -> None:
        if self._key is key:
            self._key = self._value = None


_Key = tuple[str, str | None, tuple[tuple[str, str], ...], Settings]
_OPEN: weakref.WeakValueDictionary[_Key, SharedVectors] = weakref.WeakValueDictionary()


def open_vectors(spec: ModelSpec, settings: Settings) -> SharedVectors:
    """Return the vectors of `dense:ID@REVISION?OPTIONS` with options of the encoder; one object while it is in use."""
    options = tuple(sorted(spec.options.items()))
    key = (spec.id, spec.revision, options, settings)
    shared = _OPEN.get(key)
    if shared is None:
        encoder = load_encoder(spec.id, spec.revision, spec.options, settings)
        shared = _OPEN[key] = SharedVectors(encoder, open_store(encoder, settings), settings)
    return shared


@dataclass(frozen=True, eq=False)
class DenseIndex:
    """The matrix of a corpus: one row per document, of length 1 if the similarity is cosine."""

    matrix: Float32
    vectors: SharedVectors
    variant: VariantIndex
    notes: dict[str, Any] = field(default_factory=dict)
    """How the vectors of documents and queries were obtained, the bytes per document, and the seconds of the last
    search without encoding."""

    @property
    def size_bytes(self) -> int:
        """Return the bytes of the searched vectors, and of the float vectors if the best are rescored."""
        return self.variant.size_bytes

    def search(self, queries: Queries, top_k: int) -> Run:
        """Return the best `top_k` documents of each query; fewer if the corpus or the variant has fewer."""
        vectors, tally = self.vectors.queries(queries)
        run = self.variant.search(vectors, top_k)
        self.notes["search_seconds"] = self.variant.search_seconds
        self.notes.update(self.variant.lost)
        self.notes["queries"] = dict(tally.notes)
        return run

    def rank(self, queries: Queries, lists: Ragged) -> Run:
        """Return the candidates of each query, best first; only those are compared, unless vectors are quantised."""
        if self.variant.variant.precision != WHOLE.precision or self.variant.variant.approximation is not None:
            return rank_by_search(self, queries, lists, len(self.matrix))
        vectors, tally = self.vectors.queries(queries)
        self.notes["queries"] = dict(tally.notes)
        rows, coded = run_of(lists).rows, self.variant.coded
        return Run.of(rows, coded.exact.scores_of(coded.prepared(vectors), lists, rows.shape))


@dataclass(frozen=True, eq=False)
class DenseRetriever(StoredEncodings):
    """An encoder and exact search. With a store, texts that were encoded before are not encoded again."""

    name: str
    encoder: Encoder
    store: VectorStore | None = None
    variant: Variant = WHOLE
    variant_of: str | None = None
    """The name of the model that this one is a variant of."""
    shared: SharedVectors | None = None
    """Vectors shared with other variants of the model."""

    @cached_property
    def vectors(self) -> SharedVectors:
        """Return the source of vectors."""
        return self.shared or SharedVectors(self.encoder, self.store)

    @property
    def settings(self) -> ModelSettings:
        """Return the encoder's settings, and how vectors are stored and compared."""
        return {
            **self.encoder.settings,
            "similarity": self.encoder.similarity,
            "dimension": self.encoder.dimension,
            **self.variant.settings,
        }

    def for_task(self, info: TaskInfo) -> DenseRetriever:
        """Return the model with its prompts for that task or for tasks of that type; itself if it has none."""
        shared = self.vectors.for_task(info)
        if shared is self.vectors:
            return self
        return replace(self, encoder=shared.encoder, store=shared.store, shared=shared)

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> DenseIndex:
        """Encode the documents; `tick` counts them."""
        built, (matrix, tally) = self.vectors.index(corpus, self.variant, tick)
        notes = {"documents": dict(tally.notes), **built.notes}
        if self.variant_of is not None:
            notes["variant_of"] = self.variant_of
        return DenseIndex(matrix, self.vectors, built, notes)

    @property
    def similarity(self) -> str:
        """Return how vectors are compared, as the model declares it."""
        return self.encoder.similarity

    def embed(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> tuple[Float32, ModelSettings]:
        """Return a raw vector for each text, truncated and quantised as the variant is; `tick` counts texts."""
        self.variant.check_without_search(self.name)
        vectors, tally = encode_once(self.encoder, texts, role, store=self.store, tick=tick)
        return self.variant.apply(vectors, self.similarity), tally.notes

    def _encode_into_store(self, texts: Sequence[str], role: Role, tick: Tick) -> ModelSettings:
        return encode_once(self.encoder, texts, role, store=self.store, tick=tick)[1].notes


def variants_of(model: DenseRetriever, grid: Sequence[Mapping[str, str]]) -> list[DenseRetriever]:
    """Return a model in variants, each with the options of a name; all share the vectors of a task."""
    shared, models = model.vectors, []
    for options in grid:
        variant = Variant.of(options)
        if variant == WHOLE:
            models.append(replace(model, shared=shared))
            continue
        variant.check(model.encoder.dimension, model.name, model.similarity)
        suffix = "&".join(f"{name}={value}" for name, value in sorted(options.items()))
        models.append(
            replace(model, name=f"{model.name}?{suffix}", variant=variant, variant_of=model.name, shared=shared)
        )
    return models


def from_spec(spec: ModelSpec, settings: Settings) -> DenseRetriever:
    """Return the retriever of `dense:ID@REVISION?OPTIONS`; options that are not of a variant are the encoder's."""
    variant = Variant.of(spec.options)
    whole = replace(spec, options={name: value for name, value in spec.options.items() if name not in OPTIONS})
    vectors = open_vectors(whole, settings)
    variant.check(vectors.encoder.dimension, str(whole), vectors.encoder.similarity)
    variant_of = None if variant == WHOLE else result_name(whole)
    return DenseRetriever(result_name(spec), vectors.encoder, vectors.store, variant, variant_of, vectors)
