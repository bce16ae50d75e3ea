"""Retrievers by family: `load_retriever("bm25")`, `load_retriever("[bm25, dense]")`.

Importing this package imports none of the families: each is imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.config import Settings
from steelyard.errors import UsageError
from steelyard.registry import Registry, with_settings
from steelyard.retrievers.model_names import CHUNK_OPTIONS, DEFAULT_MODELS, WHOLE_DOCUMENTS, canonical
from steelyard.spec import ModelSpec

if TYPE_CHECKING:
    from steelyard.types.protocols import Retriever

__all__ = ["DEFAULT_MODELS", "RETRIEVERS", "canonical", "load_retriever"]

RETRIEVERS: Registry[Callable[..., Retriever]] = Registry(
    "model family",
    "steelyard.retrievers",
    {
        "bm25": "steelyard.retrievers.bm25.retriever:from_spec",
        "dense": "steelyard.retrievers.dense:from_spec",
        "late": "steelyard.retrievers.late:from_spec",
        "sparse": "steelyard.retrievers.sparse:from_spec",
        "candidates": "steelyard.retrievers.candidates:from_spec",
        "rerank": "steelyard.retrievers.rerank.load:from_spec",
        "http": "steelyard.retrievers.search_services.http_retriever:from_spec",
        "opensearch": "steelyard.retrievers.search_services.opensearch.retriever:from_spec",
        "elasticsearch": "steelyard.retrievers.search_services.opensearch.retriever:from_spec",
        "qdrant": "steelyard.retrievers.search_services.qdrant:from_spec",
        "postgres": "steelyard.retrievers.search_services.postgres.retriever:from_spec",
    },
)
"""Families of retrievers: a factory takes a ModelSpec and returns a Retriever; plug-ins add their own."""

_COMPOSITES: Registry[Callable[..., Retriever]] = Registry(
    "kind of composite model",
    "steelyard.composites",
    {
        "pipeline": "steelyard.retrievers.pipeline:from_spec",
        "fusion": "steelyard.retrievers.fusion.retriever:from_spec",
        "chunked": "steelyard.retrievers.chunking.retriever:from_spec",
    },
)
"""Models that contain others, which they load with `load_retriever`."""


def load_retriever(spec: str | ModelSpec, settings: Settings | None = None) -> Retriever:
    """Return the retriever of that name, ready to index; an unknown family, model or option raises a UsageError."""
    settings = settings or Settings.load()
    model = canonical(spec)
    if model.parts:
        return _COMPOSITES.get(model.family)(model, settings)
    if model.family == "fusion":
        raise UsageError("a fusion must name its models", hint="write it as [bm25, dense]", found="fusion")
    if model.family != "rerank" and any(name in model.options for name in CHUNK_OPTIONS):
        if model.options.get("chunk") not in WHOLE_DOCUMENTS:
            return _COMPOSITES.get("chunked")(model, settings)
        model = replace(model, options={n: v for n, v in model.options.items() if n not in CHUNK_OPTIONS})
    return with_settings(RETRIEVERS.get(model.family), settings)(model)
