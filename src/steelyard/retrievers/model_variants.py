"""Several settings of one model in one name: `sparse:X?document_max_active_dims=all,64`, `late:X?pool_factor=1,2`,
`dense:X?truncate_dim=all,256&precision=float32,int8,binary&rescore=none,4`.

Each combination is a model of its own, with its own row in the results. Texts are encoded once for all of them: caps,
pooling and precisions are applied to what the encoder gave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from steelyard.errors import UsageError
from steelyard.retrievers import canonical
from steelyard.spec import ModelSpec, parse

GRIDS = {
    "dense": ("truncate_dim", "precision", "rescore"),
    "sparse": ("query_max_active_dims", "document_max_active_dims"),
    "late": ("pool_factor",),
}
"""The options of each family that may be a list."""
WHOLE = ("all", "none", "")
"""Values that stand for the model as it is."""
WHOLE_OF = {"pool_factor": ("1", "1.0"), "precision": ("float32",), "rescore": ("0",)}
"""Further ones, of one option each."""


def variants(model: str | ModelSpec) -> list[ModelSpec]:
    """The models that a name stands for, in the order of its lists; one that has no list stands for itself.

    >>> [str(spec) for spec in variants("late:X?pool_factor=1,2")]
    ['late:X', 'late:X?pool_factor=2']
    >>> [str(spec) for spec in variants("bm25?k1=0.9")]
    ['bm25?k1=0.9']
    """
    spec = parse(model) if isinstance(model, str) else model
    if spec.parts:
        choices = [variants(part) for part in spec.parts]
        return [replace(spec, parts=parts) for parts in product(*choices)]
    grid = {name: spec.options[name].split(",") for name in GRIDS.get(spec.family, ()) if name in spec.options}
    combinations = list(product(*grid.values()))
    found: list[ModelSpec] = []
    for values in combinations:
        settings = dict(zip(grid, (value.strip() for value in values), strict=True))
        options = _options(spec, settings)
        pointless = spec.family == "dense" and "rescore" in options and "precision" not in options
        if not pointless or len(combinations) == 1:  # float32 in a grid goes without: there is nothing to rescore
            found.append(replace(spec, options=options))
    if len({str(each) for each in found}) < len(found):
        raise UsageError(f"{spec} names a variant twice", hint="each value of a list once; all means without a cap")
    return found


def with_variants(
    models: Sequence[str | ModelSpec], *, truncate_dim: str = "", precision: str = "", rescore: str = ""
) -> list[ModelSpec]:
    """Every dense model as it is, and in all combinations of these lists; each from one encoding.

    What a name says itself stays; models of other families stay as they are.

    >>> [str(model) for model in with_variants(["bm25", "dense:X"], precision="int8,binary", rescore="4")]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['bm25', 'dense:X', 'dense:X?precision=int8', 'dense:X?precision=int8&rescore=4', 'dense:X?precision=binary',
     'dense:X?precision=binary&rescore=4']
    """
    specs = [canonical(model) for model in models]
    asked = {"truncate_dim": truncate_dim, "precision": precision, "rescore": rescore}
    lists = {name: _with_whole(name, values) for name, values in asked.items() if values}
    if not lists:
        return specs
    dense = [spec for spec in specs if spec.family == "dense"]
    if not dense:
        raise UsageError("only dense models have these variants", hint="name one, such as dense:ID")
    if rescore and not precision and not all("precision" in spec.options for spec in dense):
        raise UsageError("rescoring float32 by float32 changes nothing", hint="add --precision int8,binary")
    spread = []
    for spec in specs:
        own = {**lists, **spec.options} if spec.family == "dense" else spec.options
        spread += variants(replace(spec, options=dict(sorted(own.items()))))
    return spread


def base(spec: ModelSpec) -> ModelSpec | None:
    """The model that this one is a variant of; None if it is as its encoder gives it.

    >>> str(base(parse("late:X?pool_factor=3"))), base(parse("late:X?pool_factor=1"))
    ('late:X', None)
    """
    grid = GRIDS.get(spec.family, ())
    asked = _options(spec, {name: value for name, value in spec.options.items() if name in grid})
    whole = _options(spec, dict.fromkeys(grid, WHOLE[0]))
    return None if asked == whole else replace(spec, options=whole)


def _options(spec: ModelSpec, settings: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in settings.items() if not _is_whole(name, value)}
    rest = {name: value for name, value in spec.options.items() if name not in settings}
    if "rescore" in settings and "rescore" not in kept:
        rest.pop("rescore_k", None)  # of those in a grid that are not rescored
    return dict(sorted({**rest, **kept}.items()))


def _with_whole(name: str, values: str) -> str:
    """The list with the model as it is at its head, once, so that every variant has something to be compared with."""
    rest = [value for each in values.split(",") if not _is_whole(name, value := each.strip())]
    return ",".join(["all" if name != "precision" else "float32", *rest])


def _is_whole(name: str, value: str) -> bool:
    return value in WHOLE or value in WHOLE_OF.get(name, ())
