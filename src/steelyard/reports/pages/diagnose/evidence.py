"""What is known about every query and its relevant documents, whichever profile ranks them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from steelyard.reports.pages.measure.query_properties import CASED, NOUNS_TOO, capitalised
from steelyard.reports.pages.measure.text_languages import Reading, crosses
from steelyard.reports.pages.measure.text_lengths import word_counts
from steelyard.text.language_id.detect import UNDECIDED
from steelyard.types import Float64, Int64, Task

Bools = npt.NDArray[np.bool_]

_NUMBER = re.compile(r"\d+(?:[.,٫٬]\d+)*")
_LATIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9.&+-]*[A-Za-z0-9]")
_KATAKANA_NAME = re.compile(r"[ァ-ヴー]{3,}")
_STEM = 4
"""A name is looked up without its last two letters, which may be an ending, but with at least so many."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The task and the languages, scripts and terms of its texts."""

    task: Task
    reading: Reading

    @cached_property
    def positives(self) -> list[list[int]]:
        """The rows of every query's relevant documents in the corpus."""
        rows: list[list[int]] = [[] for _ in range(len(self.task.queries))]
        for query, row in zip(self.reading.pair_queries.tolist(), self.reading.pair_rows.tolist(), strict=True):
            rows[query].append(row)
        return rows

    @cached_property
    def asked(self) -> Bools:
        """Queries with a relevant document in the corpus."""
        return np.array([bool(rows) for rows in self.positives], dtype=bool)

    @cached_property
    def cross_language(self) -> Bools:
        """Queries whose relevant documents are all in other languages than the query."""
        reading = self.reading

        def crosses_all(query: int) -> bool:
            language = reading.query_languages[query]
            sought = [reading.document_languages[row] for row in self.positives[query]]
            return bool(sought) and language != UNDECIDED and UNDECIDED not in sought and language not in sought

        return np.array([crosses_all(query) for query in range(len(self.task.queries))], dtype=bool)

    @cached_property
    def same_language(self) -> Bools:
        """Queries with a relevant document that is certainly in their language."""
        reading = self.reading
        return np.array(
            [
                (asked := reading.query_languages[q]) != UNDECIDED
                and any(reading.document_languages[row] == asked for row in rows)
                for q, rows in enumerate(self.positives)
            ],
            dtype=bool,
        )

    @cached_property
    def cross_script(self) -> Bools:
        """Queries whose relevant documents are all in other scripts than the query."""
        reading = self.reading
        return np.array(
            [
                bool(rows) and all(crosses(reading.query_scripts[q], reading.document_scripts[row]) for row in rows)
                for q, rows in enumerate(self.positives)
            ],
            dtype=bool,
        )

    @cached_property
    def query_words(self) -> Int64:
        """The number of words of every query."""
        return word_counts(self.task.queries.texts)

    @cached_property
    def document_words(self) -> Int64:
        """The number of words of every document."""
        return word_counts(self.task.corpus.texts)

    @cached_property
    def shortest_positive(self) -> Float64:
        """The number of words of every query's shortest relevant document; NaN without any."""
        words = self.document_words
        return np.array([min((words[row] for row in rows), default=np.nan) for rows in self.positives], dtype=float)

    @cached_property
    def rarity(self) -> Float64:
        """The number of documents with the rarest term of every query that the corpus has; NaN without any."""
        terms = self.reading.terms
        rarest = [terms.rarest(query) for query in range(len(self.task.queries))]
        return np.array([np.nan if term < 0 else terms.frequency[term] for term in rarest], dtype=float)

    @cached_property
    def names(self) -> list[list[str]]:
        """The names in every query, in a form to look up in folded texts."""
        reading = self.reading
        return [
            names_of(text, language, script)
            for text, language, script in zip(
                self.task.queries.texts, reading.query_languages, reading.query_scripts, strict=True
            )
        ]

    @cached_property
    def numbers(self) -> list[frozenset[str]]:
        """The numbers in every query."""
        return [numbers_of(text) for text in self.task.queries.texts]

    @cached_property
    def _folded(self) -> dict[int, str]:
        return {}

    def folded(self, row: int) -> str:
        """Return the text of a document without case."""
        if row not in self._folded:
            self._folded[row] = self.task.corpus.texts[row].casefold()
        return self._folded[row]


def names_of(text: str, language: str, script: str) -> list[str]:
    """Return the names in a text, without case and ending: capitalised words, Latin words among others, katakana.

    >>> names_of("Where was Luther born?", "en", "latin"), names_of("什么是 DNA 序列", "zh", "han")
    (['luth'], ['dna'])
    """
    if script in CASED:
        return [] if language in NOUNS_TOO else [_base(name.casefold()) for name in capitalised(text)]
    names = _LATIN_NAME.findall(text)
    if script == "japanese":
        names += _KATAKANA_NAME.findall(text)
    return [_base(name.casefold()) if name.isascii() else name for name in names]


def _base(name: str) -> str:
    return name[: max(_STEM, len(name) - 2)]


def numbers_of(text: str) -> frozenset[str]:
    """Return the numbers in a text in one spelling: ASCII digits, without separators.

    >>> sorted(numbers_of("In 1,250 BC, ١٩٦٩ and 3.5"))
    ['1250', '1969', '3.5']
    """
    return frozenset(map(_spelled, _NUMBER.findall(text)))


def _spelled(number: str) -> str:
    ascii_digits = "".join(str(unicodedata.digit(c)) if c.isdigit() else {"٫": ".", "٬": ","}.get(c, c) for c in number)
    return re.sub(r"[.,](?=\d{3}(\D|$))", "", ascii_digits)
