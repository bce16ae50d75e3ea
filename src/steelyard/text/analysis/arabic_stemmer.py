"""Snowball's Arabic stemmer for thousands of words at once; it returns the key of a stem, not its string.

A word of up to ten letters is one integer with six bits per letter, the last letter lowest. A step of the algorithm is
then one table look-up, by the three letters at the end or at the beginning of the word. Other words (foreign letters,
vowel marks at the beginning, long words) and rare branches of the algorithm are passed to Snowball, so that every stem
is Snowball's; a test compares the two. `benchmarks/studies/own_parts.py` compares the speed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from steelyard.text.arrays import flat_nonzero
from steelyard.text.characters import UInt8
from steelyard.text.tokenizer.spans import Spans, UInt64, blocks, keys_of_blocks
from steelyard.types import Int64

Bools = npt.NDArray[np.bool_]

_LETTERS = "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىي"
_CODES = {letter: code for code, letter in enumerate(_LETTERS, start=1)}
_MARKS = "ًٌٍَُِّْ"
_MARK, _FOREIGN = 63 | 64, 128
"""Codes of a vowel mark, which the stemmer removes, and of an unknown letter."""
_BITS, _LONGEST = np.uint64(6), 10
_ONE = np.uint64(1)
_FIRST_THREE = np.uint64(6 * (_LONGEST - 3))
_NOT_ASCII = np.uint64(0x8080808080808080)
_THREE_LETTERS, _TEN_LETTERS = np.uint64((1 << 18) - 1), np.uint64((1 << 60) - 1)

_Table = UInt8
"""By three letters: eight times the least length of a word that loses an affix, plus the letters that it loses."""
_ENTRIES = np.arange(256, dtype=np.uint64)
_LEAST = np.where(_ENTRIES & np.uint64(7), _ENTRIES >> np.uint64(3), np.uint64(63)).astype(np.int64)
"""By table entry, the least length of a word that loses an affix."""
_LEAST_WORD = _ONE << np.minimum(_BITS * np.maximum(_LEAST - 1, 0).astype(np.uint64), np.uint64(63))
"""The same, as the least integer of such a word."""
_SHIFT = (_ENTRIES & np.uint64(7)) * _BITS


def _table(affixes: str, *, at_end: bool) -> _Table:
    """Return the table of affixes written as `4 letters letters; 5 letters`: the least length before each group.

    The longest affix decides, even if the word is too short for it.
    """
    table = np.zeros((64, 64, 64), dtype=np.uint8)
    entries = [(group.split()[0], affix) for group in affixes.split(";") for affix in group.split()[1:]]
    for least, affix in sorted(entries, key=lambda entry: len(entry[1])):
        place: list[int | slice] = [slice(None)] * (3 - len(affix))
        letters: list[int | slice] = [_CODES[letter] for letter in affix]
        table[(*place, *letters) if at_end else (*letters, *place)] = int(least) << 3 | len(affix)
    return table.ravel()


_VERB_ENDINGS = (
    "4 ه ك; 5 ني نا ها هم هن كم كن; 6 هما كما كمو",
    "4 ت ا ن ي; 5 نا تا تن; 6 ان ون ين تما",
    "5 وا تم",
    "4 و; 6 تمو",
)
_NOUN_ENDINGS = ("4 ي ك ه; 5 نا كم ها هن هم; 6 كما هما", "6 ن", "5 ا ي و", "5 ات", "4 ت", "4 ة")
_DEFINITE, _ARTICLES = "5 بال كال; 4 لل ال", "6 بال كال; 5 لل ال"


@cache
def _tables() -> tuple[list[_Table], list[_Table], _Table, _Table]:
    return (
        [_table(affixes, at_end=True) for affixes in _VERB_ENDINGS],
        [_table(affixes, at_end=True) for affixes in _NOUN_ENDINGS],
        _table(_DEFINITE, at_end=False),
        _table(_ARTICLES, at_end=False),
    )


@cache
def _may_end() -> Bools:
    """Return, by letter code, whether any ending ends with the letter; most words need no further step."""
    endings = " ".join((*_VERB_ENDINGS, *_NOUN_ENDINGS, "ى")).replace(";", " ").split()
    last = {_CODES[ending[-1]] for ending in endings if not ending.isdigit()}
    return np.isin(np.arange(64), list(last))


class _Words:
    """Words as integers, stemmed step by step in place."""

    def __init__(self, letters: UInt64) -> None:
        self.letters = letters
        self.odd: Bools = np.zeros(len(letters), dtype=np.bool_)
        """Words that are passed to Snowball."""

    def drop_ending(self, rows: Int64, table: _Table) -> Bools:
        """Remove an ending from the words of these rows; return whether each had one."""
        letters = self.letters.take(rows)
        entry = table.take((letters & _THREE_LETTERS).view(np.int64))
        has_ending: Bools = letters >= _LEAST_WORD.take(entry)
        at = flat_nonzero(has_ending)
        self.letters[rows.take(at)] = letters.take(at) >> _SHIFT.take(entry.take(at))
        return has_ending

    def measure(self) -> None:
        """Count the letters of each word, for the steps at its beginning."""
        _, bits = np.frexp(self.letters.astype(np.float64))
        self.sizes: Int64 = (bits.astype(np.int64) + 5) // 6

    def beginnings(self, rows: Int64) -> Int64:
        """Return the first three letters of words, as an index into a table."""
        return (_to_the_left(self.letters.take(rows), self.sizes.take(rows)) >> _FIRST_THREE).view(np.int64)

    def drop_first(self, rows: Int64, count: Int64 | int) -> None:
        """Remove so many letters from the beginning of words."""
        self.sizes[rows] -= count
        self.letters[rows] &= (_ONE << (_BITS * self.sizes[rows].astype(np.uint64))) - _ONE


def _to_the_left(letters: UInt64, sizes: Int64) -> UInt64:
    """Return the same words with the first letter highest."""
    return letters << _BITS * (_LONGEST - sizes).astype(np.uint64)


def _first_of(rows: Int64, *steps: Callable[[Int64], Bools]) -> Int64:
    """Try the steps in turn on words that no earlier step changed; return the rows that stay unchanged."""
    for step in steps:
        rows = rows.take(flat_nonzero(~step(rows)))
    return rows


def _drop_endings(words: _Words, definite: Bools) -> None:
    verb, *_ = _tables()

    def drop(table: _Table) -> Callable[[Int64], Bools]:
        return lambda rows: words.drop_ending(rows, table)

    rows = flat_nonzero(_may_end().take((words.letters & np.uint64(63)).view(np.int64)))
    indefinite, rest = rows[~definite[rows]], rows[definite[rows]]
    had_object = words.drop_ending(indefinite, verb[0])
    again = with_object = indefinite[had_object]
    while len(again):
        again = again[words.drop_ending(again, verb[0])]
    _first_of(with_object, drop(verb[1]), drop(verb[3]))
    left = _first_of(indefinite[~had_object], drop(verb[2]), drop(verb[1]))
    _drop_noun_endings(words, np.concatenate((left, rest)), definite, drop)


def _drop_noun_endings(
    words: _Words, rows: Int64, definite: Bools, drop: Callable[[_Table], Callable[[Int64], Bools]]
) -> None:
    _, (owner, dual, weak, feminine, taa, taa_marbuta), _, _ = _tables()
    left = _first_of(rows, drop(taa_marbuta))
    free = left[~definite[left]]
    owned = words.drop_ending(free, owner)
    # Snowball skips a letter here, and looks for the last ending before it.
    stepped = _first_of(free[owned], drop(weak), drop(feminine), drop(taa))
    yaa = np.uint64(_CODES["ي"])
    words.odd[stepped[words.letters[stepped] >> _BITS & np.uint64(63) == yaa]] = True
    left = np.concatenate((free[~owned], left[definite[left]]))
    had_noon = words.drop_ending(left, dual)
    _first_of(left[had_noon], drop(weak), drop(feminine), drop(taa))
    left = left[~had_noon]
    free = left[~definite[left]]
    _first_of(np.concatenate((_first_of(free, drop(weak)), left[definite[left]])), drop(feminine))
    # The yaa of relation is removed; otherwise an alif maqsura becomes a yaa.
    whole: Bools = np.ones(len(definite), dtype=np.bool_)
    whole[stepped] = False
    last = rows[whole[rows]]
    changed = words.drop_ending(last, _yaa())
    others = np.concatenate((last[~changed], stepped))
    endings = words.letters[others] & np.uint64(63)
    words.letters[others[endings == np.uint64(_CODES["ى"])]] ^= np.uint64(_CODES["ى"] ^ _CODES["ي"])


@cache
def _yaa() -> _Table:
    return _table("3 ي", at_end=True)


@cache
def _prefixes() -> tuple[Bools, ...]:
    """By the first three letters: a doubled hamza; one letter and; one letter in; a verb's future; a tenth form."""

    def matching(*prefixes: str) -> Bools:
        return _table(f"1 {' '.join(prefixes)}", at_end=False) > 0

    return (
        matching("أأ", "أآ", "أؤ", "أا", "أإ"),
        matching("ف", "و") & ~matching("فا", "وا"),
        matching("ب", "كك") & ~matching("با"),
        matching("سي", "ست", "سن", "سأ"),
        matching("يست", "نست", "تست"),
    )


def _drop_beginnings(words: _Words, definite: Bools) -> None:
    hamzas, conjunction, preposition, future, tenth = _prefixes()
    rows = flat_nonzero(words.sizes > 3)
    first = words.beginnings(rows)
    words.odd[rows[hamzas[first]]] = True
    words.drop_first(rows[conjunction[first]], 1)
    rows = rows[words.sizes[rows] > 3]
    first = words.beginnings(rows)
    entry = _tables()[3].take(first)
    article = words.sizes[rows] >= _LEAST.take(entry)
    words.drop_first(rows[article], (entry[article] & 7).astype(np.int64))
    others = flat_nonzero(~article)
    rows, first = rows.take(others), first.take(others)
    prefixed = preposition[first]
    words.drop_first(rows[prefixed], 1)
    verbs = flat_nonzero(~prefixed & ~definite[rows] & (words.sizes[rows] > 4))
    rows, first = rows.take(verbs), first.take(verbs)
    coming = future[first]
    words.drop_first(rows[coming], 1)
    # Snowball goes on behind the letter that is left.
    words.odd[rows[coming]] |= tenth[_behind_first(words, rows[coming])]
    rows = rows[~coming & tenth[first]]
    top = _BITS * (words.sizes[rows] - 1).astype(np.uint64)
    words.letters[rows] &= (_ONE << top) - _ONE
    words.letters[rows] |= np.uint64(_CODES["ا"]) << top


def _behind_first(words: _Words, rows: Int64) -> Int64:
    without_first = _to_the_left(words.letters[rows], words.sizes[rows]) << _BITS & _TEN_LETTERS
    return (without_first >> _FIRST_THREE).view(np.int64)


@cache
def _bytes_of_pairs() -> UInt64:
    """Return, by two letters, the four bytes of a stem inside a word: hamzas lose their seats."""
    inside = dict(zip("آأإؤئ", "اااوي", strict=True))
    one = [b"", *(inside.get(letter, letter).encode() for letter in _LETTERS)]
    one += [b""] * (64 - len(one))
    return np.array([int.from_bytes(a + b, "little") for a in one for b in one], dtype=np.uint64)


@cache
def _last_letters() -> UInt64:
    """Return, by the code of a word's last letter, what it becomes: any hamza becomes the bare one."""
    codes = np.arange(64, dtype=np.uint64)
    codes[[_CODES[letter] for letter in "آأإؤئ"]] = _CODES["ء"]
    return codes


@cache
def _code_of_bytes() -> UInt8:
    """Return, by the two bytes of a letter, its code; 0 for no bytes."""
    table = np.full(1 << 16, _FOREIGN, dtype=np.uint8)
    table[0] = 0
    for letter, code in (*_CODES.items(), *((mark, _MARK) for mark in _MARKS)):
        table[int.from_bytes(letter.encode(), "little")] = code
    return table


def _read(spans: Spans) -> tuple[UInt64, Bools, Bools]:
    """Return words as integers with the first letter highest, which can be stemmed here, and which have marks."""
    pairs = blocks(spans, 3).view(np.uint16)
    codes = _code_of_bytes().take(pairs).view(">u4").astype(np.uint32)  # four letters each, a byte for one
    strange = codes[:, 0] | codes[:, 1] | codes[:, 2]
    plain = (spans.lengths <= 2 * _LONGEST) & (spans.lengths & 1 == 0) & (strange & np.uint32(0x80808080) == 0)
    twos = codes & np.uint32(0x3F003F) | (codes & np.uint32(0x3F003F00)) >> np.uint32(2)
    fours = (twos & np.uint32(0xFFF) | (twos & np.uint32(0xFFF0000)) >> np.uint32(4)).astype(np.uint64)
    left = fours[:, 0] << np.uint64(36) | fours[:, 1] << np.uint64(12) | fours[:, 2] >> np.uint64(12)
    return left, plain, strange & np.uint32(0x40404040) != 0


def _without_marks(left: UInt64) -> UInt64:
    """Return words as integers with the last letter lowest, given those with marks and the first letter highest."""
    letters = np.zeros(len(left), dtype=np.uint64)
    for place in reversed(range(_LONGEST)):
        code = left >> _BITS * np.uint64(place) & np.uint64(63)
        letter = (code > 0) & (code < 63)
        letters = np.where(letter, letters << _BITS | code, letters)
    return letters


def _keys(letters: UInt64, sizes: Int64) -> UInt64:
    ending = _last_letters().take((letters & np.uint64(63)).view(np.int64))
    left = _to_the_left(letters & ~np.uint64(63) | ending, sizes)
    fields = [
        _bytes_of_pairs().take((left >> np.uint64(12 * place) & np.uint64(0xFFF)).view(np.int64))
        for place in reversed(range(_LONGEST // 2))
    ]
    half = np.uint64(32)
    return keys_of_blocks([fields[0] | fields[1] << half, fields[2] | fields[3] << half, fields[4]], 2 * sizes)


def stem_keys(spans: Spans, keys: UInt64, snowball: Callable[[Int64], UInt64]) -> UInt64:
    """Return the key of each word's stem, given the word's; `snowball` returns those of some rows."""
    left, plain, marked = _read(spans)
    rows = flat_nonzero(plain)
    left, sizes = left.take(rows), spans.lengths.take(rows) >> 1
    # The article is searched for before marks are removed.
    definite = sizes >= _LEAST.take(_tables()[2].take((left >> _FIRST_THREE).view(np.int64)))
    words = _Words(left >> _BITS * (_LONGEST - sizes).astype(np.uint64))
    with_marks = flat_nonzero(marked.take(rows))
    words.letters[with_marks] = _without_marks(left.take(with_marks))
    words.odd[with_marks] = words.letters.take(with_marks) == 0
    _drop_endings(words, definite)
    words.measure()
    _drop_beginnings(words, definite)
    stems = keys.copy()
    stems[rows] = _keys(words.letters, words.sizes)
    # ASCII, such as years and names, is its own stem; the key of up to eight bytes is the word.
    same = (spans.lengths <= 8) & (keys & _NOT_ASCII == 0)
    others = np.concatenate((flat_nonzero(~plain & ~same), rows[words.odd]))
    if len(others):
        stems[others] = snowball(others)
    return stems
