"""`normalise` for millions of characters at once, on code points.

Nearly every character is normalised by itself, with a table. Only where characters combine (a letter and an accent
written as two characters, marks out of order) is the word passed to `normalise`.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from steelyard.text.analysis.spelling import PLAIN, Sequences, Spelling
from steelyard.text.arrays import flat_nonzero
from steelyard.text.characters import SEPARATOR, WORD, UInt8, UInt32, class_of
from steelyard.text.tokenizer.normalise import NON_JOINER, normalise
from steelyard.types import Int64

_CODE_POINTS = 0x110000
END = "\0"
"""Separates two texts."""
_FEW = 1000
"""Up to so many characters that become none or several are replaced one by one."""

COMBINING = (
    *((0x300, 0x304), (0x306, 0x30C), (0x30F, 0x30F), (0x311, 0x311), (0x313, 0x314), (0x31B, 0x31B)),
    *((0x323, 0x328), (0x32D, 0x32E), (0x330, 0x331), (0x338, 0x338), (0x342, 0x342), (0x345, 0x345)),
    *((0x653, 0x655), (0x93C, 0x93C), (0x9BE, 0x9BE), (0x9D7, 0x9D7), (0xB3E, 0xB3E), (0xB56, 0xB57)),
    *((0xBBE, 0xBBE), (0xBD7, 0xBD7), (0xC56, 0xC56), (0xCC2, 0xCC2), (0xCD5, 0xCD6), (0xD3E, 0xD3E)),
    *((0xD57, 0xD57), (0xDCA, 0xDCA), (0xDCF, 0xDCF), (0xDDF, 0xDDF), (0x102E, 0x102E), (0x1161, 0x1175)),
    *((0x11A8, 0x11C2), (0x1B35, 0x1B35), (0x3099, 0x309A), (0x110BA, 0x110BA), (0x11127, 0x11127)),
    *((0x1133E, 0x1133E), (0x11357, 0x11357), (0x114B0, 0x114B0), (0x114BA, 0x114BA), (0x114BD, 0x114BD)),
    *((0x115AF, 0x115AF), (0x11930, 0x11930)),
)
"""Characters that may combine with the character before them (a test compares this with unicodedata)."""


_FIRST, _CLASS, _RESIZED, _MARK, _COMBINES, _UNKNOWN = (1 << 21) - 1, 7 << 21, 1 << 24, 1 << 25, 1 << 26, 1 << 31
"""The bits of a table entry: the first character that it becomes, and its class; that it becomes none or several; that
it is a mark with an order among marks; that it may combine with its neighbours; that it is not yet known."""
_CLASS_BITS = 21


@dataclass(frozen=True, eq=False)
class Folded:
    """Characters in their normal form, and the class of each.

    Every character outside of tokens is a space, except the one that ends texts.
    """

    facts: UInt32

    @property
    def points(self) -> UInt32:
        """The characters."""
        return self.facts & np.uint32(_FIRST)

    @cached_property
    def classes(self) -> UInt8:
        """The class of each character."""
        return self.facts.view(np.uint8)[2::4] >> np.uint8(_CLASS_BITS - 16)  # in the highest bits of the third byte

    @property
    def only_words(self) -> bool:
        """Whether all characters are of scripts with spaces."""
        return int(np.bitwise_or.reduce(self.facts)) & _CLASS <= WORD << _CLASS_BITS

    def respell(self, sequences: Sequences) -> Folded:
        """Return the same words in the normal spelling of their language; only letters of words change."""
        places, becomes, gone = sequences(self.points)
        facts = self.facts.copy()
        facts[places] = becomes | np.uint32(WORD << _CLASS_BITS)
        return Folded(np.delete(facts, gone) if len(gone) else facts)


class _Table:
    """The normal form of each character by itself; filled as characters occur."""

    def __init__(self, fold_case: bool, underscore: bool, spelling: Spelling) -> None:
        self.fold_case, self.underscore, self.spelling = fold_case, underscore, spelling
        self.facts: UInt32 = np.full(_CODE_POINTS, _UNKNOWN, dtype=np.uint32)
        self.order: UInt8 = np.zeros(_CODE_POINTS, dtype=np.uint8)  # among the marks of a letter
        self.last_order: UInt8 = np.zeros(_CODE_POINTS, dtype=np.uint8)  # of the last that it becomes
        self.becomes: dict[int, str] = {}

    def learn(self, points: UInt32) -> tuple[UInt32, int]:
        """Return the entry of each character and the largest entry; new characters are passed to `normalise`."""
        facts = self.facts.take(points)
        largest = int(facts.max(initial=0))
        if largest >= _UNKNOWN:
            for point in np.unique(points[facts == _UNKNOWN]).tolist():
                self._learn_one(point)
            facts = self.facts.take(points)
            largest = int(facts.max())
        return facts, largest

    def _learn_one(self, point: int) -> None:
        normal = normalise(chr(point), fold_case=self.fold_case)
        becomes = self.spelling.letters(normal)
        composed = unicodedata.normalize("NFKC", chr(point))  # puts marks in order, before any is removed
        # A mark that the language removes does not have an order.
        self.order[point] = unicodedata.combining(composed[0]) if becomes or not normal else 0
        # Folding may leave a mark at the end (ǰ becomes j and a caron), before which the next one may belong.
        self.last_order[point] = max(map(unicodedata.combining, (composed[-1], becomes[-1:] or composed[-1])))
        self.becomes[point] = becomes
        facts = self.plain(becomes[0]) if becomes else 0
        facts |= _RESIZED * (len(becomes) != 1) | _MARK * bool(self.order[point])
        # A half-width voicing mark combines with the letter before it only after normalisation.
        facts |= _COMBINES * any(map(_combines, (point, *map(ord, normal[:1]))))
        # Last: other threads use an entry as soon as it is set.
        self.facts[point] = facts

    def plain(self, character: str) -> int:
        """Return the entry of a character that stays unchanged, or separates."""
        kind = WORD if self.underscore and character == "_" else class_of(character)
        return ord(" " if kind == SEPARATOR and character != END else character) | kind << _CLASS_BITS


def _combines(point: int) -> bool:
    return point == ord(NON_JOINER) or any(first <= point <= last for first, last in COMBINING)


@cache
def _table(fold_case: bool, underscore: bool, spelling: Spelling) -> _Table:
    return _Table(fold_case, underscore, spelling)


def fold(
    points: UInt32, *, fold_case: bool = True, underscore: bool = False, spelling: Spelling = PLAIN
) -> Folded | Int64:
    """Return the characters in their normal form, or the positions of those that depend on their neighbours.

    Words with such positions must go through `normalise` first. With `underscore`, an underscore is part of a word.

    >>> fold(np.array([ord(c) for c in "cafe\u0301"], dtype=np.uint32)).tolist()
    [4]
    >>> folded = fold(np.array([ord(c) for c in "Ａß、東"], dtype=np.uint32))
    >>> "".join(map(chr, folded.points)), folded.classes.tolist(), folded.only_words
    ('ass 東', [1, 1, 1, 0, 2], False)
    """
    table = _table(fold_case, underscore, spelling)
    facts, largest = table.learn(points)
    if largest >= _MARK:
        marks = flat_nonzero(facts >= _MARK)
        combining = facts[marks] >= _COMBINES
        order, before = table.order.take(points[marks]), table.last_order.take(points[np.maximum(marks - 1, 0)])
        disordered = ~combining & (marks > 0) & (order < before)
        if combining.any() or not _swap(table, points, facts, marks[disordered]):
            return marks[combining | disordered]
    return _resized(table, points, facts) if largest >= _RESIZED else Folded(facts)


def _swap(table: _Table, points: UInt32, facts: UInt32, second: Int64) -> bool:
    """Put pairs of marks in order, such as the doubling and the vowel of an Arabic letter; return whether that is all.

    `second` are the positions of marks that belong before the preceding mark.
    """
    behind = np.minimum(second + 1, len(points) - 1)
    pairs = (table.last_order.take(points[second - 2]) == 0) & (table.order.take(points[behind]) == 0)
    pairs &= (facts[second] | facts[second - 1]) & np.uint32(_COMBINES | _RESIZED) == 0
    pairs &= facts[second - 1] >= _MARK
    facts[second], facts[second - 1] = facts[second - 1], facts[second]
    return bool(pairs.all())


def fold_alone(
    points: UInt32, *, fold_case: bool = True, underscore: bool = False, spelling: Spelling = PLAIN
) -> Folded:
    """Return the characters in their normal form, for words that went through `normalise`."""
    table = _table(fold_case, underscore, spelling)
    facts, largest = table.learn(points)
    return _resized(table, points, facts) if largest >= _RESIZED else Folded(facts)


def _resized(table: _Table, points: UInt32, facts: UInt32) -> Folded:
    """Insert characters that become several, and remove those that become none."""
    places = flat_nonzero((facts & np.uint32(_RESIZED)) != 0)
    becomes = [table.becomes[point] for point in points[places].tolist()]
    if len(places) > _FEW:
        return Folded(_spread(table, facts, places, becomes))
    pieces, done = [], 0
    for place, string in zip(places.tolist(), becomes, strict=True):
        pieces.append(facts[done:place])
        if string:
            pieces.append(np.array(list(map(table.plain, string)), dtype=np.uint32))
        done = place + 1
    return Folded(np.concatenate([*pieces, facts[done:]]))


def _spread(table: _Table, facts: UInt32, places: Int64, becomes: list[str]) -> UInt32:
    """Replace the characters at many positions at once."""
    tails = [table.plain(character) for string in becomes for character in string[1:]]
    sizes = np.fromiter(map(len, becomes), dtype=np.int64, count=len(becomes))
    gone = places[sizes == 0]
    if tails:
        behind = np.repeat(places + 1, np.maximum(sizes - 1, 0))
        facts = np.insert(facts, behind, tails)
        gone = gone + np.searchsorted(behind, gone, side="right")
    return np.delete(facts, gone) if len(gone) else facts
