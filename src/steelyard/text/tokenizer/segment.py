"""Word segmentation by packages of the extra `[cjk]`, and the tokenizers of HAKARI-Bench.

Both are used only on request: the default analysers score at least as well, and a score must not depend on which
packages are installed.
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
from steelyard.text.analysis.porter_stemmer import porter_stem
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
"""Modules that are used if installed, but not part of an extra because of their licence or size."""

_HAKARI_STEMMED = frozenset({"ar", "de", "es", "fi", "fr", "hi", "id", "ru"})
_STOP_WORDS = """a an and are as at be been being but by for from had has have he her hers him his i if in into is it
    its itself me my myself of on or our ours ourselves she so than that the their theirs them themselves then there
    these they this those to too up very was we were what when where which who whom why will with you your yours
    yourself yourselves"""
_HAKARI_STOP_WORDS = frozenset(_STOP_WORDS.split())
"""The 74 English stop words of HAKARI-Bench."""
HAKARI_VERSION = 2
"""Increased whenever `HakariTokenizer` returns other tokens; 2 has its English stop words and stemmer."""
_WORD = re.compile(r"\b\w+\b")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9]+")
_ALNUM = re.compile(r"\w")


def _is_word(word: str) -> bool:
    """Return whether a segment is more than punctuation; an emoji is."""
    return _ALNUM.search(word) is not None or any(class_of(character) == EMOJI for character in word)


def _load(module: str, extra: str = "cjk") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPart.extra(_package_of(module), extra) from error


def segmenter(language: str) -> str | None:
    """Return the module that segments the language here; None if there is none."""
    optional = OPTIONAL_SEGMENTERS.get(language)
    if optional is not None and importlib.util.find_spec(_package_of(optional)) is None:
        return None
    return SEGMENTERS.get(language, optional)


def _package_of(module: str) -> str:
    return module.partition(".")[0]


@cache
def word_splitter(language: str) -> WordSplitter:
    """Return the function that splits a text of the language into words."""
    if language in OPTIONAL_SEGMENTERS:
        module = _load_optional(OPTIONAL_SEGMENTERS[language])
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


class _ExternalTokens:
    """The common part of analysers whose words come from other packages."""

    stems = False

    def words(self, texts: Sequence[str]) -> Words | None:
        """Return None: words come from another package."""
        return None

    def stem(self, words: Words, chosen: Int64) -> UInt64:
        """Return the keys of the words."""
        return words.keys[chosen]

    def query_words(self, texts: Sequence[str]) -> Words | None:
        """Return None: words come from another package."""
        return None


@dataclass(frozen=True)
class Segmenter(_ExternalTokens):
    """Words of a segmenter, normalised first, without punctuation.

    A language without a segmenter is analysed as usual, and `str` reports this.
    """

    language: str

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the words of each text."""
        if segmenter(self.language) is None:
            return Analyser(self.language).tokens(texts)
        split = word_splitter(self.language)
        return Tokens.of_lists([list(filter(_is_word, split(normalise(text)))) for text in texts])

    def query_tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the words of each query."""
        return self.tokens(texts) if segmenter(self.language) else Analyser(self.language).query_tokens(texts)

    def __str__(self) -> str:
        module = segmenter(self.language)
        return f"segmented by {_package_of(module)}" if module else f"{Analyser(self.language)} (no segmenter)"


@dataclass(frozen=True)
class HakariTokenizer(_ExternalTokens):
    """The tokenizer that HAKARI-Bench uses for the language, including its errors.

    >>> HakariTokenizer("en").tokens(["The Cats' café"]).lists(1)
    [['cat', 'caf']]
    """

    language: str

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the tokens of each text."""
        language = self.language
        if language == "en":
            tokens = Tokens.of_lists([[word.lower() for word in _PLAIN_WORD.findall(text)] for text in texts])
            return tokens.map(["" if word in _HAKARI_STOP_WORDS else porter_stem(word) for word in tokens.distinct])
        if language in SEGMENTERS:
            return Tokens.of_lists(list(map(word_splitter(language), texts)))
        if language == "ko":
            return Tokens.of_lists(list(map(word_splitter(language), texts)))
        if language == "vi":
            split = word_splitter(language)
            lists = [[word.lower() for word in split(text) if _ALNUM.search(word)] for text in texts]
            return Tokens.of_lists(lists)
        if language in ("bn", "te"):
            return Tokens.of_lists([text.lower().split() for text in texts])
        tokens = Tokens.of_lists([_WORD.findall(text.lower()) for text in texts])
        return tokens.map(stem(STEMMERS[language], tokens.distinct)) if language in _HAKARI_STEMMED else tokens

    def query_tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the tokens of each query."""
        return self.tokens(texts)

    def __str__(self) -> str:
        return f"hakari {self.language}"


def _load_optional(module: str) -> Any:
    """Import a package that is not part of an extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = _package_of(module)
        raise MissingPart(f"the package {package!r} is not installed", hint=f"pip install {package}") from error
