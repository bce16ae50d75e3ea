"""Dense retrieval: a vector for each text, and exact search among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from steelyard.encoders import load_encoder
from steelyard.encoders.cached import encode_once, open_store
from steelyard.encoders.store import VectorStore
from steelyard.protocols import Encoder, Settings, Tick, no_tick
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Float32, Queries, Run, TaskInfo
from steelyard.vectors import topk


@dataclass(frozen=True, eq=False)
class DenseIndex:
    """The matrix of a corpus: one row a document, of length 1 where the similarity is cosine."""

    matrix: Float32
    encoder: Encoder
    store: VectorStore | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    """How the vectors were come by: of the documents, and once searched, of the queries."""

    @property
    def size_bytes(self) -> int:
        """The bytes of the matrix."""
        return self.matrix.nbytes

    def search(self, queries: Queries, top_k: int) -> Run:
        """The best `top_k` documents of each query, or all of them if there are fewer."""
        vectors, tally = encode_once(self.encoder, queries.texts, "query", ids=queries.ids, store=self.store)
        self.notes["queries"] = dict(tally.notes)
        if self.encoder.similarity == "cosine":
            vectors = topk.normalised(vectors)
        return topk.top_k(vectors, self.matrix, top_k)


@dataclass(frozen=True, eq=False)
class DenseRetriever:
    """An encoder and exact search. With a store, texts that the encoder has seen before are not encoded again."""

    name: str
    encoder: Encoder
    store: VectorStore | None = None

    @property
    def settings(self) -> Settings:
        """The encoder's settings, and how vectors are compared."""
        return {
            **self.encoder.settings,
            "similarity": self.encoder.similarity,
            "dimension": self.encoder.dimension,
            "dtype": "float32",
        }

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> DenseIndex:
        """Encode the documents; `tick` counts them."""
        vectors, tally = encode_once(
            self.encoder, corpus.texts, "document", ids=corpus.ids, store=self.store, tick=tick
        )
        if self.encoder.similarity == "cosine":
            vectors = topk.normalised(vectors)
        return DenseIndex(vectors, self.encoder, self.store, {"documents": dict(tally.notes)})


def from_spec(spec: ModelSpec) -> DenseRetriever:
    """The retriever of `dense:ID@REVISION?OPTIONS`; the options are the encoder's."""
    encoder = load_encoder(spec.id, spec.revision, spec.options)
    return DenseRetriever(str(spec), encoder, open_store(encoder))
