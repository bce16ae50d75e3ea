"""Language identification: by script first, then by function words and letters.

There is no trained model and no random choice: a text gets the same language on every machine.
`benchmarks/studies/own_parts.py` compares it with libraries.
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
"""The code of a text without a detectable language: numbers, names, a single unknown word."""

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
"""The languages of each script; the first one is the default."""

_LETTERS = {
    "de": "ß", "es": "ñ", "pt": "ãõ", "fr": "œêùû", "it": "ò", "hu": "őű", "pl": "łąężśńź", "cs": "řěů", "sk": "ľĺŕ",
    "ro": "șțăţ", "tr": "ğış", "az": "ə", "et": "õ", "sv": "äö", "fi": "äö", "no": "øåæ", "da": "øåæ", "is": "ðþ",
    "lv": "ģķļņāēī", "lt": "ėųįū", "vi": "ơưđạảấầậắặẹẻếềểệỉịọỏốồổộớờởợụủứừửữựỳỷỹ", "sq": "ë", "cy": "ŵŷ",
    "eo": "ĉĝĥĵŝŭ", "ca": "ŀ", "hr": "đć", "yo": "ẹọṣ", "ha": "ɗɓƙ",
    "uk": "їєґ", "be": "ў", "ru": "ыэё", "bg": "ъ", "sr": "ћђ", "mk": "ѓќѕ", "kk": "әғқңһұ", "mn": "өү",
    "fa": "پچژگ", "ur": "ٹڈڑےںھ", "ps": "ښړټڼځڅۍ", "ckb": "ڵۆێ", "ar": "ةىأإ", "mr": "ळ", "yi": "װױײ",
}  # fmt: skip
"""Letters that are evidence for a language among those of its script."""

_CHUNK, _PER_TEXT = 1 << 20, 64
"""Characters processed at a time, and what a text costs beyond its characters: memory is about fifty bytes per
character, and every text has a row of scores by language."""
_LETTER_WEIGHT = 0.5
_SCRIPT_WEIGHT = 0.2
"""The evidence of the script for each of its languages, relative to one function word per word of the text."""

LATIN_DISCOUNT = 4.0
"""Latin letters occur as names in texts of every script: so many count as one letter of another script."""
_LEAST = 0.75
"""The least evidence: three fourths of a word that only one language has."""
_KANA_DUE = 6
"""The number of Han letters in which a Japanese text would contain a kana."""

_PLENTY = 3.0
"""With a lead of so many function words over the second language, trigrams are not used."""
_WORD_NATS = 12.0
"""The evidence of a function word that only one language has, in nats, the unit of trigrams."""
_COMMON = {
    "en": 6.0,
    **dict.fromkeys(("de", "fr", "es", "ru", "ar", "hi"), 4.0),
    **dict.fromkeys(("it", "pt", "nl", "pl", "cs", "sv", "da", "no", "fi", "tr", "id", "vi", "uk", "fa"), 2.0),
}
"""The prior of languages that are frequent in corpora, against similar ones (Galician, Afrikaans), in nats."""
_SURE = 4.0
"""The lead, in nats, that decides where no function word did."""
_FIT = 2.0
"""The least evidence of trigrams in nats per letter; made-up words reach 1.6, most texts 2.7."""
_CERTAIN = 12.0
"""The lead, in nats, that `detect_certain` needs."""
_NAMES_ONLY = ("zu",)
"""Languages whose trigrams were counted in CLDR's names, many of them English: they need a function word."""
_MOSTLY = 0.5
"""The share of letters that makes a text one of a script."""


@cache
def _codes() -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for codes in LANGUAGES_OF.values() for code in codes))


@cache
def _word_weights() -> dict[str, list[tuple[int, float]]]:
    """Return, for each function word, its languages; a word shared by more languages is weaker evidence."""
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
    """Return the language of each text, `und` if unknown; `among` restricts the choice.

    >>> detect(["Where does the river rise?", "Wo entspringt der Fluss?", "この川はどこ", "这条河", "1234"])
    ['en', 'de', 'ja', 'zh', 'und']
    >>> detect(["Wo entspringt der Fluss?"], among=["en", "zh"])
    ['en']
    """
    return [code for start, stop in text_chunks(texts, _CHUNK, _PER_TEXT) for code in _detect(texts[start:stop], among)]


def _detect(texts: Sequence[str], among: Collection[str]) -> list[str]:
    codes = _codes()
    evidence, words, tokens = _evidence(texts)
    scripts = _shares(_script_counts(texts))
    prior = np.zeros((len(SCRIPT_NAMES), len(codes)))
    for number, name in enumerate(SCRIPT_NAMES):
        allowed = [code for code in LANGUAGES_OF.get(name, ()) if not among or code in among]
        for rank, code in enumerate(allowed):
            # Latin letters occur in texts of every script: no evidence, unless only one language is possible.
            proof = _SCRIPT_WEIGHT if name != "latin" or len(allowed) == 1 else 0.0
            prior[number, codes.index(code)] = proof + 1e-9 / (rank + 1)
    shares = scripts @ prior
    possible = scripts @ (prior > 0)
    score = evidence * possible + shares
    best = score.argmax(axis=1)
    decided = score[np.arange(len(texts)), best] > 1e-6
    # A few function words are weak evidence: trigrams decide within the script.
    for script, columns in _shared_scripts(among):
        written = np.where(decided, np.isin(best, columns), scripts[:, script] > _MOSTLY)
        rows, letters, lead = _by_trigrams(tokens, evidence * words[:, None], written, columns)
        sure = lead >= _SURE * trigrams.UNIT
        best[rows] = np.where(sure | decided[rows], letters, best[rows])
        decided[rows[sure]] = True
    return [codes[number] if ok else UNDECIDED for number, ok in zip(best.tolist(), decided.tolist(), strict=True)]


def detect_certain(texts: Sequence[str], among: Collection[str] = ()) -> list[str]:
    """Return the language of each text, `und` if it is not certain: for reports, not for search.

    Stricter than `detect`: a script that several of the languages share is not evidence by itself, and Latin letters in
    a text of another script are taken as names.

    >>> languages = ["ru", "uk", "ja", "zh", "en", "de"]
    >>> detect_certain(["река", "река їх", "川", "Thor", "雷神索尔 Thor 的锤子"], among=languages)
    ['und', 'uk', 'und', 'und', 'zh']
    >>> detect_certain(["река", "川", "Thor"], among=["ru", "zh", "en"])
    ['ru', 'zh', 'en']
    >>> detect_certain(["South Africa: English; South African Rand"], among=["en", "zu"])
    ['und']
    """
    return [
        code
        for start, stop in text_chunks(texts, _CHUNK, _PER_TEXT)
        for code in _detect_certain(texts[start:stop], among)
    ]


def _detect_certain(texts: Sequence[str], among: Collection[str]) -> list[str]:
    codes = _codes()
    counts = _script_counts(texts)
    evidence, words, tokens = _evidence(texts)
    word_evidence = evidence * words[:, None]
    # A single word that many languages have is not evidence for one of them.
    evidence[evidence * words[:, None] < _LEAST] = 0.0
    counts[:, SCRIPT_NAMES.index("latin")] /= LATIN_DISCOUNT
    shares = _shares(counts)
    written = candidates(among)
    possible = np.array([[code in written.get(name, ()) for code in codes] for name in SCRIPT_NAMES], dtype=np.float64)
    scores = evidence * (shares @ possible)
    only = np.array([len(written.get(name, ())) == 1 for name in SCRIPT_NAMES])
    scores += (shares * only) @ possible * _SCRIPT_WEIGHT
    han = SCRIPT_NAMES.index("han")
    if "zh" in written["han"]:
        scores[counts[:, han] >= _KANA_DUE, codes.index("zh")] += _SCRIPT_WEIGHT
    order = np.sort(scores, axis=1)
    best = scores.argmax(axis=1)
    # Equal evidence for a second language is not evidence for the first.
    sure = (order[:, -1] > 1e-6) & (order[:, -1] > order[:, -2] + 1e-9)
    for script, columns in _shared_scripts(among):
        in_script = np.where(sure, np.isin(best, columns), shares[:, script] > _MOSTLY)
        rows, letters, lead = _by_trigrams(tokens, word_evidence, in_script, columns)
        certain = lead >= _CERTAIN * trigrams.UNIT
        sure[rows] = certain | sure[rows] & (letters == best[rows])
        best[rows] = letters
    for code in _NAMES_ONLY:
        sure &= (best != codes.index(code)) | (word_evidence[:, codes.index(code)] >= _LEAST)
    return [codes[number] if ok else UNDECIDED for number, ok in zip(best.tolist(), sure.tolist(), strict=True)]


@cache
def _candidates(among: frozenset[str]) -> dict[str, tuple[str, ...]]:
    by_script = {
        script: tuple(code for code in codes if not among or code in among) for script, codes in LANGUAGES_OF.items()
    }
    if not among or "ja" in among:
        by_script["han"] = (*by_script["han"], "ja")
    return by_script


def candidates(among: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Return the possible languages of each script. A text in Han only may be Japanese.

    >>> candidates(["ru", "uk", "ja", "zh"])["han"], candidates(["ru", "uk", "ja"])["cyrillic"]
    (('zh', 'ja'), ('ru', 'uk'))
    """
    return _candidates(frozenset(among))


def _evidence(texts: Sequence[str]) -> tuple[Float64, Int64, Tokens]:
    """Return the evidence of function words and letters per word for each text and language; word counts; tokens."""
    tokens = Tokens.of_spans(find_tokens(texts, Grams()))
    words, letters = _word_weights(), _letter_weights()
    evidence_of = [
        words.get(word, [])
        + ([] if word.isascii() else [pair for letter in word if letter in letters for pair in letters[letter]])
        for word in tokens.distinct
    ]
    counts = np.array([len(pairs) for pairs in evidence_of], dtype=np.int64)
    flat = np.array([pair for pairs in evidence_of for pair in pairs], dtype=np.float64).reshape(-1, 2)
    before = np.cumsum(counts) - counts
    repeats = counts[tokens.numbers] if len(tokens.numbers) else np.zeros(0, dtype=np.int64)
    at = np.arange(repeats.sum()) + np.repeat(before[tokens.numbers] - (np.cumsum(repeats) - repeats), repeats)
    cells = np.repeat(tokens.owners.astype(np.int64), repeats) * len(_codes()) + flat[at, 0].astype(np.int64)
    sums = np.bincount(cells, flat[at, 1], minlength=len(texts) * len(_codes())).reshape(len(texts), -1)
    lengths = np.bincount(tokens.owners, minlength=len(texts))
    return np.asarray(sums / np.maximum(lengths, 1)[:, None]), lengths, tokens


Bools = npt.NDArray[np.bool_]


def _by_trigrams(tokens: Tokens, word_evidence: Float64, written: Bools, columns: Int64) -> tuple[Int64, Int64, Int64]:
    """Identify texts of a script with little evidence from function words by their trigrams.

    `written` are the texts of the script, `columns` its possible languages, and `word_evidence` that of function words.
    Returns rows of texts, the best column of each, and its lead over the next in units; 0 if the letters do not fit any
    language.
    """
    first = np.sort(word_evidence[:, columns], axis=1)
    rows = flat_nonzero(written & (first[:, -1] - first[:, -2] < _PLENTY))
    codes = [_codes()[column] for column in columns.tolist()]
    scores, letters = trigrams.score_first_words(tokens, rows, codes)
    fits = scores.max(axis=1) >= _FIT * trigrams.UNIT * letters
    nats = word_evidence[np.ix_(rows, columns)] * _WORD_NATS + np.array([_COMMON.get(code, 0.0) for code in codes])
    scores += np.rint(nats * trigrams.UNIT).astype(np.int64)
    order = np.sort(scores, axis=1)
    return rows, columns[scores.argmax(axis=1)], np.where(fits, order[:, -1] - order[:, -2], 0)


def _shared_scripts(among: Collection[str]) -> Iterator[tuple[int, Int64]]:
    """Yield the scripts that several of the languages share, with the columns of these."""
    for name in trigrams.SCRIPTS:
        columns = [_codes().index(code) for code in LANGUAGES_OF[name] if not among or code in among]
        if len(columns) > 1:
            yield SCRIPT_NAMES.index(name), np.array(columns)


def _shares(counts: Float64) -> Float64:
    return np.asarray(counts / np.maximum(counts.sum(axis=1), 1e-9)[:, None])


def _script_counts(texts: Sequence[str]) -> Float64:
    """Return the letters of each text by script; one kana among twenty Han letters makes the text Japanese."""
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
