"""Dense retrieval: one vector for each text, exact search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from steelyard.encoders import load_encoder
from steelyard.protocols import Encoder, Settings, Tick, no_tick
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Float32, Queries, Run, TaskInfo
from steelyard.vectors import topk


@dataclass(frozen=True, eq=False)
class DenseIndex:
    """The matrix of a corpus: one row a document, of length 1 where the similarity is cosine."""

    matrix: Float32
    encoder: Encoder
    notes: Settings = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """The bytes of the matrix."""
        return self.matrix.nbytes

    def search(self, queries: Queries, top_k: int) -> Run:
        """The nearest documents of each query."""
        vectors = self.encoder.encode(queries.texts, "query")
        if self.encoder.similarity == "cosine":
            vectors = topk.normalised(vectors)
        return topk.top_k(vectors, self.matrix, top_k)


@dataclass(frozen=True, eq=False)
class DenseRetriever:
    """An encoder and exact search."""

    name: str
    encoder: Encoder

    @property
    def settings(self) -> dict[str, Any]:
        """Settings."""
        return {
            **self.encoder.settings,
            "similarity": self.encoder.similarity,
            "dimension": self.encoder.dimension,
            "dtype": "float32",
        }

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> DenseIndex:
        """Encode."""
        m = self.encoder.encode(corpus.texts, "document", tick)
        return DenseIndex(topk.normalised(m) if self.encoder.similarity == "cosine" else m, self.encoder)


def from_spec(spec: ModelSpec) -> DenseRetriever:
    """The retriever."""
    return DenseRetriever(str(spec), load_encoder(spec.id, spec.revision, spec.options))
