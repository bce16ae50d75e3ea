"""Index definitions and queries for OpenSearch and Elasticsearch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.types import Float32

MAX_DEPTH = 10_000
"""The longest list that both return by default (`index.max_result_window`)."""

ANALYZERS: Mapping[str, str] = {
    "ar": "arabic", "bg": "bulgarian", "bn": "bengali", "ca": "catalan", "cs": "czech", "da": "danish",
    "de": "german", "el": "greek", "en": "english", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "gl": "galician", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "ja": "cjk", "ko": "cjk",
    "lt": "lithuanian", "lv": "latvian", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sv": "swedish", "th": "thai", "tr": "turkish", "zh": "cjk",
}  # fmt: skip
"""The built-in analysers of both by language; other languages get `standard`."""


def analyzer_for(language: str) -> str:
    """Return the built-in analyser of a language.

    >>> analyzer_for("de"), analyzer_for("zh"), analyzer_for("sw")
    ('german', 'cjk', 'standard')
    """
    return ANALYZERS.get(language, "standard")


@dataclass(frozen=True)
class Dialect:
    """One of the two servers."""

    name: str

    @property
    def opensearch(self) -> bool:
        """Return whether this is OpenSearch; otherwise it is Elasticsearch."""
        return self.name == "opensearch"

    def vector_field(self, dimension: int, cosine: bool, m: int, ef_construction: int) -> dict[str, Any]:
        """Return the mapping of a vector field with an HNSW graph."""
        if self.opensearch:
            space = "cosinesimil" if cosine else "innerproduct"
            parameters = {"m": m, "ef_construction": ef_construction}
            method = {"name": "hnsw", "engine": "lucene", "space_type": space, "parameters": parameters}
            return {"type": "knn_vector", "dimension": dimension, "method": method}
        return {
            "type": "dense_vector",
            "dims": dimension,
            "index": True,
            "similarity": "cosine" if cosine else "max_inner_product",
            "index_options": {"type": "hnsw", "m": m, "ef_construction": ef_construction},
        }

    def vector_query(self, field: str, vector: Float32, k: int, candidates: int) -> dict[str, Any]:
        """Return the query for the nearest `k` among so many candidates."""
        values = vector.tolist()
        if self.opensearch:
            # Lucene's engine visits k candidates, so a wider search is a larger k, of which `size` are returned.
            return {"query": {"knn": {field: {"vector": values, "k": max(k, min(candidates, MAX_DEPTH))}}}}
        wide = max(k, min(candidates, MAX_DEPTH))
        return {"knn": {"field": field, "query_vector": values, "k": k, "num_candidates": wide}}


def text_query(fields: Sequence[str], text: str) -> dict[str, Any]:
    """Return a BM25 query over one field, or over the best of several (`title^2` counts twice)."""
    if len(fields) == 1 and "^" not in fields[0]:
        return {"query": {"match": {fields[0]: {"query": text}}}}
    return {"query": {"multi_match": {"query": text, "fields": list(fields)}}}


def definition(analyzer: str, k1: float, b: float, vectors: Mapping[str, Any] | None, dialect: Dialect) -> Any:
    """Return the definition of an index with one shard, so that term statistics are those of the whole corpus."""
    index: dict[str, Any] = {
        "number_of_shards": 1,
        "number_of_replicas": 0,
        "similarity": {"default": {"type": "BM25", "k1": k1, "b": b}},
    }
    properties: dict[str, Any] = {
        "id": {"type": "keyword", "index": False, "doc_values": False},
        "text": {"type": "text", "analyzer": analyzer},
    }
    if vectors is not None:
        properties["vector"] = dict(vectors)
        if dialect.opensearch:
            index["knn"] = True
    return {"settings": {"index": index}, "mappings": {"dynamic": "strict", "properties": properties}}
