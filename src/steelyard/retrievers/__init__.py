"""Retrievers by family: `load_retriever("bm25")`, `load_retriever("[bm25, dense]")`.

Importing this package brings none of the families: each is imported when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.registry import Registry
from steelyard.spec import ModelSpec, parse

if TYPE_CHECKING:
    from steelyard.protocols import Retriever

__all__ = ["DEFAULT_MODELS", "RETRIEVERS", "canonical", "load_retriever"]

RETRIEVERS: Registry[Callable[[ModelSpec], Retriever]] = Registry(
    "model family",
    "steelyard.retrievers",
    {
        "bm25": "steelyard.retrievers.bm25:from_spec",
        "dense": "steelyard.retrievers.dense:from_spec",
        "late": "steelyard.retrievers.late:from_spec",
        "sparse": "steelyard.retrievers.sparse:from_spec",
        "candidates": "steelyard.retrievers.candidates:from_spec",
        "rerank": "steelyard.retrievers.rerank_alone:from_spec",
        "http": "steelyard.retrievers.remote.http:from_spec",
        "opensearch": "steelyard.retrievers.remote.opensearch:from_spec",
        "elasticsearch": "steelyard.retrievers.remote.opensearch:from_spec",
        "qdrant": "steelyard.retrievers.remote.qdrant:from_spec",
        "postgres": "steelyard.retrievers.remote.postgres:from_spec",
    },
)
"""Families of retrievers: a factory takes a ModelSpec and returns a Retriever; plug-ins add theirs."""

DEFAULT_IDS = {"dense": "use-multilingual-v3"}
"""The model that a family's bare name stands for."""

DEFAULT_MODELS = ("bm25", "dense", "[bm25, dense]")
"""What `steelyard run` weighs when no model is named."""


def canonical(spec: str | ModelSpec) -> ModelSpec:
    """The model in full, so that a result says which one it was.

    >>> str(canonical("dense")), str(canonical("[bm25, dense]"))
    ('dense:use-multilingual-v3', '[bm25, dense:use-multilingual-v3]')
    """
    model = parse(spec) if isinstance(spec, str) else spec
    if model.parts:
        return replace(model, parts=tuple(canonical(part) for part in model.parts))
    return model if model.id else replace(model, id=DEFAULT_IDS.get(model.family, ""))


def load_retriever(spec: str | ModelSpec) -> Retriever:
    """The retriever of that name, ready to index; an unknown family, model or option is a UsageError."""
    model = canonical(spec)
    if model.family == "pipeline":
        from steelyard.retrievers import pipeline

        return pipeline.from_spec(model)
    if model.parts:
        from steelyard.retrievers.fusion import from_spec

        return from_spec(model)
    if model.family == "fusion":
        raise UsageError("a fusion needs its models", hint="write it as [bm25, dense]")
    return RETRIEVERS.get(model.family)(model)
