"""One name for one model: a number has one spelling, and an option that says what holds anyway is left out."""

from __future__ import annotations

import math
from collections.abc import Mapping

BM25_PRESETS: Mapping[str, Mapping[str, str]] = {
    "default": {"form": "lucene", "k1": "1.2", "b": "0.75", "analyser": "default"},
    "hakari": {"form": "robertson", "k1": "1.5", "b": "0.75", "analyser": "hakari"},
}
"""Options that belong together; docs/bm25.md shows what the default was chosen by."""
FUSION_PRESETS: Mapping[str, Mapping[str, str]] = {"hakari": {"method": "rrf", "k": "100"}}
"""Options under one name; an option that is given beside it wins."""

FUSION_METHOD = "adaptive"
"""The method of fusions that name neither a method nor `k`."""

PRESETS = {"bm25": BM25_PRESETS, "fusion": FUSION_PRESETS}
DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "bm25": {**BM25_PRESETS["default"], "preset": "default", "language": "", "delta": "0.5"},
    "fusion": {"method": FUSION_METHOD, "depth": "500"},
    "dense": {"truncate_dim": "all", "precision": "float32", "rescore": "none", "rescore_k": "100"},
    "late": {"pool_factor": "1"},
    "rerank": {"tail": "keep"},
    "candidates": {"safeguards": "keep"},
}
"""What holds where an option is not given, by family."""
DEPTH = 100
"""How many documents a reranker reads where nothing is said, but for lists that were made to be reranked: all."""
NUMBERS: Mapping[str, tuple[str, ...]] = {
    "bm25": ("k1", "b", "delta"),
    "fusion": ("k", "depth", "weights"),
    "dense": ("truncate_dim", "rescore", "rescore_k"),
    "sparse": ("query_max_active_dims", "document_max_active_dims"),
    "late": ("pool_factor",),
    "rerank": ("depth",),
    "candidates": ("depth",),
}
"""The options that are numbers, or lists of them."""


def plain_options(family: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options as a name has them: those that change something, in one spelling.

    >>> plain_options("bm25", {"k1": ".90", "b": "0.75"}), plain_options("bm25", {"preset": "hakari", "k1": "1.5"})
    ({'k1': '0.9'}, {'preset': 'hakari'})
    >>> plain_options("fusion", {"method": "adaptive", "weights": "2,1.0"}), plain_options("fusion", {"weights": "1,1"})
    ({'weights': '2,1'}, {})
    >>> plain_options("fusion", {"k": "60.0"}), plain_options("fusion", {"method": "rrf", "k": "10"})
    ({'method': 'rrf'}, {'k': '10'})
    """
    usual = {**DEFAULTS.get(family, {}), **PRESETS.get(family, {}).get(options.get("preset", ""), {})}
    numbers = NUMBERS.get(family, ())
    spelt = {name: spelled(value) if name.partition("@")[0] in numbers else value for name, value in options.items()}
    if family == "fusion":
        spelt = _one_rrf(spelt)
    return {
        name: value
        for name, value in spelt.items()
        if value != usual.get(name) and not (name == "weights" and set(value.split(",")) == {"1"})
    }


def _one_rrf(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with one spelling of `rrf`: by `k` or a preset where one is given, else by `method`."""
    named = {**options}
    if named.get("method", "rrf") != "rrf" or not named.keys() & {"method", "k", "preset"}:
        return named
    if named.get("k") == "60" and "preset" not in named:
        del named["k"]
    if named.keys() & {"k", "preset"}:
        named.pop("method", None)
    else:
        named["method"] = "rrf"
    return named


def spelled(text: str) -> str:
    """A number, or several with commas, in the shortest spelling; what is none stays as it is.

    >>> spelled("1."), spelled("+.50"), spelled("1e2,010"), spelled("all"), spelled("nan")
    ('1', '0.5', '100,10', 'all', 'nan')
    """
    return ",".join(map(_spelled, text.split(",")))


def _spelled(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        return text
    if text.strip().isdecimal():
        return str(int(text))
    return repr(number + 0.0).removesuffix(".0") if math.isfinite(number) else text
