"""`normalise` for millions of characters at once, on code points.

Nearly every character is normalised alone: a table says what it becomes. Only where characters act on each other
(a letter and an accent written as two, marks out of order) does the text go through `normalise` itself.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np

from steelyard.text.characters import UInt8, UInt32
from steelyard.text.normalise import NON_JOINER, normalise
from steelyard.types import Int64

_CODE_POINTS = 0x110000
_UNKNOWN = 255

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


class _Table:
    """What each character becomes alone; filled as characters turn up."""

    def __init__(self, fold_case: bool) -> None:
        self.fold_case = fold_case
        self.sizes: UInt8 = np.full(_CODE_POINTS, _UNKNOWN, dtype=np.uint8)
        self.first: UInt32 = np.arange(_CODE_POINTS, dtype=np.uint32)
        self.order: UInt8 = np.zeros(_CODE_POINTS, dtype=np.uint8)
        self.social: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.zeros(_CODE_POINTS, dtype=np.bool_)
        for begin, end in (*COMBINING, (ord(NON_JOINER), ord(NON_JOINER))):
            self.social[begin : end + 1] = True
        self.tails: dict[int, str] = {}

    def learn(self, points: UInt32) -> UInt8:
        """How many characters each becomes, asking `normalise` about those not seen before."""
        sizes = self.sizes[points]
        if (sizes == _UNKNOWN).any():
            new = np.zeros(_CODE_POINTS, dtype=np.bool_)
            new[points[sizes == _UNKNOWN]] = True
            for point in np.flatnonzero(new).tolist():
                self._learn_one(point)
            sizes = self.sizes[points]
        return sizes

    def _learn_one(self, point: int) -> None:
        becomes = normalise(chr(point), fold_case=self.fold_case)
        self.order[point] = unicodedata.combining(chr(point))
        self.first[point] = ord(becomes[0]) if becomes else 0
        self.tails[point] = becomes[1:]
        # A half-width voicing mark joins the letter before it only once it is a full one.
        self.social[point] |= any(self.social[ord(character)] for character in becomes)
        # Last: another thread takes a character whose size it finds for learnt.
        self.sizes[point] = len(becomes)


@cache
def _table(fold_case: bool) -> _Table:
    return _Table(fold_case)


def fold(points: UInt32, *, fold_case: bool = True) -> tuple[UInt32, Int64]:
    """The characters in their normal form, and the places (in the input) of those that need their neighbours.

    If there are such places, the texts that hold them must go through `normalise`; the others are right.

    >>> points = np.array([ord(c) for c in "Ａß東"], dtype=np.uint32)
    >>> folded, unsure = fold(points)
    >>> "".join(map(chr, folded)), unsure.tolist()
    ('ass東', [])
    """
    table = _table(fold_case)
    sizes = table.learn(points)
    unsure = table.social[points]
    order = table.order[points]
    unsure[1:] |= (order[1:] > 0) & (order[1:] < order[:-1])
    folded = table.first[points]
    if (sizes != 1).any():
        folded = _spread(table, points, folded, sizes)
    return folded, np.flatnonzero(unsure)


def _spread(table: _Table, points: UInt32, folded: UInt32, sizes: UInt8) -> UInt32:
    """Make room for characters that become several, close the gap of those that vanish."""
    out = np.repeat(folded, sizes)
    ends = np.cumsum(sizes, dtype=np.int64)
    for point in np.unique(points[sizes > 1]).tolist():
        after = ends[points == point]
        tail = table.tails[point]
        for place, character in enumerate(tail):
            out[after - len(tail) + place] = ord(character)
    return out
