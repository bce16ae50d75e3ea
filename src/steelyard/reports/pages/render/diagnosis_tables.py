"""The tables about failures, limits, languages and references of a task."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.reports.pages.findings.diagnosis_findings import amount, property_name
from steelyard.reports.pages.findings.diagnosis_templates import CHANGES, RULES
from steelyard.reports.pages.findings.sentences import P, language_name
from steelyard.reports.pages.measure.diagnosis_values import Diagnosis
from steelyard.reports.pages.measure.page_inputs import KINDS, LABELS, Kind
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.measure.part_values import SliceValues
from steelyard.reports.pages.render.blocks import Table, table
from steelyard.reports.pages.render.tables import decimals, with_length
from steelyard.reports.pages.thresholds import FEW
from steelyard.results.schema import with_interval
from steelyard.text.language_id.detect import UNDECIDED
from steelyard.types import Interval

EXAMPLES = 1
"""Examples of each class of the profile with the most failures."""


def _of(task: TaskValues) -> Diagnosis:
    return task.diagnosis or Diagnosis()


def percent(value: float, interval: Interval | None = None) -> str:
    """Return a share with its interval.

    >>> percent(0.5, Interval(0.25, 0.75)), percent(0.5)
    ('50.0% [25.0%, 75.0%]', '50.0%')
    """
    return f"{value:.1%}" + (f" [{interval.low:.1%}, {interval.high:.1%}]" if interval else "")


def p_value(value: float | None) -> str:
    """Return a p-value as a cell.

    >>> p_value(0.5), p_value(0.00001), p_value(None)
    ('0.5000', '< 0.0001', '-')
    """
    return "-" if value is None else f"{P(value)}".removeprefix("= ")


def failure_classes(task: TaskValues) -> Table | None:
    """Return the classes of all profiles with shares, intervals and tests."""
    rows = [
        (
            LABELS[one.profile],
            RULES[one.name][0],
            f"{one.failed:,} of {one.failures:,}",
            percent(one.share, one.interval),
            percent(one.found / one.successes) if one.successes else "-",
            p_value(one.p_value),
        )
        for one in _of(task).classes
    ]
    shown = dict.fromkeys(one.name for one in _of(task).classes)
    note = " ".join(f"{RULES[name][0].capitalize()}: {RULES[name][1]}." for name in shown)
    competitor = " The competitor is the highest document that is not relevant." if rows else ""
    columns = ("Profile", "Class", "Failed queries", "Share of failed", "Share of found", "p")
    return table(columns, rows, note + competitor)


def class_examples(task: TaskValues) -> Table | None:
    """Return an example of each class, of the profile with the most failed queries."""
    classes = [one for one in _of(task).classes if one.examples]
    if not classes:
        return None
    failures: dict[Kind, int] = {one.profile: one.failures for one in classes}
    kind = max(failures, key=lambda profile: failures[profile])
    rows = [
        (
            RULES[one.name][0],
            with_length(example.query),
            "nothing" if example.won is None else with_length(example.won),
            with_length(example.positive),
        )
        for one in classes
        if one.profile == kind
        for example in one.examples[:EXAMPLES]
    ]
    return table(("Class", "Query", f"{LABELS[kind]} put first", "Positive document"), rows)


def separators(task: TaskValues) -> Table | None:
    """Return the properties that separate found from missed queries."""
    rows = [
        (
            LABELS[one.profile],
            property_name(task, one.property),
            amount(one, one.found),
            amount(one, one.missed),
            f"{one.auc:.2f}",
            p_value(one.p_value),
        )
        for one in sorted(_of(task).separators, key=lambda one: KINDS.index(one.profile))
        if one.significant
    ]
    note = "Medians or shares of queries; AUC: the probability that a found query has the higher value." if rows else ""
    return table(("Profile", "Property", "Found", "Missed", "AUC", "p"), rows, note)


def relations(task: TaskValues) -> Table | None:
    """Return how often relevant documents in the same and in another language are found."""
    names = {"same": "language of the query", "cross": "another language"}
    rows = [
        (
            names[one.name],
            LABELS[kind],
            f"{one.pairs:,}",
            percent(one.found_at_10[kind], one.intervals.get(kind)),
            percent(one.found_at_100[kind]),
        )
        for one in _of(task).relations
        for kind in KINDS
        if kind in one.found_at_10
    ]
    return table(("Relevant document in", "Profile", "Pairs", "In the top 10", "In the top 100"), rows)


def limits(task: TaskValues) -> Table | None:
    """Return the losses of each profile, which add up to 1 with its score."""
    rows = [
        (
            LABELS[one.profile],
            *map(decimals, (one.ndcg_at_10, one.ranking_loss, one.pool_loss, one.judgement_loss)),
        )
        for one in _of(task).limits
    ]
    columns = ("Profile", "nDCG@10", "Lost in ranking", "Lost in candidates", "Out of reach")
    return table(columns, rows, "The four values of a row add up to 1." if rows else "")


def counterfactuals(task: TaskValues) -> Table | None:
    """Return the score of each change."""
    rows = [
        (
            LABELS[one.profile],
            CHANGES[one.name][:1].lower() + CHANGES[one.name][1:],
            decimals(one.before),
            decimals(one.after),
            f"{one.difference:+.4f} [{one.interval.low:+.4f}, {one.interval.high:+.4f}]",
            p_value(one.p_value),
            f"{one.changed:,} of {one.queries:,}",
        )
        for one in _of(task).counterfactuals
    ]
    return table(("Profile", "Change", "Before", "After", "Difference", "p", "Queries that change"), rows)


def language_summary(task: TaskValues) -> Table | None:
    """Return queries, documents and scores by language, if there are several."""
    profile = task.language_profile
    if profile is None:
        return None
    codes = [code for code in {**profile.query_languages, **profile.document_languages} if code != UNDECIDED]
    counts = [(_count(profile.query_languages, code, task.queries), code) for code in codes]
    counts += [(_count(profile.document_languages, code, task.documents), code) for code in codes]
    if len({code for count, code in counts if count >= FEW}) < 2:
        return None
    parts = {part.name: part for part in task.slices if part.dimension == "language"}
    undeclared = _of(task).undeclared
    rows = [
        (
            language_name(code),
            f"{_count(profile.query_languages, code, task.queries):,}",
            f"{_count(profile.document_languages, code, task.documents):,}",
            *(_slice_score(parts, code, one.kind) for one in task.main),
            *(("no" if code in undeclared.languages else "yes",) if undeclared else ()),
        )
        for code in codes
    ]
    declared = (f"Listed by {undeclared.model}",) if undeclared else ()
    scores = (f"{one.label} nDCG@10" for one in task.main)
    return table(("Language", "Queries", "Documents", *scores, *declared), rows)


def _count(shares: Mapping[str, float], code: str, total: int) -> int:
    return round(shares.get(code, 0.0) * total)


def _slice_score(parts: Mapping[str, SliceValues], code: str, kind: Kind) -> str:
    part = parts.get(code)
    return "-" if part is None else with_interval(part.ndcg_at_10[kind], part.intervals.get(kind))


def snippets(task: TaskValues) -> Table | None:
    """Return queries with the part of a relevant document that shares most of their terms."""
    rows = ((one.query, one.snippet, f"{one.shared} of {one.terms}") for one in _of(task).snippets)
    return table(("Query", "Snippet of a positive document", "Shared terms"), rows)
