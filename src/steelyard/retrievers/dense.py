"""Dense retrieval: a vector for each text, and exact search among them, as they are or in a smaller variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from steelyard.config import Settings
from steelyard.encoders.cache.cached_encoder import encode_once
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.retrievers.candidates import run_of
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.ranking import searched
from steelyard.retrievers.shared_vectors import SharedVectors, open_vectors
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Float32, Queries, Ragged, Role, Run, TaskInfo
from steelyard.types.protocols import Encoder, ModelSettings, Tick, no_tick
from steelyard.vectors.variants import OPTIONS, WHOLE, Variant, VariantIndex


@dataclass(frozen=True, eq=False)
class DenseIndex:
    """The matrix of a corpus: one row a document, of length 1 where the similarity is cosine."""

    matrix: Float32
    vectors: SharedVectors
    variant: VariantIndex
    notes: dict[str, Any] = field(default_factory=dict)
    """How the vectors were obtained, of documents and, once searched, of queries; what a document takes; and how long
    the last search took once its queries were encoded."""

    @property
    def size_bytes(self) -> int:
        """The bytes of what is searched, and of the float vectors where the best are rescored."""
        return self.variant.size_bytes

    def search(self, queries: Queries, top_k: int) -> Run:
        """The best `top_k` documents of each query; fewer where the corpus or the variant has fewer."""
        vectors, tally = self.vectors.queries(queries)
        run = self.variant.search(vectors, top_k)
        self.notes["search_seconds"] = self.variant.search_seconds
        self.notes["queries"] = dict(tally.notes)
        return run

    def rank(self, queries: Queries, lists: Ragged) -> Run:
        """The candidates of each query, best first: only those are compared, unless they are stored as codes."""
        if self.variant.variant.precision != WHOLE.precision:
            return searched(self, queries, lists, len(self.matrix))
        vectors, tally = self.vectors.queries(queries)
        self.notes["queries"] = dict(tally.notes)
        rows, coded = run_of(lists).rows, self.variant.coded
        return Run.of(rows, coded.exact.scores_of(coded.prepared(vectors), lists, rows.shape))


@dataclass(frozen=True, eq=False)
class DenseRetriever:
    """An encoder and exact search. With a store, texts that the encoder has seen before are not encoded again."""

    name: str
    encoder: Encoder
    store: VectorStore | None = None
    variant: Variant = WHOLE
    variant_of: str | None = None
    """The name of the model that this one is a variant of."""
    shared: SharedVectors | None = None
    """Vectors that other variants of the model use, too."""

    @cached_property
    def vectors(self) -> SharedVectors:
        """Where vectors come from."""
        return self.shared or SharedVectors(self.encoder, self.store)

    @property
    def settings(self) -> ModelSettings:
        """The encoder's settings, and how vectors are stored and compared."""
        return {
            **self.encoder.settings,
            "similarity": self.encoder.similarity,
            "dimension": self.encoder.dimension,
            **self.variant.settings,
        }

    def for_task(self, info: TaskInfo) -> DenseRetriever:
        """The model with the prompts that it has for that task, or for tasks of that type; itself where it has none."""
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
        """How vectors are compared, as the model declares it."""
        return self.encoder.similarity

    def embed(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> tuple[Float32, ModelSettings]:
        """A raw vector for each text, shortened and coded as the variant says; `tick` counts texts."""
        self.variant.check_without_search(self.name)
        vectors, tally = encode_once(self.encoder, texts, role, store=self.store, tick=tick)
        return self.variant.applied(vectors, self.similarity), tally.notes


def from_spec(spec: ModelSpec, settings: Settings) -> DenseRetriever:
    """The retriever of `dense:ID@REVISION?OPTIONS`; options that do not name a variant are the encoder's."""
    variant = Variant.of(spec.options)
    whole = replace(spec, options={name: value for name, value in spec.options.items() if name not in OPTIONS})
    vectors = open_vectors(whole, settings)
    variant.check(vectors.encoder.dimension, str(whole), vectors.encoder.similarity)
    variant_of = None if variant == WHOLE else result_name(whole)
    return DenseRetriever(result_name(spec), vectors.encoder, vectors.store, variant, variant_of, vectors)
