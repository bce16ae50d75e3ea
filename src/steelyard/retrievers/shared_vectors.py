"""The vectors of a task, fetched once for all variants of a model: each of them starts from the same float matrix."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from steelyard import config
from steelyard.encoders import budget, load_encoder
from steelyard.encoders.cached import Tally, encode_once, open_store
from steelyard.encoders.store import VectorStore
from steelyard.protocols import Encoder, Tick, no_tick
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Float32, Queries
from steelyard.vectors.topk import normalised

T = TypeVar("T", Corpus, Queries)
Fetched = tuple[Float32, Tally]


class SharedVectors:
    """An encoder, its store, and the vectors of the corpus and the queries that it was last asked for.

    Vectors are of length 1 where the encoder's similarity is cosine. They are let go with the corpus they belong to.
    """

    def __init__(self, encoder: Encoder, store: VectorStore | None = None) -> None:
        self.encoder = encoder
        self.store = store
        self._documents: Last[Corpus] = Last()
        self._queries: Last[Queries] = Last()

    def documents(self, corpus: Corpus, tick: Tick = no_tick) -> Fetched:
        """The matrix of a corpus, and how it was come by; `tick` counts documents."""

        def fetch() -> Fetched:
            vectors, tally = encode_once(
                self.encoder, corpus.texts, "document", ids=corpus.ids, store=self.store, tick=tick
            )
            return self._compared(vectors), tally

        return self._documents.get(corpus, fetch, tick)

    def queries(self, queries: Queries) -> Fetched:
        """The matrix of the queries, and how it was come by."""

        def fetch() -> Fetched:
            vectors, tally = encode_once(self.encoder, queries.texts, "query", ids=queries.ids, store=self.store)
            return self._compared(vectors), tally

        return self._queries.get(queries, fetch)

    def _compared(self, vectors: Float32) -> Float32:
        return normalised(vectors) if self.encoder.similarity == "cosine" else vectors


@dataclass
class Last(Generic[T]):
    """What was fetched for the object that was asked for last, for as long as that object lives."""

    _of: weakref.ref[T] | None = None
    _fetched: Fetched | None = None

    def get(self, key: T, fetch: Callable[[], Fetched], tick: Tick = no_tick) -> Fetched:
        """What `fetch` gave for this very object, then or now; the tally says that nothing was encoded again."""
        if self._fetched is not None and self._of is not None and self._of() is key:
            vectors, tally = self._fetched
            tick(tally.texts)
            return vectors, replace(tally, encoded=0, stored=tally.encoded + tally.stored, account={})
        self._fetched = None  # before the next matrix is there, not after: two may be too many
        fetched = fetch()
        self._of, self._fetched = weakref.ref(key, self._forget), fetched
        return fetched

    def _forget(self, gone: weakref.ref[T]) -> None:
        if self._of is gone:
            self._of = self._fetched = None


_Key = tuple[str, str | None, tuple[tuple[str, str], ...], str, int]
_OPEN: weakref.WeakValueDictionary[_Key, SharedVectors] = weakref.WeakValueDictionary()


def open_vectors(spec: ModelSpec) -> SharedVectors:
    """The vectors of `dense:ID@REVISION?OPTIONS`, all options being the encoder's; one object while it is in use."""
    options = tuple(sorted(spec.options.items()))
    key = (spec.id, spec.revision, options, str(config.home()), budget.limit())
    shared = _OPEN.get(key)
    if shared is None:
        encoder = load_encoder(spec.id, spec.revision, spec.options)
        shared = _OPEN[key] = SharedVectors(encoder, open_store(encoder))
    return shared
