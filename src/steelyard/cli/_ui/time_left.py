"""The time left of a run: what was measured of each model, applied to the sizes of the tasks to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Size = tuple[int, int]
"""The documents (or samples) and the queries of a task."""
STORED_COST = 0.02
"""What a text whose vector is stored takes, relative to one that is encoded, where that is not known."""
LEAST_LENGTH = 100.0
"""Bytes that are added to the length of every text: a short one takes time, too, and a long one is truncated."""
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
class Measured:
    """Sums over evaluations of known size."""

    count: int = 0
    documents: int = 0
    queries: int = 0
    seconds: tuple[float, float] = (0.0, 0.0)
    """By documents and by queries, without encoding."""
    encoding: tuple[float, float] = (0.0, 0.0)
    rate: float = 0.0
    """The highest rate."""

    def add(self, spent: Spent, size: Size) -> None:
        """Add one evaluation."""
        self.count += 1
        self.documents += size[0]
        self.queries += size[1]
        self.seconds = self.seconds[0] + spent.documents, self.seconds[1] + spent.queries
        self.encoding = self.encoding[0] + spent.encoding[0], self.encoding[1] + spent.encoding[1]
        self.rate = max(self.rate, _rate(spent))


@dataclass
class Pace:
    """What was measured of one model, as sums: an estimate costs the same however many tasks were measured.

    >>> pace = Pace()
    >>> pace.add(Spent(documents=10.0, queries=1.0, fixed=0.5, size=(100, 10)))
    >>> pace.seconds((1000, 20)), pace.seconds((2000, 40), tasks=2)
    (102.5, 205.0)
    >>> pace = Pace()
    >>> pace.add(Spent(documents=1.0, size=(100, 10), encoding=(9.0, 0.0)))
    >>> pace.seconds((100, 10)), pace.seconds((100, 10), encoded=True)
    (10.0, 1.0)
    """

    count: int = 0
    total: float = 0.0
    """Seconds without encoding."""
    encoding: float = 0.0
    fixed: float = 0.0
    first: Measured = field(default_factory=Measured)
    """The first evaluation of known size."""
    others: Measured = field(default_factory=Measured)
    fresh: dict[bool, float] = field(default_factory=lambda: {False: 1.0, True: 0.0})
    """The share of texts to encode that is assumed, of tasks that were not encoded before and of those that were; later
    tasks count more."""
    _seen: set[bool] = field(default_factory=set)

    def add(self, spent: Spent, encoded: bool = False) -> None:
        """Add one evaluation; `encoded` if its vectors were expected to be stored."""
        self.fresh[encoded] = (self.fresh[encoded] + spent.fresh) / 2 if encoded in self._seen else spent.fresh
        self._seen.add(encoded)
        self.count += 1
        self.total += _seconds(spent, 0.0)
        self.encoding += sum(spent.encoding)
        self.fixed += spent.fixed
        if spent.size is not None:
            (self.others if self.first.count else self.first).add(spent, spent.size)

    def seconds(self, size: Size | None, encoded: bool = False, tasks: int = 1) -> float:
        """Return the seconds of tasks of some size in all; None: of the mean of those that were measured."""
        fresh = self.fresh[encoded]
        if size is None or not self.first.count:
            return tasks * (self.total + fresh * self.encoding) / self.count
        parts = [self.first, self.others]
        if self.others.count and self.first.rate > SLOW_START / 2 * self.others.rate:
            parts = parts[1:]  # the first included what happens once, such as opening the model
        documents, queries = sum(part.documents for part in parts), sum(part.queries for part in parts)
        by_documents = sum(part.seconds[0] + fresh * part.encoding[0] for part in parts) / max(1, documents)
        by_queries = sum(part.seconds[1] + fresh * part.encoding[1] for part in parts) / max(1, queries)
        return by_documents * size[0] + by_queries * size[1] + tasks * self.fixed / self.count


def _seconds(spent: Spent, fresh: float) -> float:
    return spent.documents + spent.queries + spent.fixed + fresh * sum(spent.encoding)


def _rate(spent: Spent) -> float:
    """Return the seconds of a document or query, if nothing is stored."""
    return (_seconds(spent, 1.0) - spent.fixed) / max(1.0, sum(spent.size or (0, 0)))


@dataclass
class Waiting:
    """Tasks to come: the sums of their sizes, how many have one, and how many do not."""

    documents: int = 0
    queries: int = 0
    known: int = 0
    unknown: int = 0

    def add(self, size: Size | None, sign: int = 1) -> None:
        """Add a task, or remove it with the sign -1."""
        documents, queries = size or (0, 0)
        self.documents += sign * documents
        self.queries += sign * queries
        self.known += sign * (size is not None)
        self.unknown += sign * (size is None)

    @property
    def mean(self) -> Size | None:
        """The mean of the known sizes; None if there is none."""
        return (self.documents // self.known, self.queries // self.known) if self.known else None


class TimeLeft:
    """Estimates the time left of a batch, whose models finish the tasks in their order.

    `stored` has the evaluations whose results seem to be stored: pairs of a model and the place of a task. `encoded`
    has those whose vectors and scores of pairs seem to be. `lengths` are about how long a document of each task is: a
    long one takes more time. The sums of the waiting tasks are kept, so an estimate costs the same however many tasks
    there are.
    """

    def __init__(
        self,
        sizes: Sequence[Size | None],
        stored: frozenset[tuple[str, int]] = frozenset(),
        encoded: frozenset[tuple[str, int]] = frozenset(),
        lengths: Sequence[float | None] = (),
    ) -> None:
        self.stored, self.encoded, self._lengths = stored, encoded, lengths
        measured = [length for length in lengths if length]
        self._mean_length = sum(measured) / len(measured) if measured else 1.0
        self._sizes = [None if size is None else self._scaled(size, place) for place, size in enumerate(sizes)]
        self._all = Waiting()
        for size in self._sizes:
            self._all.add(size)
        self.paces: dict[str, Pace] = {}
        self.places: dict[str, int] = {}
        """The number of tasks that each model has finished."""
        self.reading = Pace()
        self.read = 0
        """The number of tasks that were loaded."""
        self._models: dict[str, dict[bool, Waiting]] = {}
        """The waiting tasks of each model, by whether they seem to be encoded."""
        self._waiters: list[int] = []
        """How many models wait for each task."""
        self._unread = Waiting()
        """The tasks that were not loaded and that some model waits for."""

    def add_reading(self, seconds: float) -> None:
        """Add the seconds of loading a task."""
        size = self._size(self.read)
        if self.read < len(self._waiters) and self._waiters[self.read]:
            self._unread.add(self._sizes[self.read], -1)
        self.read += 1
        self.reading.add(Spent(fixed=seconds) if size is None else Spent(documents=seconds, size=(sum(size), 0)))

    def add(self, model: str, spent: Spent | None, size: Size | None = None) -> None:
        """Add an evaluation; `spent` is None if its result was stored."""
        place = self.places.get(model, 0)
        if model in self._models and place < len(self._sizes) and (model, place) not in self.stored:
            self._sums(model, place).add(self._sizes[place], -1)
            self._waiters[place] -= 1
            if place >= self.read and not self._waiters[place]:
                self._unread.add(self._sizes[place], -1)
        self.places[model] = place + 1
        if place < len(self._sizes) and size is not None:
            self._resize(place, self._scaled(size, place))
        if spent is not None:
            scaled = None if spent.size is None else self._scaled(spent.size, place)
            self.paces.setdefault(model, Pace()).add(replace(spent, size=scaled), (model, place) in self.encoded)

    def _sums(self, model: str, place: int) -> Waiting:
        return self._models[model][(model, place) in self.encoded]

    def _resize(self, place: int, size: Size) -> None:
        """Replace the size of a task by the one that was found."""
        if size == self._sizes[place]:
            return
        waiting = [self._all, *(self._sums(model, place) for model in self._models if self._waits(model, place))]
        if place >= self.read and place < len(self._waiters) and self._waiters[place]:
            waiting.append(self._unread)
        for sums in waiting:
            sums.add(self._sizes[place], -1)
            sums.add(size)
        self._sizes[place] = size

    def _waits(self, model: str, place: int) -> bool:
        return place >= self.places.get(model, 0) and (model, place) not in self.stored

    def of(self, model: str, place: int) -> float:
        """Return the seconds of one evaluation to come; a model that was not measured takes as long as the mean."""
        paces = self._paces_of(model)
        return sum(pace.seconds(self._size(place), (model, place) in self.encoded) for pace in paces) / len(paces)

    def _paces_of(self, model: str) -> list[Pace]:
        return [self.paces[model]] if model in self.paces else list(self.paces.values())

    def left(self, models: Sequence[str]) -> tuple[float, list[str]]:
        """Return the seconds of all evaluations to come, and what was assumed."""
        if list(self._models) != list(models):
            self._count(models)
        waiting = [
            (model, encoded, sums)
            for model, parts in self._models.items()
            for encoded, sums in parts.items()
            if sums.known or sums.unknown
        ]
        if not self.paces or not waiting:
            return 0.0, []
        seconds = self._reading_left()
        for model, encoded, sums in waiting:
            paces = self._paces_of(model)
            seconds += sum(self._seconds_of(pace, sums, encoded) for pace in paces) / len(paces)
        assumed = [SIZES] * any(sums.unknown for _, _, sums in waiting)
        assumed += [MODELS] * any(model not in self.paces for model, _, _ in waiting)
        guessed = [model for model, encoded, _ in waiting if model in self.paces and not encoded]
        assumed += [VECTORS] * any(self.paces[model].fresh[False] < 1 for model in guessed)
        return seconds, assumed

    def _seconds_of(self, pace: Pace, sums: Waiting, encoded: bool) -> float:
        known = pace.seconds((sums.documents, sums.queries), encoded, sums.known) if sums.known else 0.0
        return known + (sums.unknown * pace.seconds(self._all.mean, encoded) if sums.unknown else 0.0)

    def _reading_left(self) -> float:
        """Return the seconds of loading the tasks to come."""
        if not self.reading.count:
            return 0.0
        unread, mean = self._unread, self._all.mean
        known = (
            self.reading.seconds((unread.documents + unread.queries, 0), tasks=unread.known) if unread.known else 0.0
        )
        usual = None if mean is None else (sum(mean), 0)
        return known + (unread.unknown * self.reading.seconds(usual) if unread.unknown else 0.0)

    def _count(self, models: Sequence[str]) -> None:
        """Count the waiting tasks of each model."""
        self._models = {model: {False: Waiting(), True: Waiting()} for model in models}
        self._waiters = [0] * len(self._sizes)
        for model in models:
            for place in range(self.places.get(model, 0), len(self._sizes)):
                if (model, place) not in self.stored:
                    self._sums(model, place).add(self._sizes[place])
                    self._waiters[place] += 1
        self._unread = Waiting()
        for place in range(self.read, len(self._sizes)):
            if self._waiters[place]:
                self._unread.add(self._sizes[place])

    def _size(self, place: int) -> Size | None:
        size = self._sizes[place] if place < len(self._sizes) else None
        return size or self._all.mean

    def _scaled(self, size: Size, place: int) -> Size:
        """Return the size with documents as long as the mean; a length that is not known is the mean."""
        length = self._lengths[place] if place < len(self._lengths) else None
        if not length:
            return size
        share = (length + LEAST_LENGTH) / (self._mean_length + LEAST_LENGTH)
        return max(1, round(size[0] * share)), size[1]


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
    sections: list[Mapping[str, Any]] = []
    for name, value in notes.items():
        if isinstance(value, Mapping):
            sections += [value] if name in names else _sections(value, names)
    return sections


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
