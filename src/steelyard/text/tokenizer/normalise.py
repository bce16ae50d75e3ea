"""Text normalisation: NFKC, case folding, invisible characters, digits of every script."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

INVISIBLE = dict.fromkeys(
    [
        *(0x00AD, 0x0640, 0x200B, 0x200D, 0x2060, 0xFEFF, *range(0xFE00, 0xFE10), *range(0x200E, 0x2010)),
        *(0x055B, 0x055C, 0x055E),
    ]
)
"""Characters that do not change a word: soft hyphen, tatweel, zero-width space, joiner, direction and variation marks,
and the Armenian signs for stress, exclamation and question inside a word."""

ZEROS = (
    *(0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6),
    *(0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810),
)
"""The zero of each script with its own digits, which the other nine follow: ٢٠٢٠ and २०२० are the year 2020."""
_REPLACED = INVISIBLE | {zero + digit: str(digit) for zero in ZEROS for digit in range(10)}
_TO_REPLACE = re.compile(f"[{re.escape(''.join(map(chr, _REPLACED)))}]")

# Persian writes the zero-width non-joiner between a stem and its suffixes; Indian scripts write it inside a letter.
NON_JOINER = "\u200c"
_ARABIC_FIRST, _ARABIC_LAST = "\u0600", "\u06ff"


def normalise(text: str, *, fold_case: bool = True) -> str:
    """Return the text in NFKC without invisible characters, case-folded unless `fold_case` is false.

    >>> normalise("Ｆｕｌｌ ｗｉｄｔｈ, STRASSE, Straße, ﬁn, İzmir, ٢٠٢٠")
    'full width, strasse, strasse, fin, izmir, 2020'
    """
    if text.isascii():
        return text.lower() if fold_case else text
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    if fold_case:
        text = text.replace("İ", "i").casefold()
        # Folding can undo the composition (ǰ becomes j and a caron).
        if not unicodedata.is_normalized("NFKC", text):
            text = unicodedata.normalize("NFKC", text)
    if NON_JOINER in text:
        text = _resolve_non_joiners(text)
    return text.translate(_REPLACED) if _TO_REPLACE.search(text) else text


def _resolve_non_joiners(text: str) -> str:
    """Replace the non-joiner by a space where Arabic script separates parts of a word; remove it elsewhere."""
    pieces = text.split(NON_JOINER)
    out = [pieces[0]]
    for previous, piece in pairwise(pieces):
        arabic = previous[-1:] and _ARABIC_FIRST <= previous[-1] <= _ARABIC_LAST
        out.append(f" {piece}" if arabic else piece)
    return "".join(out)
