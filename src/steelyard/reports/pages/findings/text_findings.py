"""Findings about the texts of a task: relevant documents, lengths, languages, overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from steelyard.reports.pages.findings.sentences import Finding, finding, language_name, listed, script_name
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.measure.part_values import LanguageProfile, Lengths
from steelyard.reports.pages.thresholds import MOST, NEARLY_ALL
from steelyard.text.language_id.detect import UNDECIDED


def data(task: TaskValues) -> Iterator[Finding]:
    """Yield counts, relevant documents and lengths."""
    positives = task.positives
    if positives.min == positives.max == 1:
        yield finding("single_positive")
    elif positives.min == positives.max:
        yield finding("even_positive", count=positives.max)
    else:
        yield finding("positives", mean=positives.mean, min=positives.min, median=positives.median, max=positives.max)
    if positives.grades:
        yield finding("grades", grades=listed([f"{grade} ({count:,})" for grade, count in positives.grades.items()]))
    if positives.queries_without:
        yield finding("no_positive", queries=positives.queries_without)
    if positives.outside_corpus:
        yield finding("outside", count=positives.outside_corpus)
    for what, lengths in (("Queries", task.query_lengths), ("Documents", task.document_lengths)):
        yield from _lengths(what, lengths, word_unit(task, what))


UNITS = {"characters": ("han", "japanese"), "clusters": ("thai", "lao", "khmer", "burmese")}
"""What is counted where words are not separated by spaces, by script."""


def word_unit(task: TaskValues, what: str = "Queries") -> str:
    """Return what is counted as words: characters or clusters, if nearly all texts are in a script without spaces."""
    profile = task.language_profile
    shares = (profile.query_scripts if what == "Queries" else profile.document_scripts) if profile else {}
    units = (unit for unit, scripts in UNITS.items() if sum(shares.get(one, 0.0) for one in scripts) >= NEARLY_ALL)
    return next(units, "words")


def counted(number: int, unit: str) -> str:
    """Return a number with its unit.

    >>> counted(1, "words"), counted(1200, "clusters")
    ('1 word', '1,200 clusters')
    """
    return f"{number:,} {unit.removesuffix('s') if number == 1 else unit}"


def _lengths(what: str, lengths: Lengths, unit: str) -> Iterator[Finding]:
    if lengths.words is None or lengths.tokens is None:
        return
    spread = lengths.characters
    yield finding(
        "lengths_characters" if unit == "characters" else "lengths",
        unit=unit,
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


def languages(task: TaskValues) -> Iterator[Finding]:
    """Yield the languages and scripts of queries and documents."""
    profile = task.language_profile
    if profile is not None and task.category != "code":  # the names in code are words of some language
        asked, sought = profile.query_languages, profile.document_languages
        if _one_language(profile):
            yield finding("same_language", language=language_name(next(iter(asked))))
        else:
            for what, shares in _sides(asked, sought):
                yield _languages(what, shares)
        for what, shares in _sides(profile.query_scripts, profile.document_scripts):
            yield from _scripts(what, shares)


def _scripts(what: str, shares: Mapping[str, float]) -> Iterator[Finding]:
    """Yield the scripts of texts, if there are several; texts without letters have none."""
    written = {script: share for script, share in shares.items() if script != "none"}
    facts = {"what": what, "count": len(written), "shares": _shares(written, script_name)}
    if len(written) > 1:
        bare = shares.get("none")
        yield finding("scripts_and_none", none=bare, **facts) if bare else finding("scripts", **facts)


def _one_language(profile: LanguageProfile) -> bool:
    """Return whether all queries and documents are in the same language."""
    asked = profile.query_languages
    return len(asked) == 1 and asked.keys() == profile.document_languages.keys() and UNDECIDED not in asked


def _sides(asked: Mapping[str, float], sought: Mapping[str, float]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the shares of queries and of documents; once if several are the same to two decimals of a per cent."""
    same = len(asked) > 1 and asked.keys() == sought.keys()
    if same and all(f"{asked[name]:.2%}" == f"{sought[name]:.2%}" for name in asked):
        yield "queries, and likewise the documents,", asked
    else:
        yield "queries", asked
        yield "documents", sought


def pairs(task: TaskValues) -> Iterator[Finding]:
    """Yield how queries and their relevant documents relate: languages, scripts, overlap of terms."""
    if task.language_profile is not None and task.category != "code":
        yield from _pairs(task.language_profile)
    if task.overlap is not None:
        one = task.overlap
        none = f"{one.none:.2%} of queries share none" if one.none else "every query shares at least one"
        full = f"{one.full:.2%} share all" if one.full else "no query shares all"
        yield finding("overlap", mean=one.mean, none=one.none, full=one.full, extremes=f"{none}, and {full}")


def _pairs(profile: LanguageProfile) -> Iterator[Finding]:
    """Yield the shares of pairs in one or two languages; uncertain pairs are counted separately."""
    if not profile.pairs or _one_language(profile):
        return
    facts = {
        "pairs": profile.pairs,
        "same": profile.same_language,
        "cross": profile.cross_language,
        "script": profile.cross_script,
    }
    relations = {"one language": profile.same_language, "two languages": profile.cross_language}
    whole = next((name for name, share in relations.items() if share == 1), "")
    if whole and profile.cross_script in (0, 1):
        relation = f"{whole} and two scripts" if profile.cross_script else whole
        yield finding("even_pairs", pairs=profile.pairs, relation=relation)
    elif whole:
        yield finding("even_pairs_scripts", pairs=profile.pairs, relation=whole, script=profile.cross_script)
    elif profile.undecided:
        yield finding("uncertain_pairs", undecided=profile.undecided, **facts)
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
    if len(known) == 1:
        return finding("few_in_language", what=what, language=language_name(first), hidden=hidden)
    if hidden > MOST:
        return finding("few_languages", what=what, count=len(known), shares=_shares(known), hidden=hidden)
    if hidden:
        return finding("some_languages", what=what, count=len(known), shares=_shares(known), hidden=hidden)
    return finding("languages", what=what, count=len(known), shares=_shares(known))


def _shares(shares: Mapping[str, float], named: Callable[[str], str] = language_name) -> str:
    return listed([f"{named(name)} {share:.2%}" for name, share in shares.items()], 8)
