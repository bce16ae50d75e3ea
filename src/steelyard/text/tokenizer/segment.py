"""Real word segmentation by packages of the extra `[cjk]`, and the tokenizers of HAKARI-Bench.

Both are used only when asked for: the default analysers score at least as well, and a figure must not depend on
which packages happen to be installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from steelyard.errors import MissingPart
from steelyard.text.analysis.analyser import Analyser, stem
from steelyard.text.characters import EMOJI, class_of
from steelyard.text.languages import STEMMERS
from steelyard.text.tokenizer.normalise import normalise
from steelyard.text.tokenizer.spans import UInt64
from steelyard.text.tokenizer.tokens import Tokens, Words
from steelyard.types import Int64

WordSplitter = Callable[[str], Sequence[str]]

SEGMENTERS = {"zh": "rjieba", "ja": "fugashi", "th": "pythainlp.tokenize"}
"""The module that segments each language, of the extra `[cjk]`."""

OPTIONAL_SEGMENTERS = {"ko": "kiwipiepy", "vi": "pyvi.ViTokenizer"}
"""Modules that no extra brings (a licence or the weight forbids it) and that are used where they are installed."""

_HAKARI_STEMMED = frozenset({"ar", "de", "es", "fi", "fr", "hi", "id", "ru"})
_HAKARI_STOP_WORDS = frozenset(
    {"a", "am", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does", "for"}
    | {"from", "had", "has", "have", "he", "her", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its"}
    | {"may", "me", "my", "no", "not", "of", "on", "or", "our", "she", "should", "so", "such", "than", "that", "the"}
    | {"their", "them", "then", "there", "these", "they", "this", "those", "to", "us", "was", "we", "were", "what"}
    | {"when", "where", "which", "who", "whom", "why", "will", "with", "would", "you", "your"}
)
"""Lucene's English stop words, pronouns, auxiliary and question words; HAKARI-Bench's own list was not seen."""
_WORD = re.compile(r"\b\w+\b")
_PLAIN_WORD = re.compile(r"[a-z0-9]+")
_ALNUM = re.compile(r"\w")


def _says_something(word: str) -> bool:
    """Whether a piece that a segmenter cut is more than punctuation: as by default, an emoji is."""
    return _ALNUM.search(word) is not None or any(class_of(character) == EMOJI for character in word)


def _load(module: str, extra: str = "cjk") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPart.extra(_package_of(module), extra) from error


def segmenter(language: str) -> str | None:
    """The module that would segment the language here; None where there is none."""
    guest = OPTIONAL_SEGMENTERS.get(language)
    if guest is not None and importlib.util.find_spec(_package_of(guest)) is None:
        return None
    return SEGMENTERS.get(language, guest)


def _package_of(module: str) -> str:
    return module.partition(".")[0]


@cache
def word_splitter(language: str) -> WordSplitter:
    """The function that cuts a text of the language into words."""
    if language in OPTIONAL_SEGMENTERS:
        module = _guest(OPTIONAL_SEGMENTERS[language])
        if language == "vi":
            return lambda text: module.tokenize(text).split()
        kiwi = module.Kiwi()
        return lambda text: [token.form for token in kiwi.tokenize(text)]
    module = _load(SEGMENTERS[language])
    if language == "zh":
        return lambda text: list(module.cut(text))
    if language == "ja":
        tagger = module.Tagger()
        return lambda text: [word.surface for word in tagger(text)]
    return lambda text: list(module.word_tokenize(text, engine="newmm"))


class _CutByOthers:
    """What analysers have in common whose words other packages cut."""

    stems = False

    def words(self, texts: Sequence[str]) -> Words | None:
        """None: words are cut by others."""
        return None

    def stem(self, words: Words, chosen: Int64) -> UInt64:
        """The words."""
        return words.keys[chosen]

    def query_words(self, texts: Sequence[str]) -> Words | None:
        """None: words are cut by others."""
        return None


@dataclass(frozen=True)
class Segmenter(_CutByOthers):
    """Words as a segmenter cuts them, normalised first; punctuation is left out.

    A language that no segmenter is known for is analysed as usual, and `str` says so.
    """

    language: str

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """The words of each text."""
        if segmenter(self.language) is None:
            return Analyser(self.language).tokens(texts)
        cut = word_splitter(self.language)
        return Tokens.of_lists([list(filter(_says_something, cut(normalise(text)))) for text in texts])

    def query_tokens(self, texts: Sequence[str]) -> Tokens:
        """The words of each query."""
        return self.tokens(texts) if segmenter(self.language) else Analyser(self.language).query_tokens(texts)

    def __str__(self) -> str:
        module = segmenter(self.language)
        return f"segmented by {_package_of(module)}" if module else f"{Analyser(self.language)} (no segmenter)"


@dataclass(frozen=True)
class HakariTokenizer(_CutByOthers):
    """The tokenizer that HAKARI-Bench uses for the language, with its faults.

    >>> HakariTokenizer("en").tokens(["The Cats' café"]).lists(1)
    [['cat', 'caf']]
    """

    language: str

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text."""
        language = self.language
        if language == "en":
            found = Tokens.of_lists([_PLAIN_WORD.findall(text.lower()) for text in texts])
            stems = stem("porter", found.distinct)
            pairs = zip(found.distinct, stems, strict=True)
            return found.map(["" if word in _HAKARI_STOP_WORDS else stemmed for word, stemmed in pairs])
        if language in SEGMENTERS:
            return Tokens.of_lists(list(map(word_splitter(language), texts)))
        if language == "ko":
            return Tokens.of_lists(list(map(word_splitter(language), texts)))
        if language == "vi":
            cut = word_splitter(language)
            lists = [[word.lower() for word in cut(text) if _ALNUM.search(word)] for text in texts]
            return Tokens.of_lists(lists)
        if language in ("bn", "te"):
            return Tokens.of_lists([text.lower().split() for text in texts])
        found = Tokens.of_lists([_WORD.findall(text.lower()) for text in texts])
        return found.map(stem(STEMMERS[language], found.distinct)) if language in _HAKARI_STEMMED else found

    def query_tokens(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each query."""
        return self.tokens(texts)

    def __str__(self) -> str:
        return f"hakari {self.language}"


def _guest(module: str) -> Any:
    """A package that no extra brings."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = _package_of(module)
        raise MissingPart(f"the package {package!r} is not installed", hint=f"pip install {package}") from error
