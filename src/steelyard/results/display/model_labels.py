"""Names of models in tables: weights that share a name are distinguished, and what all names share is left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steelyard.results.keys import digest
from steelyard.types.protocols import ModelSettings

if TYPE_CHECKING:
    from steelyard.results.schema import Result

IDENTITIES = ("weights", "run", "vectors", "version", "documents", "queries", "ids")
"""Settings that identify the weights of a model, or what it has instead of weights."""
DIGITS = 7
LONG = 24
"""Names up to this length are shown whole."""
SEGMENTS = re.compile(r"[^:/?&>,]*(?:[:/?&,]|> )?")
"""The parts of a name, each with the mark that ends it."""


def weights_hash(settings: ModelSettings) -> str:
    """Return a short hash of the weights of a model, from the settings of a result.

    >>> weights_hash({"model": "dense:X", "model_settings": {"weights": "0123456789abcdef", "dtype": "float32"}})
    '0123456'
    """
    own = settings.get("model_settings")
    identities = list(dict.fromkeys(_identities(own)))
    if (
        len(identities) == 1
        and all(character in "0123456789abcdef" for character in identities[0])
        and len(identities[0]) >= DIGITS
    ):
        return identities[0][:DIGITS]
    return digest(identities or own)[:DIGITS]


def _identities(settings: Any) -> Iterator[str]:
    if not isinstance(settings, Mapping):
        return
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _identities(value)
        elif name in IDENTITIES and value:
            yield str(value)
        elif isinstance(value, list | tuple):
            for part in value:
                yield from _identities(part)


def marked_by_weights(results: Iterable[Result]) -> list[Result]:
    """Return the results with a short hash in the names of models of which several weights are among them.

    >>> from steelyard.results import Result
    >>> settings = [{"model_settings": {"weights": weights * 32}} for weights in "ab"]
    >>> [result.model for result in marked_by_weights(Result("T/a", "dense:X", own, "k") for own in settings)]
    ['dense:X#aaaaaaa', 'dense:X#bbbbbbb']
    """
    listed = list(results)
    hashes: dict[str, set[str]] = {}
    for result in listed:
        if result.done and any(True for _ in _identities(result.settings.get("model_settings"))):
            hashes.setdefault(result.model, set()).add(weights_hash(result.settings))
    several = {model for model, own in hashes.items() if len(own) > 1}
    return [
        replace(result, model=f"{result.model}#{weights_hash(result.settings)}") if result.model in several else result
        for result in listed
    ]


def under_own_names(results: Iterable[Result]) -> list[Result]:
    """Return results under the names that they are stored with, without the names that the user gave."""
    return [replace(result, model=str(result.settings.get("model", result.model))) for result in results]


def settings_suffix(result: Result, differing: set[str], conditions: Sequence[str]) -> str:
    """Return the values of the settings that differ, or the key of the result where they have no short name."""
    if not differing:
        return ""
    values = [f"{name} {result.settings.get(name, '-')}" for name in conditions if name in differing]
    return f" ({', '.join(values) if differing <= set(conditions) else result.key[:8]})"


def short_names(models: Sequence[str]) -> list[str]:
    """Return names without what all of them share at the beginning and the end, if some are long.

    >>> short_names(["dense:org/encoder-small?dtype=float16", "dense:org/encoder-large?dtype=float16"])
    ['encoder-small', 'encoder-large']
    >>> short_names(["bm25", "dense:org/encoder-of-some-length"]), short_names(["dense:a", "dense:b"])
    (['bm25', 'dense:org/encoder-of-some-length'], ['dense:a', 'dense:b'])
    >>> short_names(["dense:org/encoder-of-length", "dense:org/encoder-of-length?precision=int8"])
    ['encoder-of-length', 'encoder-of-length?precision=int8']
    """
    if len(set(models)) < 2 or len(set(models)) < len(models) or max(map(len, models)) <= LONG:
        return list(models)
    names = [SEGMENTS.findall(model) for model in models]
    start = _shared(names)
    rest = [name[start:] for name in names]
    end = _shared([name[::-1] for name in rest])
    short = ["".join(name[: len(name) - end]).rstrip("?&>, ") for name in rest]
    # A name that would lose its brackets, or be empty, stays as it is.
    fine = all(short) and len(set(short)) == len(short) and all(name.count("[") == name.count("]") for name in short)
    return short if fine else list(models)


def _shared(names: Sequence[Sequence[str]]) -> int:
    """Return how many segments all names begin with, leaving at least one of each."""
    count = 0
    while all(len(name) > count + 1 for name in names) and len({name[count] for name in names}) == 1:
        count += 1
    return count
