"""What a model name means: the family and model it refers to, and the one name under which results are stored.

`canonical` completes a name ("dense" is "dense:use-multilingual-v3") and refuses credentials in it. `result_name`
also removes what does not change a score: defaults, other spellings of a number, and options of speed, price and
access. Results are found again under that name, also if those options differ the next time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard import models
from steelyard.errors import UsageError
from steelyard.files import with_home
from steelyard.http.endpoint import check_address
from steelyard.http.secrets import is_sensitive, stored
from steelyard.http.traffic import Traffic
from steelyard.models.availability import declared_family
from steelyard.options import FLAGS, MAX_DIGITS
from steelyard.spec import ModelSpec, parse

DEFAULT_IDS = {"dense": "use-multilingual-v3"}
"""The model of a family that is named without one."""
DEFAULT_MODELS = ("bm25", "dense", "[bm25, dense]")
"""The models that `steelyard run` evaluates if none is named."""

BM25_PRESETS: Mapping[str, Mapping[str, str]] = {
    "default": {"form": "lucene", "k1": "1.2", "b": "0.75", "analyser": "default"},
    "hakari": {"form": "robertson", "k1": "1.5", "b": "0.75", "analyser": "hakari"},
}
"""Options that belong together; docs/bm25.md shows how the default was chosen."""
FUSION_PRESETS: Mapping[str, Mapping[str, str]] = {"hakari": {"method": "rrf", "k": "100"}}
"""Options under one name; an option that is given next to the preset wins."""

FUSION_METHOD = "adaptive"
"""The method of fusions that name neither a method nor `k`."""

PRESETS = {"bm25": BM25_PRESETS, "fusion": FUSION_PRESETS}
DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "bm25": {**BM25_PRESETS["default"], "preset": "default", "language": "", "delta": "0.5"},
    "fusion": {"method": FUSION_METHOD, "depth": "500"},
    "dense": {"truncate_dim": "all", "precision": "float32", "rescore": "none", "rescore_k": "100", "index": "none"},
    "late": {"pool_factor": "1"},
    "rerank": {"tail": "keep"},
    "candidates": {"safeguards": "keep"},
}
"""The value of an option that is not given, by family."""
RERANK_DEPTH = 100
"""How many documents a reranker reads by default; of a task's own candidate lists it reads all."""
NUMBERS: Mapping[str, tuple[str, ...]] = {
    "bm25": ("k1", "b", "delta"),
    "fusion": ("k", "depth", "weights"),
    "dense": ("truncate_dim", "rescore", "rescore_k", "ef", "probes"),
    "sparse": ("query_max_active_dims", "document_max_active_dims"),
    "late": ("pool_factor",),
    "rerank": ("depth",),
    "candidates": ("depth",),
}
"""The options that are numbers, or lists of numbers."""

CHUNK_OPTIONS = ("chunk", "overlap", "chunk_by", "chunk_score", "late_chunking")
"""Options of every model that reads documents: how they are divided into passages (`retrievers.chunking`)."""
CHUNK_DEFAULTS: Mapping[str, str] = {"overlap": "0", "chunk_by": "", "chunk_score": "max", "late_chunking": "no"}
NOT_CHUNKED = ("candidates", "http")
"""Families whose documents are not read here."""
WHOLE_DOCUMENTS = ("none", "")
"""Values of `chunk` that mean documents as they are."""

SEARCH_SERVICES = ("http", "opensearch", "elasticsearch", "qdrant", "postgres")
"""The families that query a running search service."""
REQUEST_OPTIONS = ("concurrency", "timeout", "retries", "keep", "env", "allow_http")
"""Options of search services that do not change a score."""
LOADING_OPTIONS = ("device", "batch_size", "batch_tokens", "threads")
"""Options of local models that change only the last bits of a score. A model whose vectors depend on the batch (it is
quantised while it runs) has the batch size among its settings."""
LOCAL_FAMILIES = ("dense", "sparse", "late", "rerank")
"""The families whose models may be local files."""
FILE_OPTIONS = ("queries", "ids")
"""Options of saved vectors that are paths; the settings have hashes of the files."""
ACCESS_OPTIONS = ("key_env", "key_header", "encoding", "allow_http")
"""Options of model services that do not change a score."""
BODY_OPTIONS = ("body", "query_body", "document_body", "text_body")
ARGUMENT_OPTIONS = ("model_kwargs", "config_kwargs", "encode_kwargs", "processor_kwargs", "tokenizer_kwargs")
"""Options that are passed to the constructor or the call of a model, as JSON."""
"""Options of model services that add fields to every request."""


def canonical(spec: str | ModelSpec) -> ModelSpec:
    """Return the complete name of a model, so that a result shows which one it was.

    >>> str(canonical("dense")), str(canonical("[bm25, dense]"))
    ('dense:use-multilingual-v3', '[bm25, dense:use-multilingual-v3]')
    >>> str(canonical("bm25 > BAAI/bge-reranker-v2-m3"))
    'bm25 > rerank:BAAI/bge-reranker-v2-m3'
    """
    model = parse(spec) if isinstance(spec, str) else spec
    if model.parts:
        parts = tuple(canonical(part) for part in model.parts)
        own = {name: value for name, value in model.options.items() if name in CHUNK_OPTIONS}
        if not own or "," in own.get("chunk", ""):  # a list is expanded first, so that all parts have the same value
            return replace(model, parts=parts)
        rest = {name: value for name, value in model.options.items() if name not in own}
        return with_passages(replace(model, parts=parts, options=rest), own)
    check_credentials(model)
    if not model.family:
        return replace(model, family=_family(model.id))
    return model if model.id else replace(model, id=DEFAULT_IDS.get(model.family, ""))


def with_passages(model: ModelSpec, options: Mapping[str, str]) -> ModelSpec:
    """Return the model with these options of passages, also in all parts that do not have their own.

    >>> str(with_passages(parse("[bm25, dense:X?chunk=64] > rerank:Y"), {"chunk": "128"}))
    '[bm25?chunk=128, dense:X?chunk=64] > rerank:Y?chunk=128'
    """
    if model.parts:
        return replace(model, parts=tuple(with_passages(part, options) for part in model.parts))
    if model.family in NOT_CHUNKED or "chunk" in model.options:
        return model
    return replace(model, options=dict(sorted({**options, **model.options}.items())))


def check_credentials(model: ModelSpec) -> None:
    """Refuse a name with a password or a key in it: names are stored in results and shown in reports."""
    if model.family in SEARCH_SERVICES and model.family != "http":
        if model.revision is not None or "@" in model.id:
            raise UsageError(
                f"the address of {model.family} must not contain an @: it separates a password from the host",
                hint="keep credentials in an environment variable: auth_env=NAME (opensearch, elasticsearch, qdrant), "
                "PGUSER and PGPASSWORD, or postgres:${DATABASE_URL}",
                option="model",
                expected="an address without credentials",
            )
        check_address(model.id, model.family)
    if "url" in model.options:
        check_address(model.options["url"], f"{model.family}:{model.id}".strip(":"))
    for option in BODY_OPTIONS:
        for field, _ in _fields(model.options.get(option, "")):
            if is_sensitive(field):
                hint = "keep the key in an environment variable: key_env=NAME&key_header=HEADER"
                raise _key_in_option(option, field, hint)
    for option in ARGUMENT_OPTIONS:
        for field, value in _fields(model.options.get(option, "")):
            if isinstance(value, str) and is_sensitive(field):
                raise _key_in_option(
                    option, field, "set HF_TOKEN, which the client of the hub reads, or log in with `hf auth login`"
                )


def _key_in_option(option: str, field: str, hint: str) -> UsageError:
    message = f"the option {option} must not contain a key: its field {field!r} would be stored with the result"
    return UsageError(message, hint=hint, option=option, field=field)


def _fields(text: str) -> list[tuple[str, Any]]:
    """Return the names and values of all objects in JSON, also inside of others."""
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return []
    fields: list[tuple[str, Any]] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            fields += item.items()
        pending += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return fields


def _family(model: str) -> str:
    """Return the family of a model that was named without one: as its files declare, or else as its card states."""
    path, card = with_home(model), models.card(model)
    family = declared_family(path) if path.is_dir() else card.family if card else None
    if model.startswith((".", "/", "~")) and not path.exists():
        raise UsageError(f"the model folder does not exist: {model}", hint="check the path", path=path)
    if family is None:
        names = ", ".join(f"{family}:{model}" for family in ("dense", "sparse", "late", "rerank"))
        raise UsageError(f"the family of the model {model} is unknown", hint=f"write one of {names}", found=model)
    return family


def result_name(spec: ModelSpec) -> str:
    """Return the name of a model in results.

    >>> result_name(parse("dense:api/e5?url=http://x/v1&concurrency=16&price_per_million_tokens=0.02"))
    'dense:api/e5?url=http://x/v1'
    >>> result_name(parse("[bm25, dense] > rerank:api/r?depth=50&shape=tei&timeout=5"))
    '[bm25, dense:use-multilingual-v3] > rerank:api/r?depth=50&shape=tei'
    >>> result_name(parse("late:X?batch_size=8&device=cuda:1&pool_factor=2"))
    'late:X?pool_factor=2'
    >>> result_name(parse("[bm25?b=0.75&k1=.9, dense?precision=float32]?depth=500 > rerank:X?tail=keep&depth=050"))
    '[bm25?k1=0.9, dense:use-multilingual-v3] > rerank:X?depth=50'
    """
    return str(_normalised(canonical(spec)))


def stage_name(spec: ModelSpec, default_depth: int | None) -> str:
    """Return the name of a reranker in the name of a pipeline: without the depth if that is the default.

    >>> stage_name(parse("rerank:X?depth=100"), 100), stage_name(parse("rerank:X?depth=100"), None)
    ('rerank:X', 'rerank:X?depth=100')
    """
    return str(_normalised_stage(canonical(spec), default_depth))


def _normalised_stage(spec: ModelSpec, default_depth: int | None) -> ModelSpec:
    stage = _normalised(spec)
    if stage.options.get("depth") != str(default_depth):
        return stage
    return replace(stage, options={name: value for name, value in stage.options.items() if name != "depth"})


def _normalised(spec: ModelSpec) -> ModelSpec:
    if spec.parts:
        first, *others = spec.parts
        if spec.family == "pipeline":
            depths = [None if first.family == "candidates" else RERANK_DEPTH, *[RERANK_DEPTH] * len(others)]
            parts = (_normalised(first), *map(_normalised_stage, others, depths))
        else:
            parts = tuple(map(_normalised, spec.parts))
        return replace(spec, parts=parts, options=effective_options(spec.family, spec.options))
    ignored = _ignored_options(spec)
    spec = _without_path(spec)
    options = effective_options(spec.family, {name: spec.options[name] for name in spec.options if name not in ignored})
    if spec.family in SEARCH_SERVICES and "dense" in options:
        encoder = parse(f"dense:{options['dense'].removeprefix('dense:')}")
        options["dense"] = str(_normalised(encoder)).removeprefix("dense:")
    for name in options.keys() & set(BODY_OPTIONS):
        options[name] = _stored_body(options[name])
    return replace(spec, options=options)


def _without_path(spec: ModelSpec) -> ModelSpec:
    """Return a model of local files under the name of its folder or file: its settings have the hash of the weights."""
    if spec.family not in LOCAL_FAMILIES or not spec.id:
        return spec
    options = {
        name: Path(value).name if name in FILE_OPTIONS and value else value for name, value in spec.options.items()
    }
    path = with_home(spec.id)
    return replace(spec, id=path.resolve().name if path.exists() else spec.id, options=options)


def _ignored_options(spec: ModelSpec) -> tuple[str, ...]:
    if spec.family in SEARCH_SERVICES:
        return REQUEST_OPTIONS
    if not spec.id.startswith(("api/", "chat/")):
        return LOADING_OPTIONS
    names = (*Traffic.names(), *ACCESS_OPTIONS)
    listwise = spec.options.get("listwise") == "true"  # the batch size changes what is scored together, and so scores
    return tuple(name for name in names if name != "batch_size") if listwise else names


def _stored_body(text: str) -> str:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return text
    harmless = stored("", fields)
    return text if harmless == fields else json.dumps(harmless, sort_keys=True)


def effective_options(family: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that differ from the default, each number in one spelling.

    >>> effective_options("bm25", {"k1": ".90", "b": "0.75"})
    {'k1': '0.9'}
    >>> effective_options("bm25", {"preset": "hakari", "k1": "1.5"})
    {'preset': 'hakari'}
    >>> effective_options("fusion", {"method": "adaptive", "weights": "2,1.0"})
    {'weights': '2,1'}
    >>> effective_options("fusion", {"k": "60.0"}), effective_options("fusion", {"method": "rrf", "k": "10"})
    ({'method': 'rrf'}, {'k': '10'})
    >>> effective_options("dense", {"chunk": "0256", "overlap": "0"}), effective_options("bm25", {"chunk": "none"})
    ({'chunk': '256'}, {})
    """
    if options.get("chunk", "") in WHOLE_DOCUMENTS:
        options = {name: value for name, value in options.items() if name not in CHUNK_OPTIONS}
    if "late_chunking" in options:
        flag = FLAGS.get(options["late_chunking"].lower())
        options = {**options, "late_chunking": options["late_chunking"] if flag is None else "yes" if flag else "no"}
    defaults = {
        **CHUNK_DEFAULTS,
        **DEFAULTS.get(family, {}),
        **PRESETS.get(family, {}).get(options.get("preset", ""), {}),
    }
    numbers = (*NUMBERS.get(family, ()), "chunk", "overlap")
    spelled = {
        name: normalise_numbers(value) if name.partition("@")[0] in numbers else value
        for name, value in options.items()
    }
    if family == "fusion":
        spelled = _normalised_rrf(spelled)
    return {
        name: value
        for name, value in spelled.items()
        if value != defaults.get(name) and not (name == "weights" and set(value.split(",")) == {"1"})
    }


def _normalised_rrf(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with one spelling of `rrf`: by `k` or a preset if one is given, else by `method`."""
    normalised = {**options}
    if normalised.get("method", "rrf") != "rrf" or not normalised.keys() & {"method", "k", "preset"}:
        return normalised
    if normalised.get("k") == "60" and "preset" not in normalised:
        del normalised["k"]
    if normalised.keys() & {"k", "preset"}:
        normalised.pop("method", None)
    else:
        normalised["method"] = "rrf"
    return normalised


def normalise_numbers(text: str) -> str:
    """Return a number, or several with commas, in the shortest spelling; other text is returned unchanged.

    >>> normalise_numbers("1."), normalise_numbers("+.50"), normalise_numbers("1e2,010"), normalise_numbers("all")
    ('1', '0.5', '100,10', 'all')
    """
    return ",".join(map(_normalise_number, text.split(",")))


def _normalise_number(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        return text
    if text.strip().isdecimal():
        return str(int(text)) if len(text) <= MAX_DIGITS else text
    return repr(number + 0.0).removesuffix(".0") if math.isfinite(number) else text
