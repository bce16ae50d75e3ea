"""One name or option that means several models.

- Lists in a name: `sparse:X?document_max_active_dims=all,64`, `late:X?pool_factor=1,2`,
  `dense:X?truncate_dim=all,256&precision=float32,int8,binary&rescore=none,4`. Every combination is a model with its
  own row in the results; texts are encoded once for all of them.
- Options for all models of a command: `--dtype float16` is `?dtype=float16` of every model that does not set it.
- Rerankers over a task's candidate lists, and pipelines at several depths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Protocol, runtime_checkable

from steelyard.encoders import ENCODERS
from steelyard.errors import UsageError
from steelyard.retrievers.model_names import CHUNK_OPTIONS, WHOLE_DOCUMENTS, canonical, with_passages
from steelyard.spec import ModelSpec, parse
from steelyard.types.protocols import Retriever

GRIDS = {
    "dense": ("truncate_dim", "precision", "rescore", "index", "ef", "probes"),
    "sparse": ("query_max_active_dims", "document_max_active_dims"),
    "late": ("pool_factor",),
}
"""The options of each family that may be a list."""
UNCHANGED = ("all", "none", "")
"""Values that mean the model as it is."""
UNCHANGED_OF = {"pool_factor": ("1", "1.0"), "precision": ("float32",), "rescore": ("0",)}
"""More of them, by option."""
ENCODED_FAMILIES = ("dense", "sparse", "late", "rerank")
"""The families whose models take the options of a command."""
SAFEGUARDS = "safeguards"
"""The option of candidate lists that keeps or drops relevant documents which no model found."""
HYBRID = "hybrid"
"""Part of the name of candidate lists that may contain safeguards."""


@runtime_checkable
class HasDepth(Protocol):
    """A loaded model that reranks down to some depth."""

    def at_depth(self, depth: int) -> Retriever:
        """Return the same model with another depth."""
        ...


def variants(model: str | ModelSpec) -> list[ModelSpec]:
    """Return the models that a name with lists means, in the order of its lists.

    >>> [str(spec) for spec in variants("late:X?pool_factor=1,2")]
    ['late:X', 'late:X?pool_factor=2']
    >>> [str(spec) for spec in variants("bm25?k1=0.9")]
    ['bm25?k1=0.9']
    """
    spec = parse(model) if isinstance(model, str) else model
    if "," in spec.options.get("chunk", ""):
        sizes = [size.strip() for size in spec.options["chunk"].split(",")]
        return [one for size in sizes for one in variants(with_chunk(spec, size))]
    if spec.parts:
        choices = [variants(part) for part in spec.parts]
        return [replace(spec, parts=parts) for parts in product(*choices)]
    grid = {name: spec.options[name].split(",") for name in GRIDS.get(spec.family, ()) if name in spec.options}
    combinations = list(product(*grid.values()))
    specs: list[ModelSpec] = []
    for values in combinations:
        settings = dict(zip(grid, (value.strip() for value in values), strict=True))
        options = _options(spec, settings)
        useless = spec.family == "dense" and "rescore" in options and "precision" not in options
        useless |= spec.family == "dense" and "index" in options and "precision" in options
        if not useless or len(combinations) == 1:  # in a grid, float32 is left out of rescoring
            specs.append(replace(spec, options=options))
    if "index" in grid:  # exact search does not depend on ef and probes
        specs = list({str(one): one for one in specs}.values())
    if len(set(map(str, specs))) < len(specs):
        raise UsageError.invalid(
            "the lists of a model name", expected="lists of distinct values", found=str(spec), hint="remove duplicates"
        )
    return specs


def with_variants(
    models: Sequence[str | ModelSpec], *, truncate_dim: str = "", precision: str = "", rescore: str = ""
) -> list[ModelSpec]:
    """Return every dense model as it is and in all combinations of these lists.

    Options in a name win; models of other families are returned unchanged.

    >>> [str(model) for model in with_variants(["bm25", "dense:X"], precision="int8,binary", rescore="4")]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['bm25', 'dense:X', 'dense:X?precision=int8', 'dense:X?precision=int8&rescore=4', 'dense:X?precision=binary',
     'dense:X?precision=binary&rescore=4']
    """
    specs = [canonical(model) for model in models]
    options = {"truncate_dim": truncate_dim, "precision": precision, "rescore": rescore}
    lists = {name: _with_unchanged(name, values) for name, values in options.items() if values}
    if not lists:
        return specs
    dense = [spec for spec in specs if spec.family == "dense"]
    if not dense:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in lists)
        raise UsageError(f"{flags} must be used with a dense model", hint="name one, such as dense:ID")
    if rescore and not precision and not all("precision" in spec.options for spec in dense):
        raise UsageError(
            "--rescore must be used with a smaller precision than float32",
            hint="add --precision int8,binary",
            option="--rescore",
        )
    expanded = []
    for spec in specs:
        own = {**lists, **spec.options} if spec.family == "dense" else spec.options
        expanded += variants(replace(spec, options=dict(sorted(own.items()))))
    return expanded


def with_chunk(spec: ModelSpec, size: str) -> ModelSpec:
    """Return the model with passages of that size, in place of a list of sizes; `none` is the model without passages.

    >>> str(with_chunk(parse("[bm25, dense:X]?chunk=64,none&overlap=8"), "64"))
    '[bm25?chunk=64&overlap=8, dense:X?chunk=64&overlap=8]'
    """
    changed = (
        {name: value for name, value in spec.options.items() if name not in CHUNK_OPTIONS}
        if size in WHOLE_DOCUMENTS
        else {**spec.options, "chunk": size}
    )
    return canonical(replace(spec, options=changed))


def with_chunks(models: Sequence[str | ModelSpec], chunk: str, overlap: int = 0) -> list[ModelSpec]:
    """Return every model with passages of each of these sizes, in all parts that read documents; names win.

    >>> [str(model) for model in with_chunks(["bm25 > rerank:X"], "128,none", 16)]
    ['bm25?chunk=128&overlap=16 > rerank:X?chunk=128&overlap=16', 'bm25 > rerank:X']
    """
    specs = [canonical(model) for model in models]
    if not chunk:
        if overlap:
            raise UsageError("overlap must be used with chunk", hint="add --chunk 256", option="--overlap")
        return specs
    expanded: dict[str, ModelSpec] = {}
    for spec in specs:
        for size in (item.strip() for item in chunk.split(",")):
            options = (
                {} if size in WHOLE_DOCUMENTS else {"chunk": size} | ({"overlap": str(overlap)} if overlap else {})
            )
            divided = with_passages(spec, options) if options else spec
            expanded.setdefault(str(divided), divided)
    return list(expanded.values())


def without_variant(spec: ModelSpec) -> ModelSpec | None:
    """Return the model that this one is a variant of; None if it is not a variant.

    >>> str(without_variant(parse("late:X?pool_factor=3"))), without_variant(parse("late:X?pool_factor=1"))
    ('late:X', None)
    """
    grid = GRIDS.get(spec.family, ())
    options = _options(spec, {name: value for name, value in spec.options.items() if name in grid})
    unchanged = _options(spec, dict.fromkeys(grid, UNCHANGED[0]))
    return None if options == unchanged else replace(spec, options=unchanged)


def _options(spec: ModelSpec, settings: dict[str, str]) -> dict[str, str]:
    changed = {name: value for name, value in settings.items() if not _is_unchanged(name, value)}
    rest = {name: value for name, value in spec.options.items() if name not in settings}
    if "rescore" in settings and "rescore" not in changed:
        rest.pop("rescore_k", None)  # without rescoring it has no effect
    if "index" in settings and "index" not in changed:
        changed = {name: value for name, value in changed.items() if name not in ("ef", "probes")}
    return dict(sorted({**rest, **changed}.items()))


def _with_unchanged(name: str, values: str) -> str:
    """Put the unchanged model first in a list, once, so that every variant can be compared with it."""
    rest = [value for item in values.split(",") if not _is_unchanged(name, value := item.strip())]
    return ",".join(["all" if name != "precision" else "float32", *rest])


def _is_unchanged(name: str, value: str) -> bool:
    return value in UNCHANGED or value in UNCHANGED_OF.get(name, ())


def with_shared_options(
    models: Sequence[str | ModelSpec], options: Mapping[str, str], revision: str | None = None
) -> list[ModelSpec]:
    """Return every model with these options, also inside pipelines and fusions; options in a name win.

    BM25, search services and encoders that contain their weights, such as the default one, are returned unchanged.
    Options that no model takes, and a revision for several models, raise a UsageError.

    >>> models = with_shared_options(["bm25", "[dense, late:X?dtype=float32] > rerank:Y"], {"dtype": "float16"})
    >>> [str(model) for model in models]  # doctest: +NORMALIZE_WHITESPACE
    ['bm25', '[dense:use-multilingual-v3, late:X?dtype=float32] > rerank:Y?dtype=float16']
    """
    specs = [canonical(model) for model in models]
    if not options and revision is None:
        return specs
    configurable = {str(part) for spec in specs for part in _configurable_parts(spec)}
    if not configurable:
        flags = ", ".join([*options, *(["revision"] if revision else [])])
        raise UsageError(
            f"{flags} must be used with a model that is loaded", hint="name one, such as dense:ID or late:ID"
        )
    if revision is not None and len({name.partition("?")[0] for name in configurable}) > 1:
        raise UsageError(
            f"the revision {revision} must be used with one model, got {len(configurable)}",
            hint="write it in the name of one model: dense:ID@REVISION",
            option="--revision",
            found=revision,
        )
    return [_with_options(spec, options, revision) for spec in specs]


def takes_options(models: Sequence[ModelSpec]) -> bool:
    """Return whether any of the models takes the options of a command.

    >>> takes_options([canonical("bm25"), canonical("dense")]), takes_options([canonical("bm25 > rerank:X")])
    (False, True)
    """
    return any(True for spec in models for _ in _configurable_parts(spec))


def _with_options(spec: ModelSpec, options: Mapping[str, str], revision: str | None) -> ModelSpec:
    if spec.parts:
        return replace(spec, parts=tuple(_with_options(part, options, revision) for part in spec.parts))
    if not _is_configurable(spec):
        return spec
    return replace(spec, options=dict(sorted({**options, **spec.options}.items())), revision=spec.revision or revision)


def _configurable_parts(spec: ModelSpec) -> Iterator[ModelSpec]:
    for part in spec.parts:
        yield from _configurable_parts(part)
    if _is_configurable(spec):
        yield spec


def _is_configurable(spec: ModelSpec) -> bool:
    return spec.family in ENCODED_FAMILIES and bool(spec.id) and spec.id not in ENCODERS


def expand_models(
    models: Sequence[str | ModelSpec | Retriever], candidates: str | None = None, depths: Sequence[int] = ()
) -> list[ModelSpec | Retriever]:
    """Return every model that is meant: lists in names expanded, rerankers alone put after a task's `candidates`, and
    pipelines repeated at each of the `depths`.

    Hybrid lists may end in a safeguard, so a reranker ranks them with and without it; pairs are scored once.

    >>> [str(model) for model in expand_models(["rerank:X"], "bm25", [10, 20])]
    ['candidates:bm25 > rerank:X?depth=10', 'candidates:bm25 > rerank:X?depth=20']
    >>> [str(model) for model in expand_models(["rerank:X"], "reranking_hybrid")]
    ['candidates:reranking_hybrid > rerank:X', 'candidates:reranking_hybrid?safeguards=drop > rerank:X']
    """
    return [variant for group in expand_groups(models, candidates, depths) for variant in group]


def expand_groups(
    models: Sequence[str | ModelSpec | Retriever], candidates: str | None = None, depths: Sequence[int] = ()
) -> list[list[ModelSpec | Retriever]]:
    """Return for each model the list of models that it means; see `expand_models`."""
    groups: list[list[ModelSpec | Retriever]] = [
        [*variants(canonical(model))] if isinstance(model, str | ModelSpec) else [model] for model in models
    ]
    expanded = [model for group in groups for model in group]
    if candidates is not None:
        groups = [[one for model in group for one in _over(model, candidates)] for group in groups]
    placed = [model for group in groups for model in group]
    if candidates is not None and placed == expanded:
        raise UsageError(
            f"the candidates {candidates!r} must be used with a reranker that is named alone",
            hint="name one, such as rerank:ID",
            option="--candidates",
            found=candidates,
        )
    if any(depth < 1 for depth in depths):
        raise UsageError.invalid("every depth", expected="at least 1", found=min(depths), option="--depths")
    if depths and not any(map(_has_depth, placed)):
        raise UsageError("depths must be used with a pipeline", hint="name one: 'bm25 > rerank:ID'", option="--depths")
    return [[variant for model in group for variant in _at_depths(model, depths)] for group in groups]


def _over(model: ModelSpec | Retriever, candidates: str) -> list[ModelSpec | Retriever]:
    if not isinstance(model, ModelSpec) or model.family != "rerank":
        return [model]
    lists = parse(f"candidates:{candidates}" if candidates else "candidates")
    dropped = replace(lists, options=dict(sorted({**lists.options, SAFEGUARDS: "drop"}.items())))
    both = HYBRID in lists.id and SAFEGUARDS not in lists.options and "depth" not in lists.options
    firsts = [lists, dropped] if both else [lists]
    return [ModelSpec("pipeline", parts=(first, model), label=model.label) for first in firsts]


def _has_depth(model: ModelSpec | Retriever) -> bool:
    return model.family == "pipeline" if isinstance(model, ModelSpec) else isinstance(model, HasDepth)


def _at_depths(model: ModelSpec | Retriever, depths: Sequence[int]) -> Sequence[ModelSpec | Retriever]:
    if not depths or not _has_depth(model):
        return [model]
    if isinstance(model, ModelSpec):
        *first, last = model.parts
        return [replace(model, parts=(*first, with_depth(last, depth))) for depth in depths]
    assert isinstance(model, HasDepth)
    return [model.at_depth(depth) for depth in depths]


def with_depth(stage: ModelSpec, depth: int) -> ModelSpec:
    """Return the name of a reranking stage with another depth."""
    return replace(stage, options=dict(sorted({**stage.options, "depth": str(depth)}.items())))
