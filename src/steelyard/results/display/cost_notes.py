"""Costs in the notes of results: what encoding took, now or when the stored vectors were made, and measured costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.results.schema import Result

COSTS = "costs"
"""Name of measured costs among the notes of a result."""


@dataclass(frozen=True)
class EncodingCost:
    """What the documents of a result took to encode."""

    texts: int = 0
    seconds: float = 0.0
    """Seconds of this run, and of the earlier ones that made the stored vectors."""
    stored: float = 0.0
    """The part of them that belongs to stored vectors."""

    def __add__(self, other: EncodingCost) -> EncodingCost:
        return EncodingCost(self.texts + other.texts, self.seconds + other.seconds, self.stored + other.stored)

    @property
    def rate(self) -> float | None:
        """Texts each second."""
        return self.texts / self.seconds if self.seconds else None


def encoding_cost(results: Iterable[Result]) -> EncodingCost | None:
    """Return the cost of encoding the documents of these results; None if nothing was encoded or it is not known.

    >>> from steelyard.results import Result
    >>> notes = {"documents": {"texts_encoded": 10, "texts_from_cache": 30, "encode_seconds": 1.0,
    ...                        "encode_seconds_stored": 3.0}}
    >>> encoding_cost([Result("T/a", "dense:X", {}, "1", notes=notes)])
    EncodingCost(texts=40, seconds=4.0, stored=3.0)
    """
    total = EncodingCost()
    for result in results:
        for part in _document_notes(result.notes):
            total += part
    return total if total.seconds else None


def _document_notes(notes: Mapping[str, Any]) -> Iterable[EncodingCost]:
    for name, value in notes.items():
        if not isinstance(value, Mapping):
            continue
        if name != "documents":
            yield from _document_notes(value)
        elif "encode_seconds" in value:
            encoded, cached = int(value.get("texts_encoded", 0)), int(value.get("texts_from_cache", 0))
            stored = value.get("encode_seconds_stored")
            seconds = float(value["encode_seconds"])
            if stored is None:
                yield EncodingCost(encoded, seconds)
            else:
                yield EncodingCost(encoded + cached, seconds + float(stored), float(stored))


def costs_by_model(results: Iterable[Result]) -> dict[str, dict[str, Any]]:
    """Return the measured costs of every model that has some."""
    found: dict[str, dict[str, Any]] = {}
    for result in results:
        if isinstance(result.notes.get(COSTS), Mapping):
            found.setdefault(result.model, dict(result.notes[COSTS]))
    return found
