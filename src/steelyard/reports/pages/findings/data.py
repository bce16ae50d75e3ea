"""What the texts of a task are like: positives, lengths, languages, overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from steelyard.reports.pages.findings.sentences import Finding, finding, language_name, listed, script_name
from steelyard.reports.pages.measure.page_values import TaskFigures
from steelyard.reports.pages.measure.values import Lengths, Tongues
from steelyard.reports.pages.thresholds import MOST, NEARLY_ALL
from steelyard.text.language_id.detect import UNDECIDED


def data(figures: TaskFigures) -> Iterator[Finding]:
    """Counts, positives, lengths."""
    one = figures.positives
    if one.min == one.max == 1:
        yield finding("single_positive")
    else:
        yield finding("positives", mean=one.mean, min=one.min, median=one.median, max=one.max)
    if one.grades:
        yield finding("grades", grades=listed([f"{grade} ({count:,})" for grade, count in one.grades.items()]))
    if one.queries_without:
        yield finding("no_positive", queries=one.queries_without)
    if one.outside_corpus:
        yield finding("outside", count=one.outside_corpus)
    for what, lengths in (("Queries", figures.query_lengths), ("Documents", figures.document_lengths)):
        yield from _lengths(what, lengths)


def _lengths(what: str, lengths: Lengths) -> Iterator[Finding]:
    if lengths.words is None or lengths.tokens is None:
        return
    spread = lengths.characters
    yield finding(
        "lengths",
        what=what,
        characters=spread.mean,
        min=spread.min,
        max=spread.max,
        median=spread.median,
        words=lengths.words.mean,
        tokens=lengths.tokens.mean,
    )
    if lengths.empty:
        yield finding("empty_texts", what=what, count=lengths.empty)


def languages(figures: TaskFigures) -> Iterator[Finding]:
    """Languages and scripts of queries and documents."""
    told = figures.tongues
    if told is not None:
        for what, shares in (("queries", told.query_languages), ("documents", told.document_languages)):
            yield _languages(what, shares)
        for what, shares in (("queries", told.query_scripts), ("documents", told.document_scripts)):
            if len(shares) > 1:
                yield finding("scripts", what=what, count=len(shares), shares=_shares(shares, script_name))


def pairs(figures: TaskFigures) -> Iterator[Finding]:
    """How queries and their positives relate: languages, scripts, overlap of terms."""
    if figures.tongues is not None:
        yield from _pairs(figures.tongues)
    if figures.overlap is not None:
        one = figures.overlap
        yield finding("overlap", mean=one.mean, none=one.none, full=one.full)


def _pairs(told: Tongues) -> Iterator[Finding]:
    """How queries and positives relate; a share counts only what is certain, and what is not is told beside it."""
    if not told.pairs:
        return
    facts = {"pairs": told.pairs, "same": told.same_language, "cross": told.cross_language, "script": told.cross_script}
    if told.undecided:
        yield finding("uncertain_pairs", undecided=told.undecided, **facts)
    else:
        yield finding("pairs", **facts)


def _languages(what: str, shares: Mapping[str, float]) -> Finding:
    hidden = shares.get(UNDECIDED, 0.0)
    known = {code: share for code, share in shares.items() if code != UNDECIDED}
    first = next(iter(known), UNDECIDED)
    if not known:
        return finding("no_language", what=what)
    if known[first] == 1:
        return finding("one_language", what=what, language=language_name(first))
    if known[first] >= NEARLY_ALL:
        facts = {"what": what, "language": language_name(first), "share": known[first]}
        return finding("nearly_one_language", hidden=hidden, **facts) if hidden else finding("main_language", **facts)
    if hidden > MOST:
        return finding("few_languages", what=what, count=len(known), shares=_shares(known), hidden=hidden)
    if hidden:
        return finding("some_languages", what=what, count=len(known), shares=_shares(known), hidden=hidden)
    return finding("languages", what=what, count=len(known), shares=_shares(known))


def _shares(shares: Mapping[str, float], named: Callable[[str], str] = language_name) -> str:
    return listed([f"{named(name)} {share:.2%}" for name, share in shares.items()], 8)
