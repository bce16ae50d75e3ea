"""Languages and scripts of queries, documents and pairs, and the overlap of their terms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.reports.pages.measure.part_values import LanguageProfile, Overlap
from steelyard.reports.pages.measure.term_index import TermIndex
from steelyard.reports.pages.measure.text_lengths import word_counts
from steelyard.reports.pages.thresholds import FEW, FEWEST, NEARLY_ALL
from steelyard.text.analysis.language_policy import Policy, choose_policy
from steelyard.text.characters import SCRIPT_NAMES, script_table
from steelyard.text.language_id.detect import LANGUAGES_OF, LATIN_DISCOUNT, UNDECIDED, candidates, detect_certain
from steelyard.text.languages import canonical
from steelyard.text.tokenizer.spans import code_points
from steelyard.types import Float64, Int64, Task

BEGINNING = 200
"""Number of characters from which language and script are identified."""

NO_SCRIPT = "none"
JAPANESE = "japanese"
"""Kana, with or without Han."""
_KANA_SHARE = 0.05
_ASCII_LETTER = re.compile("[A-Za-z]")
_SCRIPT_OF = {JAPANESE: "kana"}
"""Names of ours that differ from those in the tables of languages."""

BRIEF = 8
"""A text of fewer words is too short to contradict the one language that a task declares."""

ERRORS = 0.01
"""Share of texts whose language is expected to be identified wrongly."""

UNCLEAR = 0.25
"""From this share of undecided texts on, a language of very few texts is taken for an error."""

CLOSE = (("da", "no"), ("hr", "sr"), ("id", "ms"), ("es", "gl", "ca"), ("cs", "sk"), ("nl", "af"))
"""Languages that are often mistaken for each other: a declared one is not contradicted by another of its group."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Language and script of every query and document, the pairs, and their overlap."""

    query_languages: list[str]
    document_languages: list[str]
    query_scripts: list[str]
    document_scripts: list[str]
    pair_queries: Int64
    pair_rows: Int64
    overlap: Float64
    """By query; NaN if no relevant document is in the corpus or the query has no term."""
    terms: TermIndex
    """The terms of every query and document."""
    policy: Policy
    """The text analysis of BM25."""
    among: tuple[str, ...] = ()
    """The possible languages; empty: any."""


def read(task: Task) -> Reading:
    """Identify language and script of every text, and the overlap of every query with its relevant documents."""
    declared = tuple(canonical(code) for code in task.info.languages)
    # Code looks like some human language: it is in the language that it is declared in.
    among = declared if len(declared) > 1 or task.info.category == "code" else ()
    usual = declared[0] if len(declared) == 1 else UNDECIDED
    queries = [text[:BEGINNING] for text in task.queries.texts]
    documents = [text[:BEGINNING] for text in task.corpus.texts]
    query_scripts, document_scripts = scripts(queries), scripts(documents)
    checked = () if task.info.category == "code" else declared
    query_languages = _languages(queries, query_scripts, among, usual, checked)
    document_languages = _languages(documents, document_scripts, among, usual, checked)
    owners = np.repeat(np.arange(len(task.qrels)), task.qrels.counts)
    positive = (task.qrels.grades > 0) & (task.qrels.rows >= 0)
    pair_queries, pair_rows = owners[positive], task.qrels.rows[positive].astype(np.int64)
    # The choice of BM25, from the same excerpts.
    policy = choose_policy(documents, task.info)
    terms = TermIndex.of(policy, task.queries.texts, task.corpus.texts)
    return Reading(
        query_languages,
        document_languages,
        query_scripts,
        document_scripts,
        pair_queries,
        pair_rows,
        _overlaps(terms, len(task.queries), pair_queries, pair_rows),
        terms,
        policy,
        among,
    )


def _languages(
    texts: Sequence[str], written: Sequence[str], among: Collection[str], usual: str, declared: Collection[str]
) -> list[str]:
    """Return the language of each text; `usual` is the only declared language, if there is just one.

    A short text is in the declared language if its script allows. Without such, a text that shows none is in that of
    the others in its script, where at least half of them show one and nearly all the same. The few exceptions among
    very many that agree show none.
    """
    detected = _undeclared(texts, written, detect_certain(texts, among), declared)
    habits = _habits(detected, written)
    ruled = _habits(detected, written, 1 - ERRORS) | _habits(detected, written, scarce=True)
    odd = [
        code not in (UNDECIDED, ruled.get(_SCRIPT_OF.get(script, script), code))
        for code, script in zip(detected, written, strict=True)
    ]
    if usual != UNDECIDED:
        # Latin letters may be a name or an abbreviation in any language.
        habits |= {script: usual for script, codes in candidates([usual]).items() if codes or script == "latin"}
        brief = word_counts(texts) < BRIEF
        detected = [UNDECIDED if short else code for short, code in zip(brief.tolist(), detected, strict=True)]
    decided = [
        habits.get(_SCRIPT_OF.get(script, script), UNDECIDED) if code == UNDECIDED else code
        for code, script in zip(detected, written, strict=True)
    ]
    clear = [UNDECIDED if doubtful else code for code, doubtful in zip(decided, odd, strict=True)]
    counts = Counter(clear)
    # Where many texts are names, a language of very few of them is an error of identification.
    many = counts.pop(UNDECIDED, 0) > UNCLEAR * len(clear)
    rare = {code for code, count in counts.items() if many and count < min(FEW, ERRORS / 2 * len(clear))}
    return [UNDECIDED if code in rare else code for code in clear]


def _undeclared(
    texts: Sequence[str], written: Sequence[str], detected: list[str], declared: Collection[str]
) -> list[str]:
    """Return the languages, also of texts that are certainly in a language that the task does not declare.

    Only among the declared languages, a German text of a task in English and Chinese would be English. A few exceptions
    are errors of identification, and short texts do not contradict the declaration, unless only one language is written
    in their script.
    """
    if not declared:
        return detected
    alone = np.array([len(LANGUAGES_OF.get(_SCRIPT_OF.get(script, script), ())) == 1 for script in written], dtype=bool)
    long = np.flatnonzero((word_counts(texts) >= BRIEF) | alone).tolist()
    free = dict(zip(long, detect_certain([texts[place] for place in long]), strict=True))
    near = {code for group in CLOSE if any(one in declared for one in group) for code in group}
    foreign = Counter(code for code in free.values() if code not in near and code not in (*declared, UNDECIDED))
    accepted = {code for code, count in foreign.items() if count >= max(FEW, ERRORS * len(texts))}
    decided = [free[at] if free.get(at) in accepted else code for at, code in enumerate(detected)]
    only = next(iter(declared)) if len(declared) == 1 else UNDECIDED
    return [only if only != UNDECIDED and code in near else code for code in decided]


def _habits(
    detected: Sequence[str], written: Sequence[str], share: float = NEARLY_ALL, scarce: bool = False
) -> dict[str, str]:
    """Return the language of nearly all identified texts of each script, if at least half of them are identified.

    With `scarce`, only if fewer are: such texts are names, and some of them are identified wrongly.
    """
    habits = {}
    for script in set(written) - {NO_SCRIPT}:
        counts = Counter(code for code, other in zip(detected, written, strict=True) if other == script)
        hidden = counts.pop(UNDECIDED, 0)
        code, most = max(counts.items(), key=lambda item: item[1], default=(UNDECIDED, 0))
        if most >= share * counts.total() and counts.total() >= FEWEST and (counts.total() < hidden) == scarce:
            habits[_SCRIPT_OF.get(script, script)] = code
    return habits


def scripts(texts: Sequence[str]) -> list[str]:
    """Return the script of most letters of each text, `none` without letters; Latin letters count for less.

    >>> scripts(["Nile 尼罗河", "The long river Nile (尼罗河)", "ナイル川", "42"])
    ['han', 'latin', 'japanese', 'none']
    """
    # Most texts of many sets are ASCII, where the only letters are Latin.
    detected = ["latin" if _ASCII_LETTER.search(text) else NO_SCRIPT for text in texts]
    others = [place for place, text in enumerate(texts) if not text.isascii()]
    for place, script in zip(others, _scripts([texts[place] for place in others]), strict=True):
        detected[place] = script
    return detected


def _scripts(texts: Sequence[str]) -> list[str]:
    points, owners = code_points(texts)
    width = len(SCRIPT_NAMES)
    cells = owners * width + script_table()[points]
    counts = np.bincount(cells, minlength=len(texts) * width)[: len(texts) * width].reshape(len(texts), width)
    counts[:, 0] = 0
    kana, han = SCRIPT_NAMES.index("kana"), SCRIPT_NAMES.index("han")
    both = counts[:, kana] + counts[:, han]
    japanese = counts[:, kana] > _KANA_SHARE * np.maximum(both, 1)
    counts[:, kana] = np.where(japanese, both, 0)
    counts[:, han] = np.where(japanese, 0, both)
    others = np.delete(counts, SCRIPT_NAMES.index("latin"), axis=1).max(axis=1) * LATIN_DISCOUNT
    counts[counts[:, SCRIPT_NAMES.index("latin")] <= others, SCRIPT_NAMES.index("latin")] = 0
    names = (*SCRIPT_NAMES[:kana], JAPANESE, *SCRIPT_NAMES[kana + 1 :])
    return [names[number] for number in np.where(counts.any(axis=1), counts.argmax(axis=1), 0).tolist()]


def language_profile(reading: Reading) -> LanguageProfile:
    """Return the shares of languages and scripts of queries, documents and pairs."""
    pairs = list(zip(reading.pair_queries.tolist(), reading.pair_rows.tolist(), strict=True))
    decided = [(reading.query_languages[q], reading.document_languages[d]) for q, d in pairs]
    written = [(reading.query_scripts[q], reading.document_scripts[d]) for q, d in pairs]
    kinds = Counter(map(_Relation(reading.among), decided, written))
    count = max(len(pairs), 1)
    return LanguageProfile(
        query_languages=shares(reading.query_languages),
        document_languages=shares(reading.document_languages),
        query_scripts=shares(reading.query_scripts),
        document_scripts=shares(reading.document_scripts),
        pair_languages=shares(map(pair_name, decided)),
        pairs=len(pairs),
        same_language=kinds["same"] / count,
        cross_language=kinds["cross"] / count,
        undecided=kinds[UNDECIDED] / count,
        cross_script=sum(crosses(a, b) for a, b in written) / count,
    )


def pair_name(languages: tuple[str, str]) -> str:
    """Return `ar-en` for a query and a relevant document; `und` if one language is uncertain."""
    return UNDECIDED if UNDECIDED in languages else "-".join(languages)


class _Relation:
    """Return whether two texts are in the same language, in two, or uncertain.

    Texts that show no language are in two where no language is written in both of their scripts.
    """

    def __init__(self, among: Collection[str]) -> None:
        self._candidates = {script: frozenset(codes) for script, codes in candidates(among).items()}

    def __call__(self, languages: tuple[str, str], scripts: tuple[str, str]) -> str:
        if UNDECIDED not in languages:
            return "same" if languages[0] == languages[1] else "cross"
        asked, sought = map(self._possible, languages, scripts)
        return "cross" if asked and sought and asked.isdisjoint(sought) else UNDECIDED

    def _possible(self, language: str, script: str) -> frozenset[str]:
        if language != UNDECIDED:
            return frozenset((language,))
        return self._candidates.get(_SCRIPT_OF.get(script, script), frozenset())


def crosses(a: str, b: str) -> bool:
    """Return whether the scripts differ; Japanese and Han share characters and do not."""
    joint: Collection[str] = ("han", JAPANESE)
    return a != b and NO_SCRIPT not in (a, b) and not (a in joint and b in joint)


def shares(values: Iterable[str]) -> Mapping[str, float]:
    """Return the share of each value, most frequent first.

    >>> shares(["en", "de", "en", "en"])
    {'en': 0.75, 'de': 0.25}
    """
    counts = Counter(values)
    total = counts.total()
    return {name: counts[name] / total for name in sorted(counts, key=lambda name: (-counts[name], name))}


def _overlaps(terms: TermIndex, queries: int, pair_queries: Int64, pair_rows: Int64) -> Float64:
    """Return the overlap of every query with its most similar relevant document."""
    best = np.full(queries, np.nan)
    shares = terms.overlap(pair_queries, pair_rows)
    known = ~np.isnan(shares)
    np.fmax.at(best, pair_queries[known], shares[known])
    return best


def overlap(values: Float64) -> Overlap | None:
    """Return the distribution of overlap over queries; None if it is not defined for any."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    tenths = np.bincount(np.minimum((known * 10 + 1e-9).astype(np.int64), 9), minlength=10)
    return Overlap(
        mean=float(known.mean()),
        median=float(np.median(known)),
        none=float((known == 0).mean()),
        full=float((known == 1).mean()),
        histogram=tuple(tenths.tolist()),
    )
