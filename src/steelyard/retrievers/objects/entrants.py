"""The models of `evaluate`, in any form that people have them: names, objects, and names of one's own for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.config import Settings
from steelyard.errors import UsageError
from steelyard.retrievers.model_variants import expand_groups, variants, with_variants
from steelyard.spec import ModelSpec, parse
from steelyard.types.protocols import Retriever

NO_MODEL = "name one, such as 'bm25', or several: ['bm25', 'dense']"
Passages = str | int | Sequence[str | int | None]
Numbers = str | int | Iterable[str | int]
"""One value of an option, or several: `256`, `[256, 128]` or `"256,128"`."""


@dataclass(frozen=True)
class Entrants:
    """Models to load, and the names of one's own of those that are objects, by `id`."""

    models: list[ModelSpec | Retriever]
    offered: list[ModelSpec]
    """Variants that were asked of all models; some may not have them."""
    labels: Mapping[int, str] = field(default_factory=dict)


def collect_entrants(
    models: Any,
    candidates: str | None = None,
    depths: Sequence[int] = (),
    *,
    options: Mapping[str, Numbers | None] | None = None,
    passages: tuple[str, int] = ("", 0),
    settings: Settings | None = None,
) -> Entrants:
    """Return the models that the argument of `evaluate` means; `options` are the variants of dense models.

    `passages` are the lengths of passages, with commas, and the overlap of neighbours.

    >>> found = collect_entrants({"length": lambda texts: [[len(text)] for text in texts], "best match": "bm25"})
    >>> [str(model.label or found.labels.get(id(model))) for model in found.models if isinstance(model, ModelSpec)]
    ['best match']
    """
    pairs = _pairs(models)
    if not pairs:
        raise UsageError("an evaluation needs at least one model, got none", hint=NO_MODEL, option="models")
    listed = [_model(label, model, candidates, settings) for label, model in pairs]
    lists = {name: text for name, value in (options or {}).items() if (text := listed_option(value))}
    offered: list[ModelSpec] = []
    groups: list[list[ModelSpec | Retriever]] = [[model] for model in listed]
    if lists:
        groups, offered = _with_variants(listed, lists)
    groups = [_divided(group, *passages) for group in groups]
    # Rerankers that are objects have the lists already; if there is none, names without a reranker are an error.
    named = [model for model in listed if isinstance(model, ModelSpec)]
    over = candidates if len(named) == len(listed) or any(model.family == "rerank" for model in named) else None
    flat = [model for group in groups for model in group]
    expanded = iter(expand_groups(flat, over, depths))
    labels: dict[int, str] = {}
    entrants: list[ModelSpec | Retriever] = []
    for (label, _), group in zip(pairs, groups, strict=True):
        for _ in group:
            every = next(expanded)
            entrants += every
            labels |= {id(model): label for model in every if label and not isinstance(model, ModelSpec)}
    return Entrants(entrants, offered, labels)


def _pairs(models: Any) -> list[tuple[str | None, Any]]:
    """Return the models with the names of one's own, None without one."""
    from steelyard.retrievers.objects.in_memory import is_run, is_vectors

    if isinstance(models, Mapping) and not is_run(models) and not is_vectors(models):
        wrong = [name for name in models if not isinstance(name, str) or not name.strip()]
        if wrong:
            raise UsageError.invalid("the name of a model", expected="a text", found=wrong[0], option="models")
        return [(name, model) for name, model in models.items()]
    single = isinstance(models, str | Path | ModelSpec | Set | Mapping) or hasattr(models, "name") or callable(models)
    if single or not isinstance(models, Iterable):
        return [(None, models)]
    return [(None, model) for model in models]


def _model(label: str | None, model: Any, candidates: str | None, settings: Settings | None) -> ModelSpec | Retriever:
    from steelyard.retrievers import canonical
    from steelyard.retrievers.objects.adapt import FIRST_STAGE, as_model

    first = FIRST_STAGE if candidates is None else f"candidates:{candidates}".rstrip(":")
    entrant = as_model(model, label, settings, first=first)
    if isinstance(entrant, str):
        entrant = parse(entrant)
    if not isinstance(entrant, ModelSpec):
        return entrant
    return replace(canonical(entrant), label=label or entrant.label)


def _divided(group: list[ModelSpec | Retriever], chunk: str, overlap: int) -> list[ModelSpec | Retriever]:
    """Return models with passages of each length."""
    if not chunk and not overlap:
        return group
    from steelyard.retrievers.chunking.retriever import chunked_models

    chunked = chunked_models(group, chunk, overlap)
    return [parse(model) if isinstance(model, str) else model for model in chunked]


def _with_variants(
    models: Sequence[ModelSpec | Retriever], options: Mapping[str, str]
) -> tuple[list[list[ModelSpec | Retriever]], list[ModelSpec]]:
    """Return each model with its variants, and the variants of names; objects have those of dense models."""
    from steelyard.retrievers.dense import DenseRetriever, variants_of

    names = [model for model in models if isinstance(model, ModelSpec)]
    objects = [model for model in models if isinstance(model, DenseRetriever)]
    if not objects:
        with_variants(names, **options)  # an error if no model is dense
    groups: list[list[ModelSpec | Retriever]] = []
    offered: list[ModelSpec] = []
    grid = with_variants(["dense:X"], **options)
    for model in models:
        if isinstance(model, ModelSpec):
            every = with_variants([model], **options) if model.family == "dense" else variants(model)
            offered += [variant for variant in every if variant != model]
            groups.append([*every])
        elif isinstance(model, DenseRetriever):
            groups.append([*variants_of(model, [spec.options for spec in grid])])
        else:
            groups.append([model])
    return groups, offered


def passage_lengths(chunk: Passages) -> str:
    """Return the lengths of passages as a list with commas; None is the whole document.

    >>> passage_lengths([128, None]), passage_lengths(256), passage_lengths(())
    ('128,none', '256', '')
    """
    listed = [chunk] if isinstance(chunk, str | int) else chunk
    return ",".join("none" if size is None else str(size) for size in listed)


def listed_option(value: Numbers | None) -> str:
    """Return an option as a list with commas.

    >>> listed_option([256, 128]), listed_option("int8,binary"), listed_option(4), listed_option(None)
    ('256,128', 'int8,binary', '4', '')
    """
    if value is None:
        return ""
    return ",".join(map(str, [value] if isinstance(value, str | int) else value))
