"""Costs in the notes of results: what encoding and reranking took, now or when what is stored was made, and measured
costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.results.schema import Result

COSTS = "costs"
"""Name of measured costs among the notes of a result."""


@dataclass(frozen=True)
class WorkCost:
    """What the documents of a result took to encode, or its pairs to score."""

    texts: int = 0
    """Documents or pairs."""
    seconds: float = 0.0
    """Seconds of this run, and of the earlier ones that made the stored vectors or scores."""
    stored: float = 0.0
    """The part of them that belongs to what was stored."""

    def __add__(self, other: WorkCost) -> WorkCost:
        return WorkCost(self.texts + other.texts, self.seconds + other.seconds, self.stored + other.stored)

    @property
    def rate(self) -> float | None:
        """Documents or pairs each second."""
        return self.texts / self.seconds if self.seconds else None


def encoding_cost(results: Iterable[Result]) -> WorkCost | None:
    """Return the cost of encoding the documents of these results; None if nothing was encoded or it is not known.

    >>> from steelyard.results import Result
    >>> notes = {"documents": {"texts_encoded": 10, "texts_from_cache": 30, "encode_seconds": 1.0,
    ...                        "encode_seconds_stored": 3.0}}
    >>> encoding_cost([Result("T/a", "dense:X", {}, "1", notes=notes)])
    WorkCost(texts=40, seconds=4.0, stored=3.0)
    """
    return _total(results, "documents", _encoding)


def reranking_cost(results: Iterable[Result]) -> WorkCost | None:
    """Return the cost of scoring the pairs of these results; None if nothing was scored or it is not known.

    >>> from steelyard.results import Result
    >>> notes = {"rerank": {"pairs": 40, "rerank_seconds": 0.0, "rerank_seconds_stored": 8.0}}
    >>> reranking_cost([Result("T/a", "bm25 > rerank:X", {}, "1", notes=notes)])
    WorkCost(texts=40, seconds=8.0, stored=8.0)
    """
    return _total(results, "rerank", _reranking)


def _total(results: Iterable[Result], name: str, read: Callable[[Mapping[str, Any]], WorkCost]) -> WorkCost | None:
    total = sum((read(part) for result in results for part in _parts(result.notes, name)), WorkCost())
    return total if total.seconds else None


def _parts(notes: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the notes of that name of all parts of a model."""
    for own, value in notes.items():
        if isinstance(value, Mapping):
            yield from [value] if own == name else _parts(value, name)


def _encoding(notes: Mapping[str, Any]) -> WorkCost:
    if "encode_seconds" not in notes:
        return WorkCost()
    encoded, cached = int(notes.get("texts_encoded", 0)), int(notes.get("texts_from_cache", 0))
    seconds, stored = float(notes["encode_seconds"]), notes.get("encode_seconds_stored")
    if stored is None:
        return WorkCost(encoded, seconds)
    return WorkCost(encoded + cached, seconds + float(stored), float(stored))


def _reranking(notes: Mapping[str, Any]) -> WorkCost:
    if "rerank_seconds" not in notes:
        return WorkCost()
    seconds, stored = float(notes["rerank_seconds"]), notes.get("rerank_seconds_stored")
    if stored is None:
        return WorkCost(int(notes.get("pairs", 0)) - int(notes.get("pairs_from_cache", 0)), seconds)
    return WorkCost(int(notes.get("pairs", 0)), seconds + float(stored), float(stored))


def costs_by_model(results: Iterable[Result]) -> dict[str, dict[str, Any]]:
    """Return the measured costs of every model that has some."""
    costs: dict[str, dict[str, Any]] = {}
    for result in results:
        if isinstance(result.notes.get(COSTS), Mapping):
            costs.setdefault(result.model, dict(result.notes[COSTS]))
    return costs
