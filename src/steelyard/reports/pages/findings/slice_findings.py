"""Findings about slices of queries: where another profile leads, where the best is weak, what to improve."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings.sentences import Finding, P, finding, language_name, listed, script_name
from steelyard.reports.pages.measure.page_inputs import LABELS
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.measure.part_values import SliceValues
from steelyard.reports.pages.render.tables import pair_in_words
from steelyard.reports.pages.thresholds import FEWEST, SIGNIFICANT, SOME, WEAK
from steelyard.text.language_id.detect import UNDECIDED

NOTES = 4
"""Maximum number of slices in the improvement notes, largest differences first."""


def slices(task: TaskValues) -> Iterator[Finding]:
    """Yield slices where another profile leads than on the whole task, and the effect of overlap."""
    best = task.best
    led = [part for part in task.slices if best and part.best != best.kind and not part.tied]
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
    if rho is not None and p is not None and p < SIGNIFICANT:
        facts = {"more": "more" if rho > 0 else "fewer", "rho": rho, "p": P(p)}
        yield finding("overlap_gain", **facts) if abs(rho) >= WEAK else finding("weak_overlap_gain", **facts)
    if not any(True for part in task.slices for p in part.rest_p_values.values() if p < SIGNIFICANT):
        yield finding("no_slices")


def where(part: SliceValues) -> str:
    """Return the name of a slice for a sentence."""
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

    A script and its only language are the same queries and are named once.
    """
    best = task.best
    if best is None:
        return []
    weak = [
        part
        for part in task.slices
        if part.rest_p_values.get(best.kind, 1.0) < SIGNIFICANT and part.against_rest[best.kind] < 0
    ]
    ranked = sorted(weak, key=lambda part: part.against_rest[best.kind])
    distinct = {(part.queries, round(part.against_rest[best.kind], 12)): part for part in reversed(ranked)}
    return sorted(distinct.values(), key=lambda part: part.against_rest[best.kind])[:NOTES]


def training(task: TaskValues) -> Iterator[Finding]:
    """Yield findings about training data."""
    yield finding("not_tried")
    weak = weak_slices(task)
    if weak and task.best is not None:
        yield finding("try_first", best=task.best.label, slices=listed([where(part) for part in weak]))


def _fusion(task: TaskValues) -> Iterator[Finding]:
    """Yield whether the fusion is significantly below the best profile, or above all others."""
    best = task.best
    tests = [test for test in task.comparisons if best is not None and test.better == best.kind]
    if best is None or not tests:
        return
    if best.kind == "hybrid" and not task.tied:
        next_best = min(tests, key=lambda test: test.difference)
        p = P(max(test.p_value for test in tests))
        yield finding("hybrid_helps", difference=next_best.difference, other=LABELS[next_best.worse], p=p)
    for test in tests:
        if test.worse == "hybrid" and test.significant:
            yield finding("hybrid_hurts", difference=test.difference, best=best.label, p=P(test.p_value))


def improvement(task: TaskValues) -> Iterator[Finding]:
    """Yield where the best profile is weak, whether fusion helps, and what reranking could add."""
    best, count = task.best, 0
    for part in weak_slices(task):
        assert best is not None
        count += 1
        yield finding(
            "weak_slice",
            label=best.label,
            difference=-part.against_rest[best.kind],
            where=where(part),
            queries=part.queries,
            score=part.ndcg_at_10[best.kind],
            p=P(part.rest_p_values[best.kind]),
        )
    for one in _fusion(task):
        count += 1
        yield one
    if best is not None and best.perfect_rerank_ndcg_at_10 is not None:
        gain = best.perfect_rerank_ndcg_at_10 - best.ndcg_at_10
        if gain >= SOME:
            count += 1
            yield finding("room_for_reranking", gain=gain, label=best.label)
    if not count:
        yield finding("no_advice")
