"""Late interaction: a vector for each token, exact MaxSim over all documents."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from steelyard.encoders.blob_store import BlobStore
from steelyard.encoders.multi_vector_encoders import load_multi_vector_encoder
from steelyard.encoders.ragged_once import BundleEncoder, encode_bundle, open_blobs
from steelyard.errors import UsageError
from steelyard.protocols import Settings, Tick, no_tick
from steelyard.retrievers.names import result_name
from steelyard.retrievers.variants import base
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.vectors.maxsim import MaxSim, TokenVectors
from steelyard.vectors.token_pooling import pooled


@dataclass(frozen=True, eq=False)
class LateIndex:
    """The token vectors of a corpus."""

    documents: MaxSim
    encoder: BundleEncoder[TokenVectors]
    store: BlobStore | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    """How the vectors were come by, and what they take: tokens and bytes a document."""

    @property
    def size_bytes(self) -> int:
        """The bytes of the vectors."""
        return self.documents.size_bytes

    def search(self, queries: Queries, top_k: int) -> Run:
        """The best `top_k` documents of each query; a document without tokens is not found."""
        tokens, tally = encode_bundle(TokenVectors, self.encoder, queries.ids, queries.texts, "query", store=self.store)
        self.notes["queries"] = {**tally.notes, "tokens": len(tokens.matrix)}
        start = time.perf_counter()
        run = self.documents.search(tokens, top_k, similarity=self.encoder.similarity)
        self.notes["search_seconds"] = time.perf_counter() - start
        return run


@dataclass(frozen=True, eq=False)
class LateRetriever:
    """A multi-vector encoder and exact MaxSim. `pool_factor` 2 keeps half of a document's vectors."""

    name: str
    encoder: BundleEncoder[TokenVectors]
    pool_factor: float = 1.0
    store: BlobStore | None = None
    variant_of: str | None = None
    """The name of the model without caps or pooling, where this one has some."""

    @property
    def settings(self) -> Settings:
        """The encoder's settings, how texts are compared, and how documents are pooled."""
        return {
            **self.encoder.settings,
            "similarity": self.encoder.similarity,
            "pool_factor": self.pool_factor,
        }

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> LateIndex:
        """Encode the documents, then pool their tokens; `tick` counts documents."""
        tokens, tally = encode_bundle(
            TokenVectors, self.encoder, corpus.ids, corpus.texts, "document", store=self.store, tick=tick
        )
        whole = len(tokens.matrix)
        documents = MaxSim(tokens := pooled(tokens, self.pool_factor))
        count = max(1, len(corpus))
        notes: dict[str, Any] = {
            "documents": {**tally.notes, "tokens": whole},
            "variant_of": self.variant_of,
            "dimension": tokens.dimension,
            "vectors_per_document": len(tokens.matrix) / count,
            "bytes_per_document": tokens.matrix.nbytes / count,
        }
        return LateIndex(documents, self.encoder, self.store, notes)


def from_spec(spec: ModelSpec) -> LateRetriever:
    """The retriever of `late:ID@REVISION?OPTIONS`; options other than `pool_factor` are the encoder's."""
    if not spec.id:
        raise UsageError("the family late needs a model", hint="such as late:lightonai/GTE-ModernColBERT-v1")
    options = dict(spec.options)
    factor = _factor(options)
    encoder = load_multi_vector_encoder(spec.id, spec.revision, options)
    return LateRetriever(
        result_name(spec), encoder, factor, open_blobs(encoder), result_name(whole) if (whole := base(spec)) else None
    )


def _factor(options: dict[str, str]) -> float:
    text = options.pop("pool_factor", "1")
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 1 <= factor < float("inf"):
        raise UsageError(f"the option pool_factor is {text!r}", hint="a number from 1 (no pooling) up, such as 2 or 3")
    return factor
