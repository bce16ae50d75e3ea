"""Character clusters of South-East Asian scripts.

A cluster is a consonant with everything that belongs to it: marks above and below, vowels written before it (Thai
เ แ โ ใ ไ and the Lao equivalents) or after it (ะ า ำ), a stacked consonant (Khmer, Burmese), and a silenced letter that
follows (ร์, က်). n-grams of clusters, unlike those of characters, never separate a vowel from its consonant.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt

from steelyard.text.characters import UInt8, UInt32

Bools = npt.NDArray[np.bool_]

_BLOCKS = ((0xE00, 0x109F), (0x1780, 0x17FF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F))
_BASE, _BEFORE, _AFTER, _STACKER, _SILENCER = range(5)

_VOWELS_BEFORE = "เแโใไ" + "ເແໂໃໄ"
_VOWELS_AFTER = "ะาำๅ" + "ະາຳ"
_STACKERS = "\u1039\u17d2"
"""The next consonant is written below this one: Burmese virama, Khmer coeng."""
_SILENCERS = "\u0e4c\u0ecc\u103a\u17cd"
"""The letter is silent, or only ends the syllable: thanthakhat, its Lao and Khmer equivalents, Burmese asat."""


@cache
def _table() -> UInt8:
    """Return the function of each character in a cluster; one more entry for all characters after these scripts."""
    table = np.full(_BLOCKS[-1][1] + 2, _BASE, dtype=np.uint8)
    for first, last in _BLOCKS:
        for point in range(first, last + 1):
            if unicodedata.category(chr(point))[0] == "M":
                table[point] = _AFTER
    parts = ((_BEFORE, _VOWELS_BEFORE), (_AFTER, _VOWELS_AFTER), (_STACKER, _STACKERS), (_SILENCER, _SILENCERS))
    for part, characters in parts:
        table[list(map(ord, characters))] = part
    return table


def cluster_begins(points: UInt32) -> Bools:
    """Return whether a cluster begins at each character.

    >>> text = "โรงเรียนซูเปอร์โบว์ล"
    >>> at = [*np.flatnonzero(cluster_begins(np.array([ord(c) for c in text], dtype=np.uint32))), len(text)]
    >>> [text[a:b] for a, b in zip(at, at[1:])]
    ['โร', 'ง', 'เรี', 'ย', 'น', 'ซู', 'เป', 'อร์', 'โบว์', 'ล']
    """
    part = _table().take(points, mode="clip")
    begins: Bools = (part == _BASE) | (part == _BEFORE)
    begins[1:] &= (part[:-1] != _BEFORE) & (part[:-1] != _STACKER)
    silent = part[1:] == _SILENCER
    begins[:-1] &= ~silent
    # A vowel sign may be between the letter and the silencer: ธิ์.
    begins[:-2] &= ~(silent[1:] & (part[1:-1] == _AFTER))
    begins[:1] = True
    return begins
