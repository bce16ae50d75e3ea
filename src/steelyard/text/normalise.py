"""One written form for what readers take as one: NFKC, case folding, invisible joiners."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

INVISIBLE = dict.fromkeys(
    [0x00AD, 0x0640, 0x200B, 0x200D, 0x2060, 0xFEFF, *range(0xFE00, 0xFE10), *range(0x200E, 0x2010)]
)
"""Characters that change no word: soft hyphen, tatweel, zero-width space, joiner, direction and variation marks."""

# Persian writes the zero-width non-joiner between a stem and its suffixes; Indian scripts write it inside a letter.
NON_JOINER = "\u200c"
_ARABIC_FIRST, _ARABIC_LAST = "\u0600", "\u06ff"


def normalise(text: str, *, fold_case: bool = True) -> str:
    """The text in NFKC without invisible characters, lower case for comparison unless told otherwise.

    >>> normalise("Ｆｕｌｌ ｗｉｄｔｈ, STRASSE, Straße, ﬁn")
    'full width, strasse, strasse, fin'
    """
    if text.isascii():
        return text.lower() if fold_case else text
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    if fold_case:
        text = text.casefold()
        # Folding can undo the composition (İ becomes i and a dot above).
        if not unicodedata.is_normalized("NFKC", text):
            text = unicodedata.normalize("NFKC", text)
    if NON_JOINER in text:
        text = _resolve_non_joiners(text)
    return text.translate(INVISIBLE) if any(map(text.__contains__, _INVISIBLE_CHARACTERS)) else text


_INVISIBLE_CHARACTERS = tuple(map(chr, INVISIBLE))


def _resolve_non_joiners(text: str) -> str:
    """A space where Arabic script uses the non-joiner to part a word; nothing where it only shapes a letter."""
    pieces = text.split(NON_JOINER)
    out = [pieces[0]]
    for previous, piece in pairwise(pieces):
        arabic = previous[-1:] and _ARABIC_FIRST <= previous[-1] <= _ARABIC_LAST
        out.append(f" {piece}" if arabic else piece)
    return "".join(out)
