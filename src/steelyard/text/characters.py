"""The script of a character, and its class in tokenisation.

The word class of regular expressions excludes the vowel signs of Devanagari, Bengali, Tamil, Thai and others, and so
splits their words. Here marks belong to the word, and scripts without spaces have their own classes.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]

SEPARATOR, WORD, HAN_KANA, HANGUL, UNSPACED, EMOJI = range(6)
"""The classes: separator; part of a word; of a run of Chinese or Japanese; of Korean; of a South-East Asian script
without spaces; a token of its own."""

_CODE_POINTS = 0x110000

SCRIPTS: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = (
    ("latin", ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x250, 0x2AF), (0x1E00, 0x1EFF), (0x2C60, 0x2C7F))),
    ("greek", ((0x370, 0x3FF), (0x1F00, 0x1FFF))),
    ("cyrillic", ((0x400, 0x52F), (0x1C80, 0x1C8F), (0x2DE0, 0x2DFF), (0xA640, 0xA69F))),
    ("armenian", ((0x530, 0x58F),)),
    ("hebrew", ((0x590, 0x5FF), (0xFB1D, 0xFB4F))),
    ("arabic", ((0x600, 0x6FF), (0x750, 0x77F), (0x8A0, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC))),
    ("syriac", ((0x700, 0x74F),)),
    ("thaana", ((0x780, 0x7BF),)),
    ("devanagari", ((0x900, 0x97F), (0xA8E0, 0xA8FF))),
    ("bengali", ((0x980, 0x9FF),)),
    ("gurmukhi", ((0xA00, 0xA7F),)),
    ("gujarati", ((0xA80, 0xAFF),)),
    ("oriya", ((0xB00, 0xB7F),)),
    ("tamil", ((0xB80, 0xBFF),)),
    ("telugu", ((0xC00, 0xC7F),)),
    ("kannada", ((0xC80, 0xCFF),)),
    ("malayalam", ((0xD00, 0xD7F),)),
    ("sinhala", ((0xD80, 0xDFF),)),
    ("thai", ((0xE00, 0xE7F),)),
    ("lao", ((0xE80, 0xEFF),)),
    ("tibetan", ((0xF00, 0xFFF),)),
    ("burmese", ((0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F))),
    ("georgian", ((0x10A0, 0x10FF), (0x1C90, 0x1CBF), (0x2D00, 0x2D2F))),
    ("hangul", ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF))),
    ("ethiopic", ((0x1200, 0x139F), (0x2D80, 0x2DDF), (0xAB00, 0xAB2F))),
    ("khmer", ((0x1780, 0x17FF), (0x19E0, 0x19FF))),
    ("mongolian", ((0x1800, 0x18AF),)),
    ("kana", ((0x3041, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9D), (0x1B000, 0x1B16F))),
    (
        "han",
        (
            *(
                (0x2E80, 0x2FDF),
                (0x3005, 0x3007),
                (0x3021, 0x3029),
                (0x3400, 0x4DBF),
                (0x4E00, 0x9FFF),
                (0xF900, 0xFAFF),
            ),
            (0x20000, 0x323AF),
        ),
    ),
)
"""Scripts and their blocks of code points, inclusive. A script's number is its index here plus one; 0 is none."""

SCRIPT_NAMES = ("none", *(name for name, _ in SCRIPTS))

_CLASS_OF_SCRIPT = {
    "han": HAN_KANA,
    "kana": HAN_KANA,
    "hangul": HANGUL,
    "thai": UNSPACED,
    "lao": UNSPACED,
    "khmer": UNSPACED,
    "burmese": UNSPACED,
    "tibetan": UNSPACED,
}


@cache
def script_table() -> UInt8:
    """Return the script number of every code point, including marks and digits of a script's block."""
    table = np.zeros(_CODE_POINTS, dtype=np.uint8)
    for number, (_, blocks) in enumerate(SCRIPTS, start=1):
        for first, last in blocks:
            table[first : last + 1] = number
    return table


_EMOJI = ((0x1F1E6, 0x1F1FF), (0x1F300, 0x1F64F), (0x1F680, 0x1F6FF), (0x1F7E0, 0x1F7EB), (0x1F90C, 0x1FAFF))
_OLDER_EMOJI = frozenset(
    "⌚⌛⏩⏪⏫⏬⏰⏳☀☁☂☃☎☔☕☹☺♥♿⚓⚡⚪⚫⚽⚾⛄⛅⛔⛪⛲⛳⛵⛺⛽✂✅✈✉✊✋✌✍✨❄❌❎❓❔❕❗❤➕➖➗➰➿⬛⬜⭐⭕🀄🃏"
)
"""Pictograms that are older than emoji; arrows, stars and ticks used as bullets are not included."""


def _is_emoji(character: str) -> bool:
    if unicodedata.category(character) != "So":  # a skin tone is not one by itself
        return False
    return character in _OLDER_EMOJI or any(first <= ord(character) <= last for first, last in _EMOJI)


@cache
def class_of(character: str) -> int:
    """Return the class of a character in tokenisation.

    >>> [class_of(character) for character in "a1_ हि東ไ한🍕"]
    [1, 1, 0, 0, 1, 1, 2, 4, 3, 5]
    """
    if unicodedata.category(character)[0] not in "LMN":
        return EMOJI if _is_emoji(character) else SEPARATOR
    script = SCRIPT_NAMES[script_table()[ord(character)]]
    return _CLASS_OF_SCRIPT.get(script, WORD)
