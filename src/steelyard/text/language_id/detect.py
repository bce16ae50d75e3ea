"""Which language each text is written in: its script first, then its function words and its letters.

No model and no random choice: the same text is given the same language on every machine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from steelyard.text.arrays import flat_nonzero, text_chunks
from steelyard.text.characters import SCRIPT_NAMES, UInt8, script_table
from steelyard.text.function_words import FUNCTION_WORDS
from steelyard.text.language_id import trigrams
from steelyard.text.tokenizer.spans import Grams, code_points, find_tokens
from steelyard.text.tokenizer.tokens import Tokens
from steelyard.types import Float64, Int64

UNDECIDED = "und"
"""The code of a text that shows no language: numbers, names, a single unknown word."""

_BY_SCRIPT = {
    "greek": ("el",),
    "armenian": ("hy",),
    "hebrew": ("he", "yi"),
    "arabic": ("ar", "fa", "ur", "ps", "ckb"),
    "syriac": ("syr",),
    "thaana": ("dv",),
    "devanagari": ("hi", "mr", "ne"),
    "bengali": ("bn",),
    "gurmukhi": ("pa",),
    "gujarati": ("gu",),
    "oriya": ("or",),
    "tamil": ("ta",),
    "telugu": ("te",),
    "kannada": ("kn",),
    "malayalam": ("ml",),
    "sinhala": ("si",),
    "thai": ("th",),
    "lao": ("lo",),
    "tibetan": ("bo",),
    "burmese": ("my",),
    "georgian": ("ka",),
    "hangul": ("ko",),
    "ethiopic": ("am",),
    "khmer": ("km",),
    "mongolian": ("mn",),
    "kana": ("ja",),
    "han": ("zh",),
    "cyrillic": ("ru", "uk", "be", "bg", "mk", "sr", "kk", "mn"),
}
_LATIN = tuple(code for code in FUNCTION_WORDS if not any(code in codes for codes in _BY_SCRIPT.values()))
LANGUAGES_OF = {**_BY_SCRIPT, "latin": _LATIN}
"""The languages that we tell apart in each script; the first is taken where nothing speaks for another."""

_LETTERS = {
    "de": "ß", "es": "ñ", "pt": "ãõ", "fr": "œêùû", "it": "ò", "hu": "őű", "pl": "łąężśńź", "cs": "řěů", "sk": "ľĺŕ",
    "ro": "șțăţ", "tr": "ğış", "az": "ə", "et": "õ", "sv": "äö", "fi": "äö", "no": "øåæ", "da": "øåæ", "is": "ðþ",
    "lv": "ģķļņāēī", "lt": "ėųįū", "vi": "ơưđạảấầậắặẹẻếềểệỉịọỏốồổộớờởợụủứừửữựỳỷỹ", "sq": "ë", "cy": "ŵŷ",
    "eo": "ĉĝĥĵŝŭ", "ca": "ŀ", "hr": "đć", "yo": "ẹọṣ", "ha": "ɗɓƙ",
    "uk": "їєґ", "be": "ў", "ru": "ыэё", "bg": "ъ", "sr": "ћђ", "mk": "ѓќѕ", "kk": "әғқңһұ", "mn": "өү",
    "fa": "پچژگ", "ur": "ٹڈڑےںھ", "ps": "ښړټڼځڅۍ", "ckb": "ڵۆێ", "ar": "ةىأإ", "mr": "ळ", "yi": "װױײ",
}  # fmt: skip
"""Letters that speak for a language among those of its script."""

_PORTION = 1 << 21
"""Characters looked at together: memory is some fifty times as much."""
_LETTER_WEIGHT = 0.5
_SCRIPT_WEIGHT = 0.2
"""What the script alone says for each of its languages, against one function word for each word of the text."""

LATIN_DISCOUNT = 4.0
"""Latin letters stand for names in texts of every script: against others, so many count as one."""
_LEAST = 0.75
"""Evidence below this is none: three fourths of a word that only one language has."""
_KANA_DUE = 6
"""Han letters after which a Japanese text would have shown a kana."""

_PLENTY = 3.0
"""A lead of so many function words over the second language needs no second look."""
_WORD_NATS = 12.0
"""What a function word that only one language has says for it, in nats, the measure of trigrams."""
_COMMON = {
    "en": 6.0,
    **dict.fromkeys(("de", "fr", "es", "ru", "ar", "hi"), 4.0),
    **dict.fromkeys(("it", "pt", "nl", "pl", "cs", "sv", "da", "no", "fi", "tr", "id", "vi", "uk", "fa"), 2.0),
}
"""What speaks for the languages that most corpora are in, against neighbours (Galician, Afrikaans), in nats."""
_SURE = 4.0
"""The lead, in nats, that shows a language where no function word did."""
_FIT = 2.0
"""What trigrams say for the language of a text, in nats a letter, at least; made-up words reach 1.6, most texts 2.7."""
_CERTAIN = 12.0
"""The lead that is certain enough to tell people."""
_MOSTLY = 0.5
"""The share of its letters that makes a text one of the script."""


@cache
def _codes() -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for codes in LANGUAGES_OF.values() for code in codes))


@cache
def _word_weights() -> dict[str, list[tuple[int, float]]]:
    """For each function word, the languages it speaks for; the more share it, the less it says."""
    sharing: dict[str, list[int]] = {}
    for number, code in enumerate(_codes()):
        for word in FUNCTION_WORDS.get(code, ()):
            sharing.setdefault(word, []).append(number)
    return {word: [(number, 1 / len(numbers)) for number in numbers] for word, numbers in sharing.items()}


@cache
def _letter_weights() -> dict[str, list[tuple[int, float]]]:
    sharing: dict[str, list[int]] = {}
    for code, letters in _LETTERS.items():
        for letter in letters:
            sharing.setdefault(letter, []).append(_codes().index(code))
    return {letter: [(n, _LETTER_WEIGHT / len(numbers)) for n in numbers] for letter, numbers in sharing.items()}


def detect(texts: Sequence[str], among: Collection[str] = ()) -> list[str]:
    """The language of each text, `und` where nothing shows; `among` limits the choice to some languages.

    >>> detect(["Where does the river rise?", "Wo entspringt der Fluss?", "この川はどこ", "这条河", "1234"])
    ['en', 'de', 'ja', 'zh', 'und']
    >>> detect(["Wo entspringt der Fluss?"], among=["en", "zh"])
    ['en']
    """
    return [code for start, stop in text_chunks(texts, _PORTION) for code in _detected(texts[start:stop], among)]


def _detected(texts: Sequence[str], among: Collection[str]) -> list[str]:
    codes = _codes()
    evidence, words, tokens = _evidence(texts)
    scripts = _shares(_script_counts(texts))
    prior = np.zeros((len(SCRIPT_NAMES), len(codes)))
    for number, name in enumerate(SCRIPT_NAMES):
        allowed = [code for code in LANGUAGES_OF.get(name, ()) if not among or code in among]
        for rank, code in enumerate(allowed):
            # Latin letters stand in texts of every script and prove nothing, unless only one language is possible.
            proof = _SCRIPT_WEIGHT if name != "latin" or len(allowed) == 1 else 0.0
            prior[number, codes.index(code)] = proof + 1e-9 / (rank + 1)
    shares = scripts @ prior
    possible = scripts @ (prior > 0)
    score = evidence * possible + shares
    best = score.argmax(axis=1)
    found = score[np.arange(len(texts)), best] > 1e-6
    # Few function words may speak too soon; the script stays as it was told.
    for script, columns in _shared_scripts(among):
        written = np.where(found, np.isin(best, columns), scripts[:, script] > _MOSTLY)
        rows, letters, lead = _look_again(tokens, evidence * words[:, None], written, columns)
        sure = lead >= _SURE * trigrams.UNIT
        best[rows] = np.where(sure | found[rows], letters, best[rows])
        found[rows[sure]] = True
    return [codes[number] if ok else UNDECIDED for number, ok in zip(best.tolist(), found.tolist(), strict=True)]


def detect_certain(texts: Sequence[str], among: Collection[str] = ()) -> list[str]:
    """The language of each text, `und` where it is not certain: for what is said to people, not for a search.

    Stricter than `detect`: a script that several of the languages share decides nothing by itself, and Latin letters
    in a text of another script are taken for names.

    >>> detect_certain(["река", "река їх", "川", "Thor", "雷神索尔 Thor 的锤子"], among=["ru", "uk", "ja", "zh", "en", "de"])
    ['und', 'uk', 'und', 'und', 'zh']
    >>> detect_certain(["река", "川", "Thor"], among=["ru", "zh", "en"])
    ['ru', 'zh', 'en']
    """
    return [code for start, stop in text_chunks(texts, _PORTION) for code in _told(texts[start:stop], among)]


def _told(texts: Sequence[str], among: Collection[str]) -> list[str]:
    codes = _codes()
    counts = _script_counts(texts)
    evidence, words, tokens = _evidence(texts)
    spoken = evidence * words[:, None]
    # A word that many languages have, alone in a text, proves none of them.
    evidence[evidence * words[:, None] < _LEAST] = 0.0
    counts[:, SCRIPT_NAMES.index("latin")] /= LATIN_DISCOUNT
    shares = _shares(counts)
    written = candidates(among)
    possible = np.array([[code in written.get(name, ()) for code in codes] for name in SCRIPT_NAMES], dtype=np.float64)
    weighed = evidence * (shares @ possible)
    only = np.array([len(written.get(name, ())) == 1 for name in SCRIPT_NAMES])
    weighed += (shares * only) @ possible * _SCRIPT_WEIGHT
    han = SCRIPT_NAMES.index("han")
    if "zh" in written["han"]:
        weighed[counts[:, han] >= _KANA_DUE, codes.index("zh")] += _SCRIPT_WEIGHT
    order = np.sort(weighed, axis=1)
    best = weighed.argmax(axis=1)
    # As much evidence for a second language is none for the first.
    sure = (order[:, -1] > 1e-6) & (order[:, -1] > order[:, -2] + 1e-9)
    for script, columns in _shared_scripts(among):
        there = np.where(sure, np.isin(best, columns), shares[:, script] > _MOSTLY)
        rows, letters, lead = _look_again(tokens, spoken, there, columns)
        certain = lead >= _CERTAIN * trigrams.UNIT
        sure[rows] = certain | sure[rows] & (letters == best[rows])
        best[rows] = letters
    return [codes[number] if ok else UNDECIDED for number, ok in zip(best.tolist(), sure.tolist(), strict=True)]


@cache
def _candidates(among: frozenset[str]) -> dict[str, tuple[str, ...]]:
    found = {
        script: tuple(code for code in codes if not among or code in among) for script, codes in LANGUAGES_OF.items()
    }
    if not among or "ja" in among:
        found["han"] = (*found["han"], "ja")
    return found


def candidates(among: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """The languages that a text in each script may be in. Han alone may be Japanese, where that is possible.

    >>> candidates(["ru", "uk", "ja", "zh"])["han"], candidates(["ru", "uk", "ja"])["cyrillic"]
    (('zh', 'ja'), ('ru', 'uk'))
    """
    return _candidates(frozenset(among))


def _evidence(texts: Sequence[str]) -> tuple[Float64, Int64, Tokens]:
    """For each text and language, what function words and letters say for it, per word; the number of words; all."""
    tokens = Tokens.of_spans(find_tokens(texts, Grams()))
    words, letters = _word_weights(), _letter_weights()
    speaks = [
        words.get(word, [])
        + ([] if word.isascii() else [pair for letter in word if letter in letters for pair in letters[letter]])
        for word in tokens.distinct
    ]
    counts = np.array([len(pairs) for pairs in speaks], dtype=np.int64)
    flat = np.array([pair for pairs in speaks for pair in pairs], dtype=np.float64).reshape(-1, 2)
    before = np.cumsum(counts) - counts
    repeats = counts[tokens.numbers] if len(tokens.numbers) else np.zeros(0, dtype=np.int64)
    at = np.arange(repeats.sum()) + np.repeat(before[tokens.numbers] - (np.cumsum(repeats) - repeats), repeats)
    cells = np.repeat(tokens.owners.astype(np.int64), repeats) * len(_codes()) + flat[at, 0].astype(np.int64)
    sums = np.bincount(cells, flat[at, 1], minlength=len(texts) * len(_codes())).reshape(len(texts), -1)
    lengths = np.bincount(tokens.owners, minlength=len(texts))
    return np.asarray(sums / np.maximum(lengths, 1)[:, None]), lengths, tokens


Bools = npt.NDArray[np.bool_]


def _look_again(tokens: Tokens, spoken: Float64, written: Bools, columns: Int64) -> tuple[Int64, Int64, Int64]:
    """The texts among those `written` in a script that few function words tell, and what trigrams say of them.

    `columns` are the languages of the script that are possible, and `spoken` is what function words said for all.
    Given are places of texts, for each the column that most speaks for, and its lead over the next, in units; no lead
    where the letters are like those of no language.
    """
    first = np.sort(spoken[:, columns], axis=1)
    rows = flat_nonzero(written & (first[:, -1] - first[:, -2] < _PLENTY))
    codes = [_codes()[column] for column in columns.tolist()]
    told, letters = trigrams.score_first_words(tokens, rows, codes)
    fits = told.max(axis=1) >= _FIT * trigrams.UNIT * letters
    nats = spoken[np.ix_(rows, columns)] * _WORD_NATS + np.array([_COMMON.get(code, 0.0) for code in codes])
    told += np.rint(nats * trigrams.UNIT).astype(np.int64)
    order = np.sort(told, axis=1)
    return rows, columns[told.argmax(axis=1)], np.where(fits, order[:, -1] - order[:, -2], 0)


def _shared_scripts(among: Collection[str]) -> Iterator[tuple[int, Int64]]:
    """The scripts that several of the languages are written in, with the columns of these."""
    for name in trigrams.SCRIPTS:
        columns = [_codes().index(code) for code in LANGUAGES_OF[name] if not among or code in among]
        if len(columns) > 1:
            yield SCRIPT_NAMES.index(name), np.array(columns)


def _shares(counts: Float64) -> Float64:
    return np.asarray(counts / np.maximum(counts.sum(axis=1), 1e-9)[:, None])


def _script_counts(texts: Sequence[str]) -> Float64:
    """For each text, its letters in each script; one kana among twenty Han letters makes the text Japanese."""
    points, owners = code_points(texts)
    scripts = script_table()[points]
    counts = _histogram(owners, scripts, len(texts))
    kana, han = SCRIPT_NAMES.index("kana"), SCRIPT_NAMES.index("han")
    japanese = counts[:, kana] * 20 > counts[:, han]
    counts[japanese, kana] += counts[japanese, han]
    counts[japanese, han] = 0
    counts[:, 0] = 0
    return counts


def _histogram(owners: Int64, scripts: UInt8, texts: int) -> Float64:
    width = len(SCRIPT_NAMES)
    return np.bincount(owners * width + scripts, minlength=texts * width).reshape(texts, width).astype(np.float64)
