"""What is done to a text before BM25 sees it: an `Analyser` for each language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from steelyard.text.identifiers import split_identifier
from steelyard.text.languages import STEMMERS
from steelyard.text.spans import Grams, find
from steelyard.text.tokens import Tokens

ANALYSIS_VERSION = 1
"""Counts up whenever any analyser gives other terms for some text; part of every result's key."""


@dataclass(frozen=True)
class Analyser:
    """Words in lower case, stemmed where the language has a stemmer; n-grams of scripts without spaces.

    >>> Analyser("en").tokens(["Running QUICKLY through 東京"]).lists(1)
    [['run', 'quick', 'through', '東', '京', '東京']]
    >>> str(Analyser("en")), str(Analyser("th")), str(Analyser("code"))
    ('words+english', 'words', 'identifiers')
    """

    language: str
    grams: Grams = field(default_factory=Grams)
    stop_words: frozenset[str] = frozenset()

    @property
    def stemmer(self) -> str | None:
        """The Snowball algorithm, if the language has one."""
        return STEMMERS.get(self.language)

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """The terms of every text."""
        if self.language == "code":
            found = Tokens.of_spans(find(texts, self.grams, fold_case=False, underscore=True))
            return found.expand(list(map(split_identifier, found.distinct)))
        found = Tokens.of_spans(find(texts, self.grams))
        terms = found.distinct
        if self.stemmer:
            terms = stem(self.stemmer, terms)
        if self.stop_words:
            terms = ["" if word in self.stop_words else term for word, term in zip(found.distinct, terms, strict=True)]
        return found if terms is found.distinct else found.map(terms)

    def __str__(self) -> str:
        if self.language == "code":
            return "identifiers"
        return f"words+{self.stemmer}" if self.stemmer else "words"


@cache
def _stemmer(algorithm: str) -> Any:
    import Stemmer

    # The cache inside would only slow it: every word comes once.
    return Stemmer.Stemmer(algorithm, 0)


def stem(algorithm: str, words: list[str]) -> list[str]:
    """The Snowball stems of distinct words.

    >>> stem("english", ["relational", "cats"])
    ['relat', 'cat']
    """
    stem_words: Callable[[list[str]], list[str]] = _stemmer(algorithm).stemWords
    return stem_words(words)
