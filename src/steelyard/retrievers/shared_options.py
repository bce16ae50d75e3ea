"""Options said once for all models of a command: `--dtype float16` is `?dtype=float16` of each that does not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from steelyard.encoders import ENCODERS
from steelyard.errors import UsageError
from steelyard.retrievers import canonical
from steelyard.spec import ModelSpec

FAMILIES = ("dense", "sparse", "late", "rerank")
"""The families whose models are loaded with options of this kind."""


def with_shared_options(
    models: Sequence[str | ModelSpec], options: Mapping[str, str], revision: str | None = None
) -> list[ModelSpec]:
    """Every model with these options, also those in pipelines and fusions; what a name says itself stays.

    BM25, search services and encoders that bring their own weights, as the default one does, stay as they are. Options
    that no model takes, and a revision for two, are a UsageError.

    >>> models = with_shared_options(["bm25", "[dense, late:X?dtype=float32] > rerank:Y"], {"dtype": "float16"})
    >>> [str(model) for model in models]  # doctest: +NORMALIZE_WHITESPACE
    ['bm25', '[dense:use-multilingual-v3, late:X?dtype=float32] > rerank:Y?dtype=float16']
    """
    specs = [canonical(model) for model in models]
    if not options and revision is None:
        return specs
    takers = {str(each) for spec in specs for each in _takers(spec)}
    if not takers:
        flags = ", ".join([*options, *(["revision"] if revision else [])])
        raise UsageError(f"none of the models takes {flags}", hint="name one that does, such as dense:ID or late:ID")
    if revision is not None and len({each.partition("?")[0] for each in takers}) > 1:
        raise UsageError(f"the revision {revision} for several models", hint="write it behind one: dense:ID@REVISION")
    return [_with(spec, options, revision) for spec in specs]


def takes_options(models: Sequence[ModelSpec]) -> bool:
    """Whether any of the models is loaded with options of this kind.

    >>> takes_options([canonical("bm25"), canonical("dense")]), takes_options([canonical("bm25 > rerank:X")])
    (False, True)
    """
    return any(True for spec in models for _ in _takers(spec))


def _with(spec: ModelSpec, options: Mapping[str, str], revision: str | None) -> ModelSpec:
    if spec.parts:
        return replace(spec, parts=tuple(_with(part, options, revision) for part in spec.parts))
    if not _takes(spec):
        return spec
    return replace(spec, options=dict(sorted({**options, **spec.options}.items())), revision=spec.revision or revision)


def _takers(spec: ModelSpec) -> Iterator[ModelSpec]:
    for part in spec.parts:
        yield from _takers(part)
    if _takes(spec):
        yield spec


def _takes(spec: ModelSpec) -> bool:
    return spec.family in FAMILIES and bool(spec.id) and spec.id not in ENCODERS
