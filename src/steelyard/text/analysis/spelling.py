"""One spelling for words that a language writes in several ways: equivalent letters by language.

Letters that are always equivalent are in the table of `fold`, at no extra cost; changes that depend on neighbours are
made in arrays (`sequences`) or, in a few languages, in the original text. What Lucene's normaliser of a language merges
is merged here if it is the same word, not one that sounds alike: Lucene also shortens the long vowels of Hindi, which
distinguish words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from steelyard.text.arrays import flat_nonzero
from steelyard.text.characters import SCRIPT_NAMES, UInt32, script_table
from steelyard.text.tokenizer.normalise import NON_JOINER
from steelyard.types import Int64

Sequences = Callable[[UInt32], tuple[Int64, UInt32, Int64]]
"""From characters to the positions of some, their replacements, and the positions of removed ones."""


@dataclass(frozen=True, eq=False)
class Spelling:
    """The spelling rules of a language."""

    letters: Callable[[str], str] = str
    """The replacement of a character in its normal form; ASCII is not changed."""
    sequences: Sequences | None = None
    """Replacements that depend on neighbours, applied after `letters`."""
    typed: Callable[[str], str] | None = None
    """A replacement in the original text, applied first."""


PLAIN = Spelling()


def _letters(*pairs: str, dropped: str = "") -> Callable[[str], str]:
    """Return a replacement: each pair is characters, a space, and as many replacements; `dropped` ones are removed."""
    table = str.maketrans(
        "".join(pair.split()[0] for pair in pairs), "".join(pair.split()[1] for pair in pairs), dropped
    )
    return lambda text: text.translate(table)


# --- Latin letters ---------------------------------------------------------------------------------------------------

_LIGATURES = str.maketrans({"æ": "ae", "œ": "oe"})
_STROKES = _LIGATURES | str.maketrans("øłđðıħŧŋ", "olddihtn") | {ord("þ"): "th"}
_LATIN = SCRIPT_NAMES.index("latin")


def _unaccented(text: str) -> str:
    """Remove accents from Latin letters: English writes café and cafe, naïve and naive, Dvořák and Dvorak."""
    return "".join(map(_base, text)).translate(_STROKES)


def _base(character: str) -> str:
    if "\u0300" <= character <= "\u036f":
        return ""
    return unicodedata.normalize("NFD", character)[0] if script_table()[ord(character)] == _LATIN else character


_TONES = ("àáảãạ", "èéẻẽẹ", "ỳýỷỹỵ"), ("òóỏõọ", "òóỏõọ", "ùúủũụ")
"""Vietnamese vowels whose tone may be on the vowel before them, and that vowel with the tone: hoà is hòa."""


@cache
def _tone_table() -> tuple[UInt32, UInt32, UInt32]:
    """Return, by vowel with a tone: the vowel before it that takes the tone, that vowel with it, the vowel without."""
    size = max(map(ord, "".join(_TONES[0]))) + 2
    before, toned, bare = (np.zeros(size, dtype=np.uint32) for _ in range(3))
    for seconds, firsts, vowel, letter in zip(*_TONES, "oou", "aey", strict=True):
        places = list(map(ord, seconds))
        before[places], toned[places], bare[places] = ord(vowel), list(map(ord, firsts)), ord(letter)
    return before, toned, bare


def _tones(points: UInt32) -> tuple[Int64, UInt32, Int64]:
    """Move the tone of oa, oe and uy to the first vowel, as in the older spelling."""
    before, toned, bare = _tone_table()
    wanted = before.take(points[1:], mode="clip")
    first = flat_nonzero((wanted == points[:-1]) & (wanted > 0))
    second = points.take(first + 1)
    return np.concatenate((first, first + 1)), np.concatenate((toned.take(second), bare.take(second))), first[:0]


def _turkish(text: str) -> str:
    """Lower-case I as ı, and İ as i."""
    return text.replace("I\u0307", "İ").replace("İ", "i").replace("I", "ı")


_APOSTROPHE = re.compile("(?<=[^\\W\\d_])['’‘ʼʻ`′＇](?=[^\\W\\d_])")


def _without_apostrophes(text: str) -> str:
    """Remove apostrophes inside words, which are typed in several ways: п'ять, oʻzbek."""
    return _APOSTROPHE.sub("", text)


# --- Scripts of India ------------------------------------------------------------------------------------------------

_VIRAMA, ANUSVARA = 0x94D, "\u0902"
_STOPS = {"ङ": "कखगघ", "ञ": "चछजझ", "ण": "टठडढ", "न": "तथदध", "म": "पफबभ"}
DEAD_N = "न्"


@cache
def _nasal_table() -> UInt32:
    """Return, by a consonant's offset in its block, its nasal; one more entry for all other scripts."""
    table = np.zeros(129, dtype=np.uint32)
    for nasal, stops in _STOPS.items():
        table[[ord(stop) - 0x900 for stop in stops]] = ord(nasal)
    return table


def _nasals(points: UInt32) -> tuple[Int64, UInt32, Int64]:
    """Write an anusvara for a nasal that joins the next consonant of the same place: हिन्दी is हिंदी."""
    viramas = flat_nonzero(points[:-1] == _VIRAMA)
    nasal = _nasal_table().take(points.take(viramas + 1) - np.uint32(0x900), mode="clip")
    joined = viramas[(nasal > 0) & (nasal == points.take(viramas - 1))]
    return joined - 1, np.full(len(joined), ord(ANUSVARA), dtype=np.uint32), joined


_CHILLUS = {
    **{f"{consonant}്\u200d": chillu for consonant, chillu in zip("ണനരലളക", "ൺൻർൽൾൿ", strict=True)},
    "ൻ്റ": "ന്റ",
}


def _malayalam(text: str) -> str:
    """Write a chillu letter as one character instead of consonant, virama and joiner."""
    for written, one in _CHILLUS.items():
        text = text.replace(written, one)
    return text


def _bengali(text: str) -> str:
    return text.replace("ত্\u200d", "ৎ")


# --- Arabic script ---------------------------------------------------------------------------------------------------

_POINTS = "".join(map(chr, (*range(0x64B, 0x653), 0x670)))
_HEBREW_POINTS = "".join(map(chr, (*range(0x591, 0x5BE), 0x5BF, 0x5C1, 0x5C2, 0x5C4, 0x5C5, 0x5C7)))
"""Optional vowel points; the stemmers of Arabic and Yiddish remove theirs."""
_HAMZA_ABOVE = "\u0654"
_KEYBOARD = "كيى کیی"
"""Letters of Arabic keyboards that look like those of other languages in the script."""

_SORANI_E = re.compile(f"ه(?:{NON_JOINER}|(?![\\w{_POINTS}]))")
_SORANI_RR = re.compile(f"(?<![\\w{_POINTS}{NON_JOINER}])ر")


def _sorani(text: str) -> str:
    """Write a final or non-joining heh as the vowel e, and an initial r as the rolled r."""
    return _SORANI_RR.sub("ڕ", _SORANI_E.sub("ە", text)).replace(NON_JOINER, "")


# --- Languages -------------------------------------------------------------------------------------------------------

_STRESS = "\u0301"
"""A stress mark, used in textbooks and encyclopedias only: за́мок."""

_ENGLISH = Spelling(_unaccented)
_STRESSED, _DEVANAGARI = _letters(dropped=_STRESS), _letters("ँऩऱऴ ंनरळ", dropped="\u093c")
_SPELLINGS: dict[str, Spelling] = {
    # In these, Latin words are English ones.
    "en zh ja ko th lo km my": _ENGLISH,
    # æ is a letter of its own in Danish, Norwegian, Icelandic and Faroese.
    "af br ca cy de es eu fr ga gl it la lb nl oc pt": Spelling(lambda text: text.translate(_LIGATURES)),
    "ro": Spelling(_letters("şţ șț")),
    "vi": Spelling(_letters("ð đ"), _tones),
    "tr az": Spelling(typed=_turkish),
    "uz": Spelling(typed=_without_apostrophes),
    "ru": Spelling(_letters("ё е", dropped=_STRESS)),
    "bg mk sr": Spelling(_STRESSED),
    "uk be": Spelling(_STRESSED, typed=_without_apostrophes),
    "hi mr ne": Spelling(_DEVANAGARI, _nasals),
    "ml": Spelling(typed=_malayalam),
    "bn as": Spelling(typed=_bengali),
    "he": Spelling(_letters(dropped=_HEBREW_POINTS)),
    "ps": Spelling(_letters(dropped=_POINTS)),
    "fa": Spelling(_letters(_KEYBOARD, "ےۀہۂ یههه", dropped=_POINTS + _HAMZA_ABOVE)),
    # ھ is not included: it distinguishes Urdu words.
    "ur": Spelling(_letters(_KEYBOARD, "هۀۂة ہہہۃ", dropped=_POINTS + _HAMZA_ABOVE)),
    "ckb": Spelling(_letters(_KEYBOARD, "ةھڒ ەهڕ", dropped=_POINTS), typed=_sorani),
}
_BY_LANGUAGE = {language: spelling for languages, spelling in _SPELLINGS.items() for language in languages.split()}


def spelling_of(language: str) -> Spelling:
    """Return the spelling rules of a language.

    >>> spelling_of("en").letters("naïve encyclopædia"), spelling_of("da").letters("æble")
    ('naive encyclopaedia', 'æble')
    """
    return _BY_LANGUAGE.get(language, PLAIN)
