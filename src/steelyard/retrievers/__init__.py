"""Retrievers by family: `load_retriever("bm25")`, `load_retriever("[bm25, dense]")`.

Importing this package brings none of the families: each is imported when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.config import Settings
from steelyard.errors import UsageError
from steelyard.registry import Registry, with_settings
from steelyard.spec import ModelSpec, parse

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
        "rerank": "steelyard.retrievers.rerank.alone:from_spec",
        "http": "steelyard.retrievers.search_services.http:from_spec",
        "opensearch": "steelyard.retrievers.search_services.opensearch.retriever:from_spec",
        "elasticsearch": "steelyard.retrievers.search_services.opensearch.retriever:from_spec",
        "qdrant": "steelyard.retrievers.search_services.qdrant:from_spec",
        "postgres": "steelyard.retrievers.search_services.postgres.retriever:from_spec",
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
    >>> str(canonical("bm25 > BAAI/bge-reranker-v2-m3"))
    'bm25 > rerank:BAAI/bge-reranker-v2-m3'
    """
    model = parse(spec) if isinstance(spec, str) else spec
    if model.parts:
        return replace(model, parts=tuple(canonical(part) for part in model.parts))
    if not model.family:
        return replace(model, family=_family(model.id))
    return model if model.id else replace(model, id=DEFAULT_IDS.get(model.family, ""))


def _family(model: str) -> str:
    """The family of a model that was named without it: of a folder what its files declare, else what its card says.

    Nobody guesses: a wrong guess would run, and give figures.
    """
    from steelyard.models import card
    from steelyard.models.availability import declared_family

    path, known = Path(model).expanduser(), card(model)
    found = declared_family(path) if path.is_dir() else known.family if known else None
    if model.startswith((".", "/", "~")) and not path.exists():
        raise UsageError(f"there is no model folder {model}", hint="check the path")
    if found is None:
        forms = ", ".join(f"{family}:{model}" for family in ("dense", "sparse", "late", "rerank"))
        raise UsageError(f"what kind of model is {model}?", hint=f"nothing here tells; write one of {forms}")
    return found


def load_retriever(spec: str | ModelSpec, settings: Settings | None = None) -> Retriever:
    """The retriever of that name, ready to index; an unknown family, model or option is a UsageError."""
    settings = settings or Settings.load()
    model = canonical(spec)
    if model.family == "pipeline":
        from steelyard.retrievers import pipeline

        return pipeline.from_spec(model, settings)
    if model.parts:
        from steelyard.retrievers.fusion.retriever import from_spec

        return from_spec(model, settings)
    if model.family == "fusion":
        raise UsageError("a fusion needs its models", hint="write it as [bm25, dense]")
    return with_settings(RETRIEVERS.get(model.family), settings)(model)
