"""The classes of failed queries: each has a rule, which also counts the queries that are found.

A profile fails a query if no relevant document is in its top 10. The *competitor* is the highest document that is not
relevant. A rule that only describes a query and its relevant documents, or the competitor, applies to found queries as
well, so that the two shares can be compared: what is as frequent among found queries does not explain a failure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.reports.pages.diagnose.evidence import Bools, Evidence, numbers_of
from steelyard.reports.pages.measure.diagnosis_values import FailureClass
from steelyard.reports.pages.measure.failure_modes import failure_example
from steelyard.reports.pages.measure.page_inputs import Kind
from steelyard.reports.pages.measure.profile_scores import Measured
from steelyard.reports.pages.thresholds import (
    FEW,
    FOUND,
    LONG_RATIO,
    LOW_OVERLAP,
    NEAR_DUPLICATE,
    PASSAGE_WORDS,
    SAME_TOPIC,
    SIGNIFICANT,
)
from steelyard.stats.corrections import holm
from steelyard.stats.proportions import fisher_exact, wilson
from steelyard.text.pieces import UInt64, jaccard, pieces, plain
from steelyard.types import Int64

SHOWN = 2
"""Examples of each class."""
UNSPACED = frozenset({"han", "japanese", "hangul", "thai", "lao", "khmer", "burmese", "tibetan"})
"""Scripts that are searched by pieces of words."""
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s.,;:!?\"'()。，、；：！？…]+")
"""A word, a character of a script without spaces, or a sign that is not punctuation of a sentence."""
INSIDE = 50
"""Words for each of which one word may be added inside a near duplicate."""
_POSITIVES = 20
"""Relevant documents of a query that are compared with the top documents."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """The lists of one profile next to the evidence about queries."""

    evidence: Evidence
    measured: Measured
    judged: Bools
    """Queries to which rules apply: with a relevant document, and in languages that the model declares."""
    shared_pieces: dict[int, UInt64]

    @property
    def kind(self) -> Kind:
        """The kind of profile."""
        return self.measured.kind

    @cached_property
    def found(self) -> Bools:
        """Queries with a relevant document in the top 10."""
        ranks = self.measured.ranks
        return np.asarray((ranks > 0) & (ranks <= FOUND))

    @cached_property
    def competitors(self) -> Int64:
        """The row of the highest document of every query that is not relevant; -1 if there is none."""
        rows = self.measured.profile.run.rows
        positives = self.evidence.positives
        chosen = np.full(len(rows), -1, dtype=np.int64)
        for query, listed in enumerate(rows[:, : FOUND + _POSITIVES].tolist()):
            relevant = set(positives[query])
            chosen[query] = next((row for row in listed if row >= 0 and row not in relevant), -1)
        return chosen

    def pieces_of(self, row: int) -> UInt64:
        """Return the pieces of a document."""
        if row not in self.shared_pieces:
            self.shared_pieces[row] = pieces(self.evidence.task.corpus.texts[row])
        return self.shared_pieces[row]

    @cached_property
    def near_duplicates(self) -> list[list[int]]:
        """The unjudged documents in the top 10 of every query that nearly repeat one of its relevant documents."""
        qrels = self.evidence.task.qrels
        top = self.measured.profile.run.rows[:, :FOUND].tolist()
        return [
            [] if not rows else [row for row in top[query] if self._copies(row, rows, qrels.rows_of(query).tolist())]
            for query, rows in enumerate(self.evidence.positives)
        ]

    def _copies(self, row: int, relevant: Sequence[int], judged: Sequence[int]) -> bool:
        if row < 0 or row in judged:
            return False
        mine = self.pieces_of(row)
        for other in relevant[:_POSITIVES]:
            theirs = self.pieces_of(other)
            sizes = sorted((len(mine), len(theirs)))
            alike = sizes[0] >= NEAR_DUPLICATE * sizes[1] and jaccard(mine, theirs) >= NEAR_DUPLICATE
            if alike and extends(*(self.evidence.task.corpus.texts[one] for one in (row, other))):
                return True
        return False


def extends(one: str, other: str) -> bool:
    """Return whether one of two texts is the other with words added at its ends; a cut last word is the same word.

    Inside, one added word for every `INSIDE` is allowed. Two texts that differ in one word ("Encode a file", "Decode a
    file"), or of which one has a word more inside ("all functions", "all class functions"), say different things.

    >>> extends("Encode a file.", "Encode a file now"), extends("Encode a file", "Decode a file")
    (True, False)
    >>> extends("Run all cleanup functions", "Run all class cleanup functions")
    False
    """
    short, long = sorted((_WORD.findall(plain(text).casefold()) for text in (one, other)), key=len)
    if not short:
        return False
    starts = (place for place, word in enumerate(long) if _same(short[0], word, len(short) == 1))
    return any(_added_inside(short, long, start) <= len(short) // INSIDE for start in starts)


def _added_inside(short: Sequence[str], long: Sequence[str], start: int) -> int:
    """Return the number of words that the long text adds between those of the short one, from a place on."""
    at = start
    for place, word in enumerate(short, 1):
        while at < len(long) and not _same(word, long[at], place == len(short)):
            at += 1
        if at == len(long):
            return len(long)  # a word is missing
        at += 1
    return at - start - len(short)


def _same(word: str, held: str, is_last: bool) -> bool:
    return held.startswith(word) if is_last else held == word


def translation(ranking: Ranking) -> Bools:
    """Match queries whose relevant documents are all in other languages."""
    return ranking.evidence.cross_language


def script(ranking: Ranking) -> Bools:
    """Match queries whose relevant documents are all in other scripts."""
    return ranking.evidence.cross_script


def paraphrase(ranking: Ranking) -> Bools:
    """Match queries that share few terms with every relevant document, in the same language."""
    evidence = ranking.evidence
    return np.asarray((evidence.reading.overlap <= LOW_OVERLAP) & evidence.same_language)


def missing_term(ranking: Ranking) -> Bools:
    """Match queries whose rarest term is in the competitor and in no relevant document, though enough others are.

    Only in scripts with spaces: elsewhere a term is a piece of a word.
    """
    evidence, terms = ranking.evidence, ranking.evidence.reading.terms
    several = evidence.reading.overlap > LOW_OVERLAP

    def misled(query: int, competitor: int) -> bool:
        if not several[query] or evidence.reading.query_scripts[query] in UNSPACED:
            return False
        term = terms.rarest(query)
        absent = term >= 0 and not any(terms.has(row, term) for row in evidence.positives[query])
        return absent and terms.has(competitor, term)

    return _with_competitor(ranking, misled)


def same_topic(ranking: Ranking) -> Bools:
    """Match queries whose competitor has at least as many of their terms as the relevant documents, and their topic."""
    evidence, terms = ranking.evidence, ranking.evidence.reading.terms
    competitors = ranking.competitors
    known = np.flatnonzero((competitors >= 0) & evidence.asked & ~np.isnan(evidence.reading.overlap))
    theirs = terms.overlap(known, competitors[known])
    matched = np.zeros(len(competitors), dtype=bool)
    for query, share in zip(known.tolist(), theirs.tolist(), strict=True):
        if share > 0 and share >= evidence.reading.overlap[query]:
            rows = evidence.positives[query][:_POSITIVES]
            matched[query] = max(terms.similarity(int(competitors[query]), row) for row in rows) >= SAME_TOPIC
    return matched


def name(ranking: Ranking) -> Bools:
    """Match queries with a name that a relevant document has and the competitor does not."""
    evidence = ranking.evidence

    def confused(query: int, competitor: int) -> bool:
        theirs = evidence.folded(competitor)
        return any(
            base not in theirs and any(base in evidence.folded(row) for row in evidence.positives[query])
            for base in evidence.names[query]
        )

    return _with_competitor(ranking, confused)


def number(ranking: Ranking) -> Bools:
    """Match queries with a number that a relevant document has and the competitor does not."""
    evidence, texts = ranking.evidence, ranking.evidence.task.corpus.texts

    def confused(query: int, competitor: int) -> bool:
        numbers = evidence.numbers[query]
        held = {value for row in evidence.positives[query] for value in numbers_of(texts[row])} if numbers else set()
        return bool((numbers & held) - numbers_of(texts[competitor])) if numbers & held else False

    return _with_competitor(ranking, confused)


def long_document(ranking: Ranking) -> Bools:
    """Match queries whose relevant documents are all long, also compared with the corpus."""
    evidence = ranking.evidence
    limit = max(PASSAGE_WORDS, LONG_RATIO * float(np.median(evidence.document_words)))
    return np.asarray(evidence.shortest_positive > limit)


def near_duplicate(ranking: Ranking) -> Bools:
    """Match queries with an unjudged document in the top 10 that nearly repeats a relevant one."""
    return np.array([bool(rows) for rows in ranking.near_duplicates], dtype=bool)


RULES: Mapping[str, Callable[[Ranking], Bools]] = {
    "translation": translation,
    "script": script,
    "paraphrase": paraphrase,
    "missing_term": missing_term,
    "same_topic": same_topic,
    "name": name,
    "number": number,
    "long_document": long_document,
    "near_duplicate": near_duplicate,
}
"""The rule of each class; `undeclared_language` is found from the card of the model instead."""


def _with_competitor(ranking: Ranking, rule: Callable[[int, int], bool]) -> Bools:
    return np.array(
        [row >= 0 and rule(query, row) for query, row in enumerate(ranking.competitors.tolist())], dtype=bool
    )


def failure_classes(rankings: Sequence[Ranking], undeclared: Bools) -> tuple[FailureClass, ...]:
    """Return the classes of all profiles, most frequent first, with tests and Holm's correction."""
    rows: list[FailureClass] = []
    for ranking in rankings:
        own = _undeclared(ranking, undeclared)
        rows += [own] if own else []
        matches = {label: rule(ranking) & ranking.judged for label, rule in RULES.items()}
        if (matches["script"] == matches["translation"]).all():
            del matches["script"]  # the same queries
        classes = [_class(label, ranking, mask) for label, mask in matches.items()]
        rows += sorted((one for one in classes if one.failed), key=lambda one: (-one.failed, one.name))
    return _tested(rows)


def _undeclared(ranking: Ranking, undeclared: Bools) -> FailureClass | None:
    """Return the failed queries in languages that the model does not declare; rules do not apply to them."""
    mask = undeclared & ranking.evidence.asked & ~ranking.judged
    failed = int((mask & ~ranking.found).sum())
    failures = int((ranking.evidence.asked & ~ranking.found).sum())
    if not failed:
        return None
    return FailureClass(
        "undeclared_language",
        ranking.kind,
        failed,
        failures,
        failed / failures,
        wilson(failed, failures),
        found=int((mask & ranking.found).sum()),
        successes=int((ranking.evidence.asked & ranking.found).sum()),
    )


def _class(label: str, ranking: Ranking, mask: Bools) -> FailureClass:
    failed, successes = ranking.judged & ~ranking.found, ranking.judged & ranking.found
    count, failures = int((mask & failed).sum()), int(failed.sum())
    chosen = sorted(np.flatnonzero(mask & failed).tolist(), key=lambda q: ranking.evidence.task.queries.ids[q])
    measured = ranking.measured
    return FailureClass(
        label,
        ranking.kind,
        count,
        failures,
        count / max(failures, 1),
        wilson(count, max(failures, 1)),
        found=int((mask & successes).sum()),
        successes=int(successes.sum()),
        examples=tuple(failure_example(ranking.evidence.task, [measured], ranking.kind, q) for q in chosen[:SHOWN]),
    )


def _tested(classes: Sequence[FailureClass]) -> tuple[FailureClass, ...]:
    testable = [one.failures >= FEW and one.successes >= FEW and one.name != "undeclared_language" for one in classes]
    raw = [
        fisher_exact(one.failed, one.failures, one.found, one.successes)
        for one, tested in zip(classes, testable, strict=True)
        if tested
    ]
    adjusted = iter(holm(raw).tolist())
    return tuple(
        replace(one, p_value=(p := next(adjusted)), significant=p < SIGNIFICANT and _more(one)) if tested else one
        for one, tested in zip(classes, testable, strict=True)
    )


def _more(one: FailureClass) -> bool:
    """Return whether the class is more frequent among failed queries than among found ones."""
    return one.failed * one.successes > one.found * one.failures
