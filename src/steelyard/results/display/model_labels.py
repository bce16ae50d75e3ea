"""Names of models in tables: weights that share a name are distinguished, and what all names share is left out."""

from __future__ import annotations

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


def weights_hash(settings: ModelSettings) -> str:
    """Return a short hash of the weights of a model, from the settings of a result.

    >>> weights_hash({"model": "dense:X", "model_settings": {"weights": "0123456789abcdef", "dtype": "float32"}})
    '0123456'
    """
    own = settings.get("model_settings")
    found = list(dict.fromkeys(_identities(own)))
    if len(found) == 1 and all(character in "0123456789abcdef" for character in found[0]) and len(found[0]) >= DIGITS:
        return found[0][:DIGITS]
    return digest(found or own)[:DIGITS]


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
