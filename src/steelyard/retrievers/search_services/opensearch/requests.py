"""What OpenSearch and Elasticsearch want to be told: index definitions and queries, where they agree and where not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.types import Float32

DEEPEST = 10_000
"""The longest list that both give unless an index says otherwise (`index.max_result_window`)."""

ANALYZERS: Mapping[str, str] = {
    "ar": "arabic", "bg": "bulgarian", "bn": "bengali", "ca": "catalan", "cs": "czech", "da": "danish",
    "de": "german", "el": "greek", "en": "english", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "gl": "galician", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "ja": "cjk", "ko": "cjk",
    "lt": "lithuanian", "lv": "latvian", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sv": "swedish", "th": "thai", "tr": "turkish", "zh": "cjk",
}  # fmt: skip
"""The analysers that both bring, by language; others get `standard`."""


def analyzer_for(language: str) -> str:
    """The built-in analyser of a language.

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
        """OpenSearch; else Elasticsearch."""
        return self.name == "opensearch"

    def vector_field(self, dimension: int, cosine: bool, m: int, ef_construction: int) -> dict[str, Any]:
        """The mapping of a field of vectors, searched through a graph (HNSW)."""
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
        """The nearest `k`, looked for among so many candidates."""
        values = vector.tolist()
        if self.opensearch:
            # Lucene's engine looks among k candidates, so a wider search is a larger k, of which `size` are wanted.
            return {"query": {"knn": {field: {"vector": values, "k": max(k, min(candidates, DEEPEST))}}}}
        wide = max(k, min(candidates, DEEPEST))
        return {"knn": {"field": field, "query_vector": values, "k": k, "num_candidates": wide}}


def text_query(fields: Sequence[str], text: str) -> dict[str, Any]:
    """BM25 over one field, or the best of several (`title^2` counts twice)."""
    if len(fields) == 1 and "^" not in fields[0]:
        return {"query": {"match": {fields[0]: {"query": text}}}}
    return {"query": {"multi_match": {"query": text, "fields": list(fields)}}}


def definition(analyzer: str, k1: float, b: float, vectors: Mapping[str, Any] | None, dialect: Dialect) -> Any:
    """An index of one shard, so that term statistics are those of the whole corpus."""
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
