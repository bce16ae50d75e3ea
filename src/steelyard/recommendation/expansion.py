"""Which choices there are: models, their dimensions and precisions, fusions with BM25, rerankers at several depths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from steelyard.errors import UsageError
from steelyard.models import card, cards
from steelyard.models.availability import installed
from steelyard.retrievers import DEFAULT_MODELS, canonical
from steelyard.retrievers.model_variants import with_variants
from steelyard.spec import ModelSpec

PRECISIONS = "int8,binary"
RESCORE = "4"
DEPTHS = (20, 50, 100)
FUSED = ("dense", "sparse", "late")


@dataclass(frozen=True)
class Grid:
    """What is varied; an empty text or sequence varies nothing, None takes what the model declares."""

    dimensions: str | None = None
    """Such as `256,128`; None: the Matryoshka dimensions of the model's card."""
    precisions: str = PRECISIONS
    rescore: str = RESCORE
    fusions: bool = True
    """Whether every encoder is fused with BM25, too."""
    depths: Sequence[int] = DEPTHS


def installed_models() -> list[str]:
    """Return the models that can run on this machine without fetching anything: the defaults and those with cards."""
    names = [name for name in DEFAULT_MODELS if not name.startswith("[")]
    names += [known.name for known in cards().values() if installed(known.family, known.model)]
    return list(dict.fromkeys(str(canonical(name)) for name in names))


def choices(models: Sequence[str | ModelSpec], grid: Grid | None = None) -> tuple[list[ModelSpec], list[ModelSpec]]:
    """Return every choice that the models give, and those among them that only some models have.

    A reranker (`rerank:ID`) is put behind each model and each fusion, at each depth.

    >>> every, _ = choices(["bm25", "dense:X"], Grid(precisions="int8", rescore=""))
    >>> [str(spec) for spec in every]  # doctest: +NORMALIZE_WHITESPACE
    ['bm25', 'dense:X', 'dense:X?precision=int8', '[bm25, dense:X]', '[bm25, dense:X?precision=int8]']
    """
    grid = grid or Grid()
    given = [canonical(model) for model in models]
    rerankers = [spec for spec in given if spec.family == "rerank" and not spec.parts]
    whole = [spec for spec in given if spec not in rerankers]
    if not whole:
        raise UsageError("at least one model must rank documents, got rerankers only", hint="add bm25 or dense:ID")
    single = [own for spec in whole for own in _variants(spec, grid)]
    fused = [_with_bm25(spec) for spec in single if grid.fusions and spec.family in FUSED]
    fused = [spec for spec in fused if spec not in single]
    first = [*whole, *(_with_bm25(spec) for spec in whole if grid.fusions and spec.family in FUSED)]
    reranked = [
        ModelSpec("pipeline", parts=(stage, _at_depth(reranker, depth)))
        for stage in first
        for reranker in rerankers
        for depth in grid.depths
        if stage.family != "pipeline"
    ]
    every = list({str(spec): spec for spec in (*single, *fused, *reranked)}.values())
    return every, [spec for spec in every if spec not in whole]


def _variants(spec: ModelSpec, grid: Grid) -> list[ModelSpec]:
    if spec.family != "dense":
        return [spec]
    known = card(spec.id)
    declared = ",".join(map(str, known.matryoshka)) if known else ""
    dimensions = declared if grid.dimensions is None else grid.dimensions
    rescore = grid.rescore if grid.precisions else ""
    return with_variants([spec], truncate_dim=dimensions, precision=grid.precisions, rescore=rescore)


def _with_bm25(spec: ModelSpec) -> ModelSpec:
    return ModelSpec("fusion", parts=(canonical("bm25"), spec))


def _at_depth(reranker: ModelSpec, depth: int) -> ModelSpec:
    if depth < 1:
        raise UsageError.invalid("depth", expected="at least 1", found=depth, option="depths")
    return replace(reranker, options=dict(sorted({**reranker.options, "depth": str(depth)}.items())))
