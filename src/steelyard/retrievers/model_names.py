"""The name that a model goes by in results: without the options that change no figure, and in one spelling.

Where a model is computed, how fast a service is asked, what it costs and how long it may take is for the run at hand.
Results are found again under the same name and key whatever of it is said the next time.
"""

from __future__ import annotations

from dataclasses import replace

from steelyard.retrievers import canonical
from steelyard.retrievers.defaults import DEPTH, plain_options
from steelyard.spec import ModelSpec, parse

SEARCH = ("http", "opensearch", "elasticsearch", "qdrant", "postgres")
"""The families that ask a running search service."""
ASKING = ("concurrency", "timeout", "retries", "keep")
"""What is said to them of how to ask, and whether what was stored stays."""
LOADING = ("device", "batch_size", "batch_tokens")
"""Of a model that is computed here: where, and how much at once. Both change the rounding and nothing else; where the
size of a batch changes vectors themselves (quantised on the fly), the model has it among its settings."""
ACCESS = ("key_env", "key_header", "encoding")
"""Of a service for models: where its key is, and how numbers travel."""


def result_name(spec: ModelSpec) -> str:
    """The model in full, as results name it.

    >>> result_name(parse("dense:api/e5?url=http://x/v1&concurrency=16&price_per_million_tokens=0.02"))
    'dense:api/e5?url=http://x/v1'
    >>> result_name(parse("[bm25, dense] > rerank:api/r?depth=50&shape=tei&timeout=5"))
    '[bm25, dense:use-multilingual-v3] > rerank:api/r?depth=50&shape=tei'
    >>> result_name(parse("late:X?batch_size=8&device=cuda:1&pool_factor=2"))
    'late:X?pool_factor=2'
    >>> result_name(parse("[bm25?b=0.75&k1=.9, dense?precision=float32]?depth=500 > rerank:X?tail=keep&depth=050"))
    '[bm25?k1=0.9, dense:use-multilingual-v3] > rerank:X?depth=50'
    """
    return str(_without_traffic(canonical(spec)))


def stage_name(spec: ModelSpec, usual: int | None) -> str:
    """A reranker as the name of a pipeline has it: without the depth where that is the usual one.

    >>> stage_name(parse("rerank:X?depth=100"), 100), stage_name(parse("rerank:X?depth=100"), None)
    ('rerank:X', 'rerank:X?depth=100')
    """
    return str(_stage(canonical(spec), usual))


def _stage(spec: ModelSpec, usual: int | None) -> ModelSpec:
    named = _without_traffic(spec)
    if named.options.get("depth") != str(usual):
        return named
    return replace(named, options={name: value for name, value in named.options.items() if name != "depth"})


def _without_traffic(spec: ModelSpec) -> ModelSpec:
    if spec.parts:
        first, *others = spec.parts
        if spec.family == "pipeline":
            usual = [None if first.family == "candidates" else DEPTH, *[DEPTH] * len(others)]
            parts = (_without_traffic(first), *map(_stage, others, usual))
        else:
            parts = tuple(map(_without_traffic, spec.parts))
        return replace(spec, parts=parts, options=plain_options(spec.family, spec.options))
    traffic = _traffic(spec)
    options = plain_options(spec.family, {name: spec.options[name] for name in spec.options if name not in traffic})
    if spec.family in SEARCH and "dense" in options:
        encoder = parse(f"dense:{options['dense'].removeprefix('dense:')}")
        options["dense"] = str(_without_traffic(encoder)).removeprefix("dense:")
    return replace(spec, options=options)


def _traffic(spec: ModelSpec) -> tuple[str, ...]:
    if spec.family in SEARCH:
        return ASKING
    if not spec.id.startswith("api/"):
        return LOADING
    from steelyard.options import Traffic

    names = (*Traffic.names(), *ACCESS)
    listwise = spec.options.get("listwise") == "true"  # what is scored together changes scores
    return tuple(name for name in names if name != "batch_size") if listwise else names
