"""The corpus of a sample while it is being filled: a budget, no duplicates, and judgements that follow documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeVar

import numpy as np

from steelyard.build.sample.journal import SamplingContext
from steelyard.build.sample.near_duplicates import NearDuplicates
from steelyard.build.sample.queries import ChosenQueries
from steelyard.build.sample.recipe import Copies
from steelyard.build.sample.scan import Document, Scan
from steelyard.text.pieces import plain


@dataclass
class SampleCorpus:
    """The documents of a sample, by their position in the source.

    Judged documents come first and are kept even if they are near duplicates: a changed year may be the whole
    difference between relevant and not. Unjudged documents must differ from all others.

    >>> corpus = SampleCorpus(budget=10, near=0.8)
    >>> corpus.judged(4, Document("d4", "the same words")), corpus.judged(9, Document("d9", "the same  words"))
    (4, 4)
    >>> corpus.unjudged(7, Document("d7", "the same words"), "fill"), dict(corpus.tally)
    (False, {'merged_copies': 1, 'copies': 1})
    """

    budget: int
    near: float = 0.9
    copies: Copies = "merge"
    exact: bool = False
    """Duplicates are equal character by character; else white space is ignored."""
    documents: dict[int, Document] = field(default_factory=dict)
    roles: dict[int, str] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._by_text: dict[str, int] = {}
        self._near = NearDuplicates(self.near)

    @property
    def room(self) -> int:
        """Return how many more documents fit."""
        return self.budget - len(self.documents)

    def judged(self, place: int, document: Document, role: str = "positive") -> int | None:
        """Take a judged document; return the position that represents it, None if it is dropped."""
        text = self._key(document)
        if not text:
            self.tally["empty_judged"] += 1
            return None
        if place in self.documents:
            return place
        if (same := self._by_text.get(text)) is not None:
            self.tally["merged_copies" if self.copies == "merge" else "dropped_copies"] += 1
            return same if self.copies == "merge" else None
        if self._near.like(text) is not None:
            self.tally["near_copies_kept_since_judged"] += 1
        self._take(place, document, text, role)
        return place

    def unjudged(self, place: int, document: Document, role: str) -> bool:
        """Take an unjudged document unless it is empty or a duplicate; return whether it was taken."""
        if place in self.documents:
            return False
        text = self._key(document)
        if (reason := self._unfit(text)) is not None:
            self.tally[reason] += 1
            return False
        self._take(place, document, text, role)
        return True

    def ban(self, document: Document) -> None:
        """Exclude this document and its duplicates."""
        text = self._key(document)
        self._by_text.setdefault(text, -1)
        self._near.keep(text)

    def count(self) -> Mapping[str, int]:
        """Return how many documents were taken in each role."""
        return dict(Counter(self.roles.values()))

    def _unfit(self, text: str) -> str | None:
        """Return why an unjudged text is excluded; None if it may be taken."""
        if not text:
            return "empty"
        if text in self._by_text:
            return "copies"
        return "near_copies" if self._near.like(text) is not None else None

    def _key(self, document: Document) -> str:
        return document.merged if self.exact else plain(document.text)

    def _take(self, place: int, document: Document, text: str, role: str) -> None:
        self.documents[place], self.roles[place] = document, role
        self._by_text[text] = place
        self._near.keep(text)


@dataclass(eq=False)
class Selection:
    """The corpus of the sample, and the judgements of each query (by row of the source) on it (by position)."""

    corpus: SampleCorpus
    judgements: dict[int, dict[int, int]] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)
    decided: set[int] = field(default_factory=set)
    """Positions that were taken or rejected."""


T = TypeVar("T")


def round_robin(lists: Iterable[Sequence[T]]) -> Iterator[T]:
    """Yield the first of each list, then the second of each, and so on.

    >>> list(round_robin(["ab", "c", "def"]))
    ['a', 'c', 'd', 'b', 'e', 'f']
    """
    missing = object()
    for turn in zip_longest(*lists, fillvalue=missing):
        for item in turn:
            if item is not missing:
                yield item  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class Judged:
    """The judgements of the chosen queries on documents of the corpus: grade by position, by query row."""

    positives: Mapping[int, Mapping[int, int]]
    negatives: Mapping[int, Mapping[int, int]]
    omitted: frozenset[int]
    """Positions of positives beyond the limit: they must not be used as fill."""
    first: tuple[int, ...]
    """Positions of positives in the order in which they are taken: of two duplicates the first is kept."""


def judgements_of(chosen: ChosenQueries, context: SamplingContext, tally: Counter[str]) -> Judged:
    """Return the judgements of the chosen queries, at most `recipe.max_positives` positives for each."""
    source, scanned, recipe = context.source, context.scanned, context.recipe
    of_chosen = np.isin(source.asked, chosen.rows)
    places = scanned.places[source.judged]
    tally["judgements_outside_corpus"] = int((of_chosen & (places < 0)).sum())
    positives: dict[int, dict[int, int]] = {int(row): {} for row in chosen.rows}
    negatives: dict[int, dict[int, int]] = {int(row): {} for row in chosen.rows}
    for at in np.flatnonzero(of_chosen & (places >= 0)):
        grade, place, row = int(source.grades[at]), int(places[at]), int(source.asked[at])
        (positives if grade > 0 else negatives)[row][place] = grade
    if recipe.order == "source":  # the published recipe uses the order of the judgements, and round-robin by ids
        ids = source.queries["_id"].to_pylist()
        negatives = dict(sorted(negatives.items(), key=lambda item: ids[item[0]]))
        first = tuple(dict.fromkeys(places[of_chosen & (places >= 0) & (source.grades > 0)].tolist()))
    else:
        first = tuple(dict.fromkeys(place for grades in positives.values() for place in grades))
    everything = Judged(positives, negatives, frozenset(), first)
    return everything if recipe.max_positives is None else _capped(everything, recipe.max_positives, scanned, tally)


def _capped(judged: Judged, most: int, scanned: Scan, tally: Counter[str]) -> Judged:
    """Return the same with only the best-graded positives of each query.

    What another query keeps is in the corpus, so its judgement for this query is kept as well.
    """
    positives = judged.positives
    capped = {row: _best_graded(grades, scanned, most) for row, grades in positives.items()}
    places = {place for grades in capped.values() for place in grades}
    omitted = {place for grades in positives.values() for place in grades} - places
    final = {row: {place: g for place, g in grades.items() if place in places} for row, grades in positives.items()}
    tally["positives_omitted"] = sum(map(len, positives.values())) - sum(map(len, final.values()))
    tally["positives_beyond_the_cap"] = sum(map(len, final.values())) - sum(map(len, capped.values()))
    first = tuple(place for place in judged.first if place in places)
    return Judged(final, judged.negatives, frozenset(omitted), first)


def _best_graded(grades: Mapping[int, int], scanned: Scan, most: int) -> dict[int, int]:
    ordered = sorted(grades, key=lambda place: (-grades[place], int(scanned.draws[place])))
    return {place: grades[place] for place in ordered[:most]}
