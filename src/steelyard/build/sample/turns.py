"""Taking turns, so that nobody with much to offer takes all the room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

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
