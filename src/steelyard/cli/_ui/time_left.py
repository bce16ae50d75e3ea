"""The time left of a run: what was measured of each model, applied to the sizes of the tasks to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Size = tuple[int, int]
"""The documents (or samples) and the queries of a task."""
STORED_COST = 0.02
"""What a text whose vector is stored takes, relative to one that is encoded, where that is not known."""
SLOW_START = 4.0
"""A first batch that takes so many times longer than the others includes the opening of the model."""
SIZES = "tasks of unknown size are as large as the mean of the others"
MODELS = "models without a finished task take as long as the mean of the others"
VECTORS = "as many vectors are stored as so far"


@dataclass(frozen=True)
class Spent:
    """The seconds of one evaluation: by documents, by queries, and what does not depend on the size of the task."""

    documents: float = 0.0
    """Seconds of indexing without encoding."""
    queries: float = 0.0
    """Seconds of searching and scoring without encoding and reranking."""
    fixed: float = 0.0
    size: Size | None = None
    fresh: float = 1.0
    """The share of the texts, or pairs, that had to be encoded."""
    encoding: tuple[float, float] = (0.0, 0.0)
    """Seconds of encoding all documents, and of encoding or reranking for all queries, also of what was stored."""


@dataclass
class Pace:
    """What was measured of one model.

    >>> pace = Pace()
    >>> pace.add(Spent(documents=10.0, queries=1.0, fixed=0.5, size=(100, 10)))
    >>> pace.seconds((1000, 20))
    102.5
    >>> pace = Pace()
    >>> pace.add(Spent(documents=1.0, size=(100, 10), encoding=(9.0, 0.0)))
    >>> pace.seconds((100, 10)), pace.seconds((100, 10), encoded=True)
    (10.0, 1.0)
    """

    spent: list[Spent] = field(default_factory=list)
    fresh: dict[bool, float] = field(default_factory=lambda: {False: 1.0, True: 0.0})
    """The share of texts to encode that is assumed, of tasks that were not encoded before and of those that were; later
    tasks count more."""
    _seen: set[bool] = field(default_factory=set)

    def add(self, spent: Spent, encoded: bool = False) -> None:
        """Add one evaluation; `encoded` if its vectors were expected to be stored."""
        self.fresh[encoded] = (self.fresh[encoded] + spent.fresh) / 2 if encoded in self._seen else spent.fresh
        self._seen.add(encoded)
        self.spent.append(spent)

    def seconds(self, size: Size | None, encoded: bool = False) -> float:
        """Return the seconds of a task of some size; None: of the mean of those that were measured."""
        measured = [spent for spent in self.spent if spent.size is not None]
        fresh = self.fresh[encoded]
        if size is None or not measured:
            return sum(map(_seconds, self.spent, [fresh] * len(self.spent))) / len(self.spent)
        if len(measured) > 1 and _rate(measured[0]) > SLOW_START / 2 * max(map(_rate, measured[1:])):
            measured = measured[1:]  # the first included what happens once, such as opening the model
        documents = sum(spent.size[0] for spent in measured if spent.size)
        queries = sum(spent.size[1] for spent in measured if spent.size)
        by_documents = sum(spent.documents + fresh * spent.encoding[0] for spent in measured) / max(1, documents)
        by_queries = sum(spent.queries + fresh * spent.encoding[1] for spent in measured) / max(1, queries)
        fixed = sum(spent.fixed for spent in self.spent) / len(self.spent)
        return by_documents * size[0] + by_queries * size[1] + fixed


def _seconds(spent: Spent, fresh: float) -> float:
    return spent.documents + spent.queries + spent.fixed + fresh * sum(spent.encoding)


def _rate(spent: Spent) -> float:
    """Return the seconds of a document or query, if nothing is stored."""
    return (_seconds(spent, 1.0) - spent.fixed) / max(1.0, sum(spent.size or (0, 0)))


@dataclass
class TimeLeft:
    """Estimates the time left of a batch, whose models finish the tasks in their order.

    `stored` has the evaluations whose results seem to be stored: pairs of a model and the place of a task. `encoded`
    has those whose vectors and scores of pairs seem to be.
    """

    sizes: list[Size | None]
    stored: frozenset[tuple[str, int]] = frozenset()
    encoded: frozenset[tuple[str, int]] = frozenset()
    lengths: list[float | None] = field(default_factory=list)
    """About how long a document of each task is: a long one takes more time."""
    paces: dict[str, Pace] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    """The number of tasks that each model has finished."""
    reading: Pace = field(default_factory=Pace)
    read: int = 0
    """The number of tasks that were loaded."""

    def add_reading(self, seconds: float) -> None:
        """Add the seconds of loading a task."""
        size = self._size(self.read)
        self.read += 1
        self.reading.add(Spent(fixed=seconds) if size is None else Spent(documents=seconds, size=(sum(size), 0)))

    def add(self, model: str, spent: Spent | None, size: Size | None = None) -> None:
        """Add an evaluation; `spent` is None if its result was stored."""
        place = self.places.get(model, 0)
        self.places[model] = place + 1
        if place < len(self.sizes) and size is not None:
            self.sizes[place] = size
        if spent is not None:
            scaled = None if spent.size is None else self._scaled(spent.size, place)
            self.paces.setdefault(model, Pace()).add(replace(spent, size=scaled), (model, place) in self.encoded)

    def of(self, model: str, place: int) -> float:
        """Return the seconds of one evaluation to come; a model that was not measured takes as long as the mean."""
        size, encoded = self._size(place), (model, place) in self.encoded
        paces = [self.paces[model]] if model in self.paces else list(self.paces.values())
        return sum(pace.seconds(size, encoded) for pace in paces) / len(paces)

    def left(self, models: Sequence[str]) -> tuple[float, list[str]]:
        """Return the seconds of all evaluations to come, and what was assumed."""
        waiting = [
            (model, place)
            for model in models
            for place in range(self.places.get(model, 0), len(self.sizes))
            if (model, place) not in self.stored
        ]
        if not self.paces or not waiting:
            return 0.0, []
        unread = {place for _, place in waiting if place >= self.read} if self.reading.spent else ()
        texts = [None if (size := self._size(place)) is None else (sum(size), 0) for place in unread]
        reading = sum(map(self.reading.seconds, texts))
        seconds = reading + sum(self.of(model, place) for model, place in waiting)
        assumed = [SIZES] * any(self.sizes[place] is None for _, place in waiting)
        assumed += [MODELS] * any(model not in self.paces for model, _ in waiting)
        guessed = [model for model, place in waiting if model in self.paces and (model, place) not in self.encoded]
        assumed += [VECTORS] * any(self.paces[model].fresh[False] < 1 for model in guessed)
        return seconds, assumed

    def _size(self, place: int) -> Size | None:
        known = [self._scaled(size, at) for at, size in enumerate(self.sizes) if size is not None]
        if place < len(self.sizes) and (size := self.sizes[place]) is not None:
            return self._scaled(size, place)
        return (sum(d for d, _ in known) // len(known), sum(q for _, q in known) // len(known)) if known else None

    def _scaled(self, size: Size, place: int) -> Size:
        """Return the size with documents as long as the mean; a length that is not known is the mean."""
        known = [length for length in self.lengths if length]
        length = self.lengths[place] if place < len(self.lengths) else None
        if not length:
            return size
        return max(1, round(size[0] * length * len(known) / sum(known))), size[1]


def spent_on(
    timings: Mapping[str, float], notes: Mapping[str, Any], size: Size | None, elapsed: float, opening: float = 0.0
) -> Spent:
    """Return the seconds of a result by what they depend on; `opening` seconds will not be spent again.

    >>> timings = {"load": 3.0, "index": 10.0, "search": 2.0, "score": 1.0, "reused": 0.0}
    >>> notes = {"texts_encoded": 50, "texts_from_cache": 50, "encode_seconds": 5.0, "encode_seconds_stored": 4.0}
    >>> spent_on(timings, {"documents": notes}, (100, 10), 13.5, 4.0)
    Spent(documents=1.0, queries=3.0, fixed=0.5, size=(100, 10), fresh=0.5, encoding=(9.0, 0.0))
    """
    opening = max(opening, _total(notes, "open_seconds"))
    index = timings.get("index", 0.0) + timings.get("encode", 0.0)
    reused = timings.get("reused", 0.0)
    search = max(0.0, timings.get("search", 0.0) - max(0.0, reused - index))
    index, score = max(0.0, index - reused - opening), timings.get("score", 0.0)
    by_samples = size is not None and not size[1]
    documents, queries = (index + search + score, 0.0) if by_samples else (index, search + score)
    encoded, stored = _total(notes, "texts_encoded"), _total(notes, "texts_from_cache")
    pairs, known = _total(notes, "pairs_scored"), _total(notes, "pairs_from_cache")
    fresh = (encoded + pairs) / (encoded + pairs + stored + known) if encoded + pairs + stored + known else 1.0
    fixed = max(0.0, elapsed - opening - documents - queries)
    of_documents = _encoding(_sections(notes, ("documents", "texts")), documents, reused, fresh)
    of_queries = _encoding(_sections(notes, ("queries", "rerank")), queries, reused, fresh)
    rest = max(0.0, documents - of_documents[0]), max(0.0, queries - of_queries[0])
    return Spent(*rest, fixed, size, fresh, (of_documents[1], of_queries[1]))


def _encoding(
    sections: Sequence[Mapping[str, Any]], seconds: float, reused: float, fresh: float
) -> tuple[float, float]:
    """Return how many of these seconds were spent on encoding or reranking, and how many all of it would take."""
    parts = [part for part in sections if {"texts_encoded", "pairs_scored"} & part.keys()]
    if not parts:
        return 0.0, 0.0
    spent, before, known = 0.0, 0.0, True
    for part in parts:
        name = "rerank_seconds" if "pairs_scored" in part else "encode_seconds"
        cached = part.get("texts_from_cache", 0) + part.get("pairs_from_cache", 0)
        known = known and name in part and (not cached or f"{name}_stored" in part)
        spent += float(part.get(name, 0.0))
        before += float(part.get(f"{name}_stored", 0.0))
    if not known:  # a model that does not measure it, or vectors of an earlier release
        whole = seconds / (fresh + (1 - fresh) * STORED_COST)
        return seconds - STORED_COST * whole, (1 - STORED_COST) * whole
    spent = min(spent, seconds)
    # What an earlier model of the task has encoded is reused in the tasks to come, too.
    return spent, spent if reused and not spent else spent + before


def _sections(notes: Mapping[str, Any], names: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the notes of these names of all parts of a model."""
    found: list[Mapping[str, Any]] = []
    for name, value in notes.items():
        if isinstance(value, Mapping):
            found += [value] if name in names else _sections(value, names)
    return found


def _total(notes: Mapping[str, Any], name: str) -> float:
    """Return the sum of a note over all parts of a model."""
    parts = sum(_total(note, name) for note in notes.values() if isinstance(note, Mapping))
    return float(notes.get(name, 0) or 0) + parts


def opening_seconds(ticks: Sequence[tuple[float, int]], began: float) -> float:
    """Return the seconds before the first batch that the model took to open, from the times of its batches.

    >>> opening_seconds([(11.0, 10), (12.0, 10), (13.0, 10)], 0.0), opening_seconds([(2.0, 10), (3.0, 10)], 0.0)
    (10.0, 0.0)
    """
    if len(ticks) < 2 or ticks[-1][0] <= ticks[0][0]:
        return 0.0
    pace = (ticks[-1][0] - ticks[0][0]) / sum(count for _, count in ticks[1:])
    first = ticks[0][0] - began
    usual = pace * ticks[0][1]
    return first - usual if first > SLOW_START * usual else 0.0
