"""The corpus of a cut while it is being filled: a budget, no copies, and judgements that follow their documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeVar

from steelyard.build.sample.near_duplicates import NearCopies, plain
from steelyard.build.sample.recipe import Copies
from steelyard.build.sample.scan import Document


@dataclass
class Basket:
    """Documents that were taken, by their place in the source.

    Judged documents come first and are kept even where they nearly copy another: a changed year may be the whole
    difference between relevant and not. Documents that nobody judged must differ from all that are there.

    >>> basket = Basket(budget=10, near=0.8)
    >>> basket.judged(4, Document("d4", "the same words")), basket.judged(9, Document("d9", "the same  words"))
    (4, 4)
    >>> basket.unjudged(7, Document("d7", "the same words"), "fill"), dict(basket.tally)
    (False, {'merged_copies': 1, 'copies': 1})
    """

    budget: int
    near: float = 0.9
    copies: Copies = "merge"
    exact: bool = False
    """Copies are the same to the letter, title and body apart; else white space makes no difference."""
    documents: dict[int, Document] = field(default_factory=dict)
    roles: dict[int, str] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._by_text: dict[str, int] = {}
        self._near = NearCopies(self.near)

    @property
    def room(self) -> int:
        """How many more documents fit."""
        return self.budget - len(self.documents)

    def judged(self, place: int, document: Document, role: str = "positive") -> int | None:
        """Take a judged document; the place that stands for it from now on, None where it is dropped."""
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
        """Take a document that nobody judged, unless it is there, empty or a copy."""
        if place in self.documents:
            return False
        text = self._key(document)
        if (reason := self._unfit(text)) is not None:
            self.tally[reason] += 1
            return False
        self._take(place, document, text, role)
        return True

    def ban(self, document: Document) -> None:
        """Take neither this document, which is left out on purpose, nor a copy of it."""
        text = self._key(document)
        self._by_text.setdefault(text, -1)
        self._near.keep(text)

    def count(self) -> Mapping[str, int]:
        """How many documents were taken in each role."""
        return dict(Counter(self.roles.values()))

    def _unfit(self, text: str) -> str | None:
        """Why a text that nobody judged is left out; None where it may be taken."""
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
    """The corpus of the cut, and the judgements of each query (by row of the source) on it (by place)."""

    basket: Basket
    judgements: dict[int, dict[int, int]] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)
    settled: set[int] = field(default_factory=set)
    """Places that were decided upon, taken or not."""


T = TypeVar("T")


def round_robin(lists: Iterable[Sequence[T]]) -> Iterator[T]:
    """The first of each list, then the second of each, and so on.

    >>> list(round_robin(["ab", "c", "def"]))
    ['a', 'c', 'd', 'b', 'e', 'f']
    """
    missing = object()
    for turn in zip_longest(*lists, fillvalue=missing):
        for item in turn:
            if item is not missing:
                yield item  # type: ignore[misc]
