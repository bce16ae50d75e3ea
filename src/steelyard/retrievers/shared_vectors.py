"""The vectors of a task, fetched once for all variants of a model: each of them starts from the same float matrix."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import Generic, TypeVar

from steelyard.config import Settings
from steelyard.encoders import load_encoder
from steelyard.encoders.cache.cached_encoder import Tally, encode_once, open_store
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.encoders.prompts import PromptsByTask
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Float32, Queries, TaskInfo
from steelyard.types.protocols import Encoder, Tick, no_tick
from steelyard.vectors.topk import normalised
from steelyard.vectors.variants import Coded, Variant, VariantIndex

T = TypeVar("T", Corpus, Queries)
V = TypeVar("V")
Fetched = tuple[Float32, Tally]


class SharedVectors:
    """An encoder, its store, and the vectors of the corpus and the queries that it was last asked for.

    Vectors are of length 1 where the encoder's similarity is cosine. They are let go with the corpus they belong to.
    """

    def __init__(self, encoder: Encoder, store: VectorStore | None = None, settings: Settings | None = None) -> None:
        self.encoder = encoder
        self.store = store
        self._settings = settings
        self._documents: Last[Corpus, Fetched] = Last()
        self._queries: Last[Queries, Fetched] = Last()
        self._coded: Last[Corpus, Coded] = Last()
        self._others: weakref.WeakValueDictionary[str, SharedVectors] = weakref.WeakValueDictionary()

    def for_task(self, info: TaskInfo) -> SharedVectors:
        """These, or where the task asks the encoder for other prompts, the ones with those; one object while in use."""
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
        """The matrix of a corpus, and how it was obtained; `tick` counts documents."""
        kept = self._documents.get(corpus)
        if kept is not None:
            tick(len(corpus))
            return _again(kept)
        vectors, tally = encode_once(
            self.encoder, corpus.texts, "document", ids=corpus.ids, store=self.store, tick=tick
        )
        return self._documents.keep(corpus, (self._compared(vectors), tally))

    def queries(self, queries: Queries) -> Fetched:
        """The matrix of the queries, and how it was obtained."""
        kept = self._queries.get(queries)
        if kept is not None:
            return _again(kept)
        vectors, tally = encode_once(self.encoder, queries.texts, "query", ids=queries.ids, store=self.store)
        return self._queries.keep(queries, (self._compared(vectors), tally))

    def index(self, corpus: Corpus, variant: Variant, tick: Tick = no_tick) -> tuple[VariantIndex, Fetched]:
        """A corpus in some variant, and the vectors that it was made from."""
        fetched = self.documents(corpus, tick)
        coded = self._coded.get(corpus)
        if coded is None or (coded.truncate_dim, coded.precision) != (variant.truncate_dim, variant.precision):
            made = Coded.of(fetched[0], variant.truncate_dim, variant.precision, self.encoder.similarity, coded)
            coded = self._coded.keep(corpus, made)
        return VariantIndex(variant, coded), fetched

    def _compared(self, vectors: Float32) -> Float32:
        return normalised(vectors) if self.encoder.similarity == "cosine" else vectors


def _again(fetched: Fetched) -> Fetched:
    """The same vectors; this time nothing had to be encoded."""
    vectors, tally = fetched
    return vectors, replace(tally, encoded=0, stored=tally.encoded + tally.stored, account={})


class Last(Generic[T, V]):
    """What was made for the object that came last, for as long as that object lives."""

    def __init__(self) -> None:
        self._of: weakref.ref[T] | None = None
        self._made: V | None = None

    def get(self, key: T) -> V | None:
        """What was made for this very object. If it is another one, what there was is let go at once."""
        if self._of is None or self._of() is not key:
            self._of = self._made = None  # before the next is made, not after: two may be too many
        return self._made

    def keep(self, key: T, made: V) -> V:
        """Keep this until `key` is gone, or another comes."""
        self._of, self._made = weakref.ref(key, self._forget), made
        return made

    def _forget(self, gone: weakref.ref[T]) -> None:
        if self._of is gone:
            self._of = self._made = None


_Key = tuple[str, str | None, tuple[tuple[str, str], ...], Settings]
_OPEN: weakref.WeakValueDictionary[_Key, SharedVectors] = weakref.WeakValueDictionary()


def open_vectors(spec: ModelSpec, settings: Settings) -> SharedVectors:
    """The vectors of `dense:ID@REVISION?OPTIONS`, all options being the encoder's; one object while it is in use."""
    options = tuple(sorted(spec.options.items()))
    key = (spec.id, spec.revision, options, settings)
    shared = _OPEN.get(key)
    if shared is None:
        encoder = load_encoder(spec.id, spec.revision, spec.options, settings)
        shared = _OPEN[key] = SharedVectors(encoder, open_store(encoder, settings), settings)
    return shared
