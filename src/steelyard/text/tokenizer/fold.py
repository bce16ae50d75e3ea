"""`normalise` for millions of characters at once, on code points.

Nearly every character is normalised alone: a table says what it becomes. Only where characters act on each other
(a letter and an accent written as two, marks out of order) does the word go through `normalise` itself.
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
"""Stands between two texts."""
_FEW = 1000
"""Up to so many characters that become none or several are put in their places one by one."""

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
"""Characters that may become one with the character before them (a test holds this against unicodedata)."""


_FIRST, _CLASS, _RESIZED, _MARK, _SOCIAL, _UNKNOWN = (1 << 21) - 1, 7 << 21, 1 << 24, 1 << 25, 1 << 26, 1 << 31
"""What a table says of a character: the first that it becomes, and the class of that; that it becomes none or several;
that it is a mark that has its place among marks; that it may act on its neighbours; that nobody has asked yet."""
_CLASS_BITS = 21


@dataclass(frozen=True, eq=False)
class Folded:
    """Characters in their normal form, and how each takes part in tokens.

    Every character that is part of no token is a space, but for the one that ends texts.
    """

    facts: UInt32

    @property
    def points(self) -> UInt32:
        """The characters."""
        return self.facts & np.uint32(_FIRST)

    @cached_property
    def classes(self) -> UInt8:
        """The class of each character."""
        return self.facts.view(np.uint8)[2::4] >> np.uint8(_CLASS_BITS - 16)  # the third byte has it highest

    @property
    def only_words(self) -> bool:
        """Whether no character is of a script that writes no spaces."""
        return int(np.bitwise_or.reduce(self.facts)) & _CLASS <= WORD << _CLASS_BITS

    def respell(self, sequences: Sequences) -> Folded:
        """The same words in the spelling of their language; only letters of words change."""
        places, becomes, gone = sequences(self.points)
        facts = self.facts.copy()
        facts[places] = becomes | np.uint32(WORD << _CLASS_BITS)
        return Folded(np.delete(facts, gone) if len(gone) else facts)


class _Table:
    """What each character becomes alone; filled as characters turn up."""

    def __init__(self, fold_case: bool, underscore: bool, spelling: Spelling) -> None:
        self.fold_case, self.underscore, self.spelling = fold_case, underscore, spelling
        self.facts: UInt32 = np.full(_CODE_POINTS, _UNKNOWN, dtype=np.uint32)
        self.order: UInt8 = np.zeros(_CODE_POINTS, dtype=np.uint8)  # among the marks of a letter
        self.last_order: UInt8 = np.zeros(_CODE_POINTS, dtype=np.uint8)  # of the last that it becomes
        self.becomes: dict[int, str] = {}

    def learn(self, points: UInt32) -> tuple[UInt32, int]:
        """The facts of each character and the largest, asking `normalise` about characters not seen before."""
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
        composed = unicodedata.normalize("NFKC", chr(point))  # what puts marks in order, before anything is left out
        # A mark that the language leaves out has no place among the others.
        self.order[point] = unicodedata.combining(composed[0]) if becomes or not normal else 0
        # Folding may leave a mark at the end (ǰ becomes j and a caron), which the next one must follow in order.
        self.last_order[point] = max(map(unicodedata.combining, (composed[-1], becomes[-1:] or composed[-1])))
        self.becomes[point] = becomes
        facts = self.plain(becomes[0]) if becomes else 0
        facts |= _RESIZED * (len(becomes) != 1) | _MARK * bool(self.order[point])
        # A half-width voicing mark joins the letter before it only once it is a full one.
        facts |= _SOCIAL * any(map(_is_social, (point, *map(ord, normal[:1]))))
        # Last: another thread takes a character whose facts it finds for learnt.
        self.facts[point] = facts

    def plain(self, character: str) -> int:
        """The facts of a character that stays as it is, or separates."""
        kind = WORD if self.underscore and character == "_" else class_of(character)
        return ord(" " if kind == SEPARATOR and character != END else character) | kind << _CLASS_BITS


def _is_social(point: int) -> bool:
    return point == ord(NON_JOINER) or any(first <= point <= last for first, last in COMBINING)


@cache
def _table(fold_case: bool, underscore: bool, spelling: Spelling) -> _Table:
    return _Table(fold_case, underscore, spelling)


def fold(
    points: UInt32, *, fold_case: bool = True, underscore: bool = False, spelling: Spelling = PLAIN
) -> Folded | Int64:
    """The characters in their normal form, or the places of those that need their neighbours for it.

    The words that hold such places must go through `normalise` first. An underscore separates unless told otherwise.

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
        social = facts[marks] >= _SOCIAL
        order, before = table.order.take(points[marks]), table.last_order.take(points[np.maximum(marks - 1, 0)])
        disordered = ~social & (marks > 0) & (order < before)
        if social.any() or not _swap(table, points, facts, marks[disordered]):
            return marks[social | disordered]
    return _settled(table, points, facts) if largest >= _RESIZED else Folded(facts)


def _swap(table: _Table, points: UInt32, facts: UInt32, second: Int64) -> bool:
    """Put pairs of marks in order, such as the doubling and the vowel of an Arabic letter; whether that was all.

    `second` are the places of marks that belong before the mark before them.
    """
    behind = np.minimum(second + 1, len(points) - 1)
    pairs = (table.last_order.take(points[second - 2]) == 0) & (table.order.take(points[behind]) == 0)
    pairs &= (facts[second] | facts[second - 1]) & np.uint32(_SOCIAL | _RESIZED) == 0
    pairs &= facts[second - 1] >= _MARK
    facts[second], facts[second - 1] = facts[second - 1], facts[second]
    return bool(pairs.all())


def fold_alone(
    points: UInt32, *, fold_case: bool = True, underscore: bool = False, spelling: Spelling = PLAIN
) -> Folded:
    """The characters in their normal form, whatever their neighbours, for words that went through `normalise`."""
    table = _table(fold_case, underscore, spelling)
    facts, largest = table.learn(points)
    return _settled(table, points, facts) if largest >= _RESIZED else Folded(facts)


def _settled(table: _Table, points: UInt32, facts: UInt32) -> Folded:
    """Make room for characters that become several, close the gap of those that vanish."""
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
    """What becomes of the characters at many places, put among the others at once."""
    tails = [table.plain(character) for string in becomes for character in string[1:]]
    sizes = np.fromiter(map(len, becomes), dtype=np.int64, count=len(becomes))
    gone = places[sizes == 0]
    if tails:
        behind = np.repeat(places + 1, np.maximum(sizes - 1, 0))
        facts = np.insert(facts, behind, tails)
        gone = gone + np.searchsorted(behind, gone, side="right")
    return np.delete(facts, gone) if len(gone) else facts
