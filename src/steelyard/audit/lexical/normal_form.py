"""The normal form of a text: its words in NFKC and lower case, without punctuation; one token for each word.

Two texts are exact duplicates when their tokens are equal. A character of a script without spaces (Han, kana, Thai ...)
is a token of its own. Everything works on a batch of texts at once, as arrays of code points.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from steelyard.text.characters import HANGUL, SEPARATOR, WORD, class_of
from steelyard.text.tokenizer.normalise import NON_JOINER, normalise
from steelyard.types import Int64

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

END = "\x00"
"""Joins the texts of a batch; it separates words like any other control character."""
NOTHING, LETTER, SINGLE, REMOVED, COMPLEX, UNKNOWN = range(6)
"""Kinds of characters: separates tokens; part of a word; a token of its own; without meaning, such as a soft hyphen;
needs its neighbours or becomes several characters; not looked up yet."""
CODE_POINTS = 0x110000
CHARACTER_STEP = 0x9E3779B97F4A7C15 | 1
"""The odd number whose powers order the characters of a word in its hash."""
MASK = (1 << 64) - 1
MOST_TEXTS = 2_000
MOST_CHARACTERS = 1 << 17
"""Texts and characters that are tokenised at a time: an array of a number for each character is 1 MB."""


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of a batch of texts: text `t` owns `hashes[offsets[t]:offsets[t + 1]]`."""

    hashes: UInt64
    single: Bools
    """Whether a token is one character of a script without spaces."""
    offsets: Int64

    @property
    def counts(self) -> Int64:
        """The number of tokens of each text."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1


def batches(texts: Sequence[str]) -> Iterator[slice]:
    """Yield slices of the texts that are small enough to be tokenised at a time: their arrays fit into the cache.

    >>> [(part.start, part.stop) for part in batches(["a" * (MOST_CHARACTERS // 2)] * 3)]
    [(0, 2), (2, 3)]
    """
    start = characters = 0
    for stop, text in enumerate(texts):
        characters += len(text)
        if stop > start and (characters > MOST_CHARACTERS or stop - start >= MOST_TEXTS):
            yield slice(start, stop)
            start, characters = stop, len(text)
    if start < len(texts):
        yield slice(start, len(texts))


def tokenise(texts: Sequence[str]) -> Tokens:
    """Return the hashed tokens of each text.

    >>> tokens = tokenise(["The  Nile, a RIVER!", "the nile: a river", "東京へ", ""])
    >>> tokens.counts.tolist(), bool((tokens.hashes[:4] == tokens.hashes[4:8]).all())
    ([4, 4, 3, 0], True)
    """
    points, kinds, ends = _normal_points(texts)
    letter = kinds == LETTER
    single = kinds == SINGLE
    first, last = letter.copy(), letter.copy()
    first[1:] &= ~letter[:-1]
    last[:-1] &= ~letter[1:]
    starts = np.flatnonzero(first | single)
    stops = np.flatnonzero(last | single) + 1
    hashes = _word_hashes(points, starts, stops)
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    offsets[1:] = np.searchsorted(starts, ends)
    return Tokens(hashes, single[starts], offsets)


def normal_form(text: str) -> str:
    """Return the tokens of a text, joined by one space; characters of scripts without spaces are not parted.

    >>> normal_form("The  Nile, a RIVER!"), normal_form("“東京” へ Go!"), normal_form("?!")
    ('the nile a river', '東京へ go', '')
    """
    points, kinds, _ = _normal_points([text])
    pieces: list[str] = []
    before = NOTHING
    spaced = False
    for point, kind in zip(points.tolist(), kinds.tolist(), strict=True):
        if kind == NOTHING:
            spaced = True
            continue
        if pieces and (spaced or kind != before) and not kind == before == SINGLE:
            pieces.append(" ")
        pieces.append(chr(point))
        before, spaced = kind, False
    return "".join(pieces)


def _normal_points(texts: Sequence[str]) -> tuple[UInt32 | UInt8, UInt8, Int64]:
    """Return the characters of all texts in their normal form, their kinds, and where each text ends."""
    joined = _joined(texts)
    if joined.isascii():
        points: UInt32 | UInt8 = np.frombuffer(joined.lower().encode(), dtype=np.uint8)
        kinds = _Table.shared().kinds[:128].take(points)
        return points, kinds, np.flatnonzero(points == 0)
    table = _Table.shared()
    raw = _code_points(joined)
    kinds = table.kinds_of(raw)
    if (kinds == COMPLEX).any():
        ends = np.flatnonzero(raw == 0)
        rows = np.unique(np.searchsorted(ends, np.flatnonzero(kinds == COMPLEX)))
        changed = list(texts)
        for row in rows.tolist():
            changed[row] = normalise(texts[row].encode("utf-16-le", "replace").decode("utf-16-le", "replace"))
        raw = _code_points(_joined(changed))
        kinds = table.kinds_of(raw)
        alone = kinds == COMPLEX
        kinds[alone] = table.plain_kinds(raw[alone])
    mapped = table.points.take(raw)
    keep = kinds != REMOVED
    if not keep.all():
        mapped, kinds = mapped[keep], kinds[keep]
    return mapped, kinds, np.flatnonzero(mapped == 0)


def _joined(texts: Sequence[str]) -> str:
    """Return the texts, each with END behind it; an END inside a text becomes a space."""
    joined = END.join([*texts, ""])
    if joined.count(END) == len(texts):
        return joined
    return END.join([*(text.replace(END, " ") for text in texts), ""])


def _code_points(text: str) -> UInt32:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


class _Table:
    """What each character becomes alone; filled as characters are met."""

    def __init__(self) -> None:
        self.kinds: UInt8 = np.full(CODE_POINTS, UNKNOWN, dtype=np.uint8)
        self.points: UInt32 = np.arange(CODE_POINTS, dtype=np.uint32)
        for point in range(128):
            self._learn(point)

    @staticmethod
    @cache
    def shared() -> _Table:
        """Return the table that every batch uses."""
        return _Table()

    def kinds_of(self, points: UInt32) -> UInt8:
        """Return the kind of every character, looking up those that were not met before."""
        kinds = self.kinds.take(points)
        if (unknown := kinds == UNKNOWN).any():
            for point in np.unique(points[unknown]).tolist():
                self._learn(point)
            kinds = self.kinds.take(points)
        return kinds

    def plain_kinds(self, points: UInt32) -> UInt8:
        """Return the kinds of characters that stay as they are: their text is in normal form already."""
        return np.array([_plain_kind(chr(point)) for point in points.tolist()], dtype=np.uint8)

    def _learn(self, point: int) -> None:
        character = chr(point)
        if 0xD800 <= point < 0xE000:  # half of a surrogate pair
            self.kinds[point] = NOTHING
            return
        normal = normalise(character)
        if unicodedata.combining(character) or character == NON_JOINER or 0x1100 <= point < 0x1200:
            self.kinds[point] = COMPLEX
        elif not normal:
            self.kinds[point] = REMOVED
        elif len(normal) > 1:
            several = any(_plain_kind(char) != NOTHING for char in normal)
            self.kinds[point] = COMPLEX if several else NOTHING
        else:
            self.points[point] = ord(normal)
            # Last: another thread treats a character whose kind is known as looked up.
            self.kinds[point] = COMPLEX if unicodedata.combining(normal) else _plain_kind(normal)


@cache
def _plain_kind(character: str) -> int:
    kind = class_of(character)
    return NOTHING if kind == SEPARATOR else LETTER if kind in (WORD, HANGUL) else SINGLE


def _word_hashes(points: UInt32 | UInt8, starts: Int64, stops: Int64) -> UInt64:
    """Return a hash of the characters of each word: a polynomial in them, from differences of running sums."""
    powers = power_table(CHARACTER_STEP, len(points) + 1)
    inverse = power_table(pow(CHARACTER_STEP, -1, 1 << 64), len(points) + 1)
    sums = np.zeros(len(points) + 1, dtype=np.uint64)
    np.cumsum(_random_values().take(points) * powers[: len(points)], out=sums[1:])
    return mix((sums[stops] - sums[starts]) * inverse[starts])


@cache
def _random_values() -> UInt64:
    """Return a fixed random number for every code point."""
    return mix(np.arange(1, CODE_POINTS + 1, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95))


_POWERS: dict[int, UInt64] = {}


def power_table(step: int, count: int) -> UInt64:
    """Return at least `count` powers of a number modulo 2 ** 64, from the zeroth on."""
    powers = _POWERS.get(step)
    if powers is None or len(powers) < count:
        factors = np.full(1 << max(16, (count - 1).bit_length()), step & MASK, dtype=np.uint64)
        factors[0] = 1
        powers = _POWERS[step] = np.cumprod(factors, dtype=np.uint64)
    return powers


def mix(values: UInt64) -> UInt64:
    """Spread the bits of each number over all 64 (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
