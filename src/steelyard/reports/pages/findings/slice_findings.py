"""Findings about slices of queries: where another profile leads, where the best is weak, what to improve."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings.sentences import Finding, P, finding, language_name, script_name
from steelyard.reports.pages.measure.page_inputs import LABELS
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.measure.part_values import ProfileValues, SliceValues
from steelyard.reports.pages.render.tables import pair_in_words
from steelyard.reports.pages.thresholds import FEWEST, MOST, SIGNIFICANT, SOME, WEAK
from steelyard.text.language_id.detect import UNDECIDED

RELATIONS = {
    "same language": "on queries answered in their own language",
    "another language": "on queries answered only in another language",
    "both": "on queries answered in their own and in other languages",
    UNDECIDED: "on pairs whose languages are undecided",
}
ORDERED = ("query length", "overlap")
"""Dimensions whose slices are classes in order."""
NOTABLE = 0.01
"""A difference in nDCG@10 from which a change is worth a note."""
NOTES = 4
"""Maximum number of slices in the improvement notes, largest differences first."""


def slices(task: TaskValues) -> Iterator[Finding]:
    """Yield slices where another profile leads than on the whole task, and the effect of overlap."""
    best = task.best
    led = [
        part
        for part in comparable_slices(task)
        if best and part.best != best.kind and not part.tied and not part.undeclared
    ]
    # A script and its only language are the same queries: name them once.
    distinct = {(part.queries, tuple(part.ndcg_at_10.values())): part for part in reversed(led)}
    for part in reversed(distinct.values()):
        if best is not None and part.queries >= FEWEST:
            yield finding(
                "slice_leader",
                where=sentence_case(where(part)),
                queries=part.queries,
                best=LABELS[part.best],
                score=part.ndcg_at_10[part.best],
                whole=best.label,
            )
    rho, p = task.overlap_gain_correlation, task.overlap_gain_p_value
    undeclared = task.diagnosis.undeclared if task.diagnosis else None
    odd = undeclared is not None and undeclared.queries > MOST * task.queries  # no evidence about a dense model
    if rho is not None and p is not None and p < SIGNIFICANT and not odd:
        facts = {"more": "more" if rho > 0 else "fewer", "rho": rho, "p": P(p)}
        yield finding("overlap_gain", **facts) if abs(rho) >= WEAK else finding("weak_overlap_gain", **facts)
    if not any(True for part in task.slices for p in part.rest_p_values.values() if p < SIGNIFICANT):
        yield finding("no_slices")


def comparable_slices(task: TaskValues) -> list[SliceValues]:
    """Return the slices that mean the same for all queries: no lengths in characters if several scripts are frequent.

    A question has three times as many characters in English as in Chinese, so that classes of length are languages.
    """
    scripts = task.language_profile.query_scripts if task.language_profile else {}
    mixed = sum(share >= SOME for share in scripts.values()) > 1
    return [part for part in task.slices if not (mixed and part.dimension == "query length")]


def where(part: SliceValues) -> str:
    """Return the name of a slice for a sentence."""
    if part.dimension == "relation":
        return RELATIONS[part.name]
    if part.dimension == "language":
        return (
            f"on queries in {language_name(part.name)}"
            if part.name != UNDECIDED
            else "on queries of undecided language"
        )
    if part.dimension == "languages of the pair":
        known = part.name != UNDECIDED
        return f"on pairs {pair_in_words(part.name)}" if known else "on pairs whose languages are undecided"
    if part.dimension == "script":
        return f"on queries in {script_name(part.name)} script" if part.name != "none" else "on queries without letters"
    if part.dimension == "query length":
        return f"on queries of {part.name}"
    return f"on queries of {part.name.replace(' ', ' overlap ', 1) if ' ' in part.name else f'{part.name} overlap'}"


def sentence_case(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def weak_slices(task: TaskValues) -> list[SliceValues]:
    """Return slices on which the best profile is significantly weaker than on the other queries, weakest first.

    A script and its only language are the same queries and are named once. Slices in languages that the dense model
    does not declare are left out, and so is a class of lengths or overlap next to a weaker one that is large enough.
    """
    best = task.best
    if best is None:
        return []
    weak = [
        part
        for part in comparable_slices(task)
        if part.rest_p_values.get(best.kind, 1.0) < SIGNIFICANT
        and part.against_rest[best.kind] < 0
        and not part.undeclared
        and part.name != UNDECIDED
    ]
    weak = [part for part in weak if not any(_below(other, part, best) and other.queries >= FEWEST for other in weak)]
    ranked = sorted(weak, key=lambda part: part.against_rest[best.kind])
    distinct = {(part.queries, round(part.against_rest[best.kind], 12)): part for part in reversed(ranked)}
    return sorted(distinct.values(), key=lambda part: part.against_rest[best.kind])[:NOTES]


def _below(other: SliceValues, part: SliceValues, best: ProfileValues) -> bool:
    """Return whether another class of the same lengths or overlap has a lower score."""
    ordered = other.dimension == part.dimension and part.dimension in ORDERED
    return ordered and other.ndcg_at_10[best.kind] < part.ndcg_at_10[best.kind]


def lower_class(task: TaskValues, part: SliceValues, best: ProfileValues) -> Iterator[Finding]:
    """Yield the class of the same lengths or overlap that is lower than a weak one, but too small to test."""
    lower = [other for other in task.slices if _below(other, part, best) and other.queries < FEWEST]
    for one in sorted(lower, key=lambda other: other.ndcg_at_10[best.kind])[:1]:
        score = one.ndcg_at_10[best.kind]
        yield finding("lower_class", label=best.label, where=where(one), score=score, queries=one.queries)


def fusion(task: TaskValues) -> Iterator[Finding]:
    """Yield whether the fusion is significantly below the best profile, or above all others."""
    best = task.best
    tests = [test for test in task.comparisons if best is not None and test.better == best.kind]
    if best is None or not tests:
        return
    if best.kind == "hybrid" and not task.tied:
        next_best = min(tests, key=lambda test: test.difference)
        p = P(max(test.p_value for test in tests))
        kind = "hybrid_helps" if next_best.difference >= NOTABLE else "hybrid_helps_little"
        yield finding(kind, difference=next_best.difference, other=LABELS[next_best.worse], p=p)
    for test in tests:
        if test.worse == "hybrid" and test.significant:
            kind = "hybrid_hurts" if test.difference >= NOTABLE else "hybrid_hurts_little"
            yield finding(kind, difference=test.difference, best=best.label, p=P(test.p_value))
