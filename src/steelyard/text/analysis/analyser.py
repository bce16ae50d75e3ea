"""Text analysis before BM25: an `Analyser` for each language."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Protocol, TypeVar

import numpy as np

from steelyard.text.analysis import arabic_stemmer as arabic
from steelyard.text.analysis.identifiers import Identifiers, split_identifier
from steelyard.text.analysis.spelling import ANUSVARA, DEAD_N, spelling_of
from steelyard.text.arrays import flat_nonzero
from steelyard.text.function_words import FUNCTION_WORDS
from steelyard.text.languages import STEMMERS
from steelyard.text.tokenizer.spans import Grams, Spans, UInt64, find_tokens, keys, keys_of_bytes, keys_of_strings
from steelyard.text.tokenizer.tokens import Tokens, Words, strings, utf8
from steelyard.types import Int64

ANALYSIS_VERSION = 8
"""Increased whenever an analyser returns other terms for some text; part of every result's key."""

QUESTION_WORDS = {
    "zh": """请问 为什么 为何 什么 怎么样 怎么办 怎么 怎样 如何 哪些 哪个 哪里 哪儿 哪种 哪位 哪一 哪 谁 多少
        几个 是否 是不是 有没有 吗 呢 請問 為什麼 為何 什麼 怎麼樣 怎麼辦 怎麼 怎樣 哪個 哪裡 誰 幾個 嗎""",
    "ja": """何 誰 どこ いつ なぜ どうして どのような どのように どのくらい どの どれ どちら どう いくつ いくら
        でしょうか ましたか ですか ますか か""",
    "th": """อะไร ใคร ที่ไหน ไหน เมื่อไหร่ เมื่อไร เมื่อใด อย่างไร ยังไง เท่าไหร่ เท่าไร เท่าใด ทำไม เพราะเหตุใด
        เหตุใด กี่ หรือไม่ ไหม ใด บ้าง คือ""",
}
"""Question words in languages without spaces; removed from queries, because their n-grams match anything."""

_SPACELESS = frozenset({"zh", "ja", "th", "lo", "km", "my"})
_NGRAM_LANGUAGES = _SPACELESS | {"ko"}
"""Languages that are indexed by n-grams; Latin words in them are analysed as English."""
_WORD_WEIGHT = 3
"""A word or number among n-grams counts so often in a query: a word of the script has about as many n-grams."""

_FEW = 400
"""For up to so many Arabic words Snowball is as fast as arrays."""

_LETTER_BITS = np.uint64(0x4040404040404040)
"""The key of a word of up to eight bytes has one of these bits, unless it is a number, which is its own stem."""

Word = TypeVar("Word", str, bytes)


class Analysis(Protocol):
    """The analysis of texts into terms."""

    @property
    def stems(self) -> bool:
        """Whether words are stemmed; otherwise each word is a term."""
        ...

    def words(self, texts: Sequence[str]) -> Words | None:
        """Return the words of documents, if each becomes one term; else None."""
        ...

    def stem(self, words: Words, chosen: Int64) -> UInt64:
        """Return the key of the term of each of these distinct words."""
        ...

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the terms of documents."""
        ...

    def query_tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the terms of queries."""
        ...

    def query_words(self, texts: Sequence[str]) -> Words | None:
        """Return the words of queries without function words, if each becomes one term; else None."""
        ...


@dataclass(frozen=True)
class Analyser:
    """Words in lower case, stemmed if the language has a stemmer; n-grams of scripts without spaces.

    Function words are removed from queries, unless a query has no other words.

    >>> english = Analyser("en")
    >>> english.tokens(["Running through 東京"]).lists(1)
    [['run', 'through', '東', '京', '東京']]
    >>> english.query_tokens(["Who is running?", "to be or not to be"]).lists(2)
    [['run'], ['to', 'be', 'or', 'not', 'to', 'be']]
    >>> str(english), str(Analyser("th")), str(Analyser("code"))
    ('words, english stemmer', 'n-grams, words, english stemmer', 'identifiers, english stemmer')
    """

    language: str
    grams: Grams = field(default_factory=Grams)

    @property
    def stemmer(self) -> str | None:
        """The Snowball algorithm of the language or of the Latin words in its texts, if there is one."""
        return "english" if self.language in _NGRAM_LANGUAGES else STEMMERS.get(self.language)

    @property
    def stems(self) -> bool:
        """Whether there is a stemmer."""
        return self.stemmer is not None

    def words(self, texts: Sequence[str]) -> Words | None:
        """Return words and n-grams; None for code, where a word is several terms."""
        return None if self.language == "code" else Words.of(self._find(texts))

    def stem(self, words: Words, chosen: Int64) -> UInt64:
        """Return the key of each word's stem."""
        spans = words.spans.take(words.first[chosen])

        def snowball(rows: Int64) -> UInt64:
            assert self.stemmer is not None
            if self.stemmer == "nepali":
                return keys_of_strings(self.terms(strings(spans, rows)))
            return keys_of_bytes(stem(self.stemmer, utf8(spans, rows)))

        stem_keys = words.keys[chosen]
        if self.stemmer == "arabic" and len(chosen) > _FEW:
            return arabic.stem_keys(spans, stem_keys, snowball)
        others = flat_nonzero((stem_keys & _LETTER_BITS != 0) | (spans.lengths > 8))
        stem_keys[others] = snowball(others)
        return stem_keys

    def terms(self, words: list[str]) -> list[str]:
        """Return the stem of each word, or the word if the language does not have a stemmer."""
        if self.stemmer is None:
            return words
        stems = stem(self.stemmer, words)
        return list(map(_nepali, words, stems)) if self.stemmer == "nepali" else stems

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the terms of documents."""
        if self.language == "code":
            return self._identifiers(texts)
        tokens = Tokens.of_spans(self._find(texts))
        return tokens.map(self.terms(tokens.distinct))

    def query_tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the terms of queries, without function words."""
        if self.language == "code":
            return self._identifiers(texts, FUNCTION_WORDS["en"])
        words = self._query_words(texts)
        return Tokens(words.owners, words.numbers, words.strings()).map(self.terms(words.strings()))

    def query_words(self, texts: Sequence[str]) -> Words | None:
        """Return the words whose terms `query_tokens` returns; None for code."""
        return None if self.language == "code" else self._query_words(texts)

    def _query_words(self, texts: Sequence[str]) -> Words:
        """Return the words of queries, without function words."""
        question_words = _question_words(self.language)
        if question_words is not None:
            # A query that consists of a question word keeps it.
            shortened = [question_words.sub(" ", text) for text in texts]
            texts = [short if short.strip() else text for short, text in zip(shortened, texts, strict=True)]
        words = Words.of(self._find(texts)).without(_function_words(self.language))
        return words.repeat_words(_WORD_WEIGHT) if self.language in _SPACELESS else words

    def _find(self, texts: Sequence[str]) -> Spans:
        """Return words and n-grams, in the lower case and the normal spelling of the language."""
        return find_tokens(texts, self.grams, spelling=spelling_of(self.language))

    def _identifiers(self, texts: Sequence[str], stop_words: Collection[str] = ()) -> Tokens:
        """Return identifiers, their parts, and the words of comments, stemmed as English."""
        tokens = Tokens.of_spans(find_tokens(texts, self.grams, fold_case=False, underscore=True))
        if not stop_words:
            return tokens.expand(_identifier_terms().parts(tokens.distinct))
        parts = Tokens.of_lists(list(map(split_identifier, tokens.distinct)))
        tokens = tokens.expand(parts).without(stop_words)
        return tokens.map(stem("english", tokens.distinct))

    def __str__(self) -> str:
        if self.language == "code":
            return "identifiers, english stemmer"
        units = "n-grams, words" if self.language in _NGRAM_LANGUAGES else "words"
        return f"{units}, {self.stemmer} stemmer" if self.stemmer else units


@cache
def _question_words(language: str) -> re.Pattern[str] | None:
    words = sorted(QUESTION_WORDS.get(language, "").split(), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words))) if words else None


@cache
def _function_words(language: str) -> UInt64:
    words = " ".join(sorted(FUNCTION_WORDS.get(language, ())))
    return np.sort(keys(find_tokens([words], Grams(), spelling=spelling_of(language))))


def _nepali(word: str, stemmed: str) -> str:
    """Return the stem with an anusvara for a final nasal that depended on the removed ending: जान्छ, जांथ्यो.

    A word that consists of endings is its own stem.
    """
    return f"{stemmed.removesuffix(DEAD_N)}{ANUSVARA}" if stemmed.endswith(DEAD_N) else stemmed or word


@cache
def _stemmer(algorithm: str) -> Any:
    import Stemmer

    # Without its cache: every word comes once.
    return Stemmer.Stemmer(algorithm, 0)


@cache
def _identifier_terms() -> Identifiers:
    return Identifiers(partial(stem, "english"))


def stem(algorithm: str, words: list[Word]) -> list[Word]:
    """Return the Snowball stems of distinct words, given as strings or (faster) in UTF-8.

    >>> stem("english", ["relational", "cats"]), stem("english", [b"cats"])
    (['relat', 'cat'], [b'cat'])
    """
    stem_words: Callable[[list[Word]], list[Word]] = _stemmer(algorithm).stemWords
    return stem_words(words)
