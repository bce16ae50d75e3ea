"""Identifiers of code: their parts, and the terms of all names that were seen, numbered."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from threading import Lock

import numpy as np

from steelyard.text.arrays import flat_nonzero
from steelyard.text.tokenizer.spans import UInt64, keys_of_strings
from steelyard.text.tokenizer.tokens import Tokens
from steelyard.types import Int32, Int64

_CASED = [chr(point) for point in range(0x530)]  # Latin, Greek, Cyrillic
_UPPER = "".join(letter for letter in _CASED if letter.isupper())
_LOWER = "".join(letter for letter in _CASED if letter.islower() and letter.isalpha())
_PARTS = re.compile(
    f"[{_UPPER}]{{2,}}s(?![{_LOWER}])|[{_UPPER}]+(?![{_LOWER}])|[{_UPPER}]?[{_LOWER}]+|\\d+|[^\\W\\d_{_UPPER}{_LOWER}]+"
)
"""Plurals of capitals (URLs), capitals, words, numbers, words in scripts without case."""


def split_identifier(name: str) -> list[str]:
    """Return the parts of an identifier in lower case, then the whole identifier if it has several.

    >>> split_identifier("getHTTPResponse_v2"), split_identifier("count"), split_identifier("allURLs")
    (['get', 'http', 'response', 'v', '2', 'gethttpresponse_v2'], ['count'], ['all', 'urls', 'allurls'])
    >>> split_identifier("naïveBayes"), split_identifier("НайтиПоКоду")
    (['naïve', 'bayes', 'naïvebayes'], ['найти', 'по', 'коду', 'найтипокоду'])
    """
    if name.isascii() and name.isalpha() and name.islower():  # most words
        return [name]
    whole = name.casefold()
    parts: list[str] = _PARTS.findall(name)
    if whole != name:
        parts = list(map(str.casefold, parts))
    return [*parts, whole] if len(parts) > 1 else parts or [whole]


class Identifiers:
    """The stemmed terms of identifiers. Those of earlier texts are kept, since most names come again in the next ones.

    >>> Identifiers(lambda words: words).parts(["getUsers", "users"]).lists(2)
    [['get', 'users', 'getusers'], ['users']]
    """

    LIMIT = 1 << 17
    """Names that are kept; then it starts anew."""

    def __init__(self, stem: Callable[[list[str]], list[str]]) -> None:
        self._stem, self._lock = stem, Lock()
        self._start_anew()

    def _start_anew(self) -> None:
        self._row_of: dict[str, int] = {}
        """The row of each name: its terms are `_numbers[_offsets[row] : _offsets[row + 1]]`."""
        self._offsets: Int64 = np.zeros(1, dtype=np.int64)
        self._numbers: Int32 = np.zeros(0, dtype=np.int32)
        self._number_of: dict[str, int] = {}
        self._terms: list[str] = []
        self._keys: UInt64 = np.zeros(0, dtype=np.uint64)

    def parts(self, names: Sequence[str]) -> Tokens:
        """Return the terms of distinct names: of their parts, and of the whole. The n-th name is the n-th text."""
        with self._lock:  # threads share the numbers
            known = False
            try:
                rows = self._rows(names)
                known = True
            finally:
                if not known:  # an interrupt in between would leave terms with the numbers of others
                    self._start_anew()
            offsets, numbers, terms, keys = self._offsets, self._numbers, self._terms, self._keys
        counts = offsets[rows + 1] - offsets[rows]
        owners = np.repeat(np.arange(len(rows), dtype=np.int32), counts)
        starts = np.repeat(offsets[rows] - (np.cumsum(counts) - counts), counts)
        used, places = _renumbered(numbers[starts + np.arange(len(starts))], len(keys))
        return Tokens(owners, places, list(map(terms.__getitem__, used.tolist())), keys.take(used))

    def _rows(self, names: Sequence[str]) -> Int64:
        """Return the row of each name; new ones are added."""
        rows = np.fromiter(map(self._row_of.get, names, repeat(-1)), dtype=np.int64, count=len(names))
        new = flat_nonzero(rows < 0)
        if len(self._row_of) + len(new) > self.LIMIT:
            self._start_anew()
            new = np.arange(len(names))
        if len(new):
            rows[new] = np.arange(len(self._row_of), len(self._row_of) + len(new))
            self._add([names[place] for place in new.tolist()])
        return rows

    def _add(self, names: list[str]) -> None:
        parts = list(map(split_identifier, names))
        distinct = list(dict.fromkeys(chain.from_iterable(parts)))
        stems = self._stem(distinct)
        terms = [term for term in dict.fromkeys(stems) if term and term not in self._number_of]
        self._number_of |= zip(terms, range(len(self._terms), len(self._terms) + len(terms)), strict=True)
        self._terms += terms
        self._keys = np.concatenate((self._keys, keys_of_strings(terms)))
        number_of = {part: self._number_of[term] for part, term in zip(distinct, stems, strict=True) if term}
        numbers = [[number_of[part] for part in split if part in number_of] for split in parts]
        self._row_of |= zip(names, range(len(self._row_of), len(self._row_of) + len(names)), strict=True)
        ends = np.cumsum(np.fromiter(map(len, numbers), dtype=np.int64, count=len(numbers))) + self._offsets[-1]
        self._offsets = np.concatenate((self._offsets, ends))
        added = np.fromiter(chain.from_iterable(numbers), dtype=np.int32)
        self._numbers = np.concatenate((self._numbers, added))


def _renumbered(numbers: Int32, size: int) -> tuple[Int32, Int32]:
    """Return the distinct numbers below `size` in the order of their first occurrence, and the place of each there.

    >>> [array.tolist() for array in _renumbered(np.array([7, 2, 7, 5], dtype=np.int32), 8)]
    [[7, 2, 5], [0, 1, 0, 2]]
    """
    order = np.arange(len(numbers), dtype=np.int32)
    place_of = np.empty(size, dtype=np.int32)
    place_of[numbers[::-1]] = order[::-1]  # of equal numbers the last one assigned stays, which is the first
    distinct = numbers[flat_nonzero(place_of.take(numbers) == order)]
    place_of[distinct] = order[: len(distinct)]
    return distinct, place_of.take(numbers)
