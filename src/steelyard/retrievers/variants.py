"""Several settings of one model in one name: `sparse:X?document_max_active_dims=all,64`, `late:X?pool_factor=1,2`.

Each combination is a model of its own, with its own row in the results. Texts are encoded once for all of them: caps
and pooling are applied to what the encoder gave.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from steelyard.errors import UsageError
from steelyard.spec import ModelSpec, parse

GRIDS = {"sparse": ("query_max_active_dims", "document_max_active_dims"), "late": ("pool_factor",)}
"""The options of each family that may be a list."""
WHOLE = ("all", "none", "")
"""Values that stand for the model as it is."""


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
    found = []
    for values in product(*grid.values()):
        settings = dict(zip(grid, (value.strip() for value in values), strict=True))
        found.append(replace(spec, options=_options(spec, settings)))
    if len({str(each) for each in found}) < len(found):
        raise UsageError(f"{spec} names a variant twice", hint="each value of a list once; all means without a cap")
    return found


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
    return dict(sorted({**{n: v for n, v in spec.options.items() if n not in settings}, **kept}.items()))


def _is_whole(name: str, value: str) -> bool:
    return value in WHOLE or (name == "pool_factor" and value in ("1", "1.0"))
