"""Which queries set the profiles apart, where the best one loses, and what that advises."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings.sentences import Finding, P, finding, language_name, listed, script_name
from steelyard.reports.pages.measure.inputs import LABELS
from steelyard.reports.pages.measure.page_values import TaskFigures
from steelyard.reports.pages.measure.values import SliceFigures
from steelyard.reports.pages.render.tables import pair_in_words
from steelyard.reports.pages.thresholds import FEWEST, SIGNIFICANT, SOME, WEAK
from steelyard.text.language_id.detect import UNDECIDED

NOTES = 4
"""Slices that the improvement notes name at most, the widest gaps first."""


def slices(figures: TaskFigures) -> Iterator[Finding]:
    """Slices where another profile leads than on the whole, and what overlap does."""
    best = figures.best
    led = [part for part in figures.slices if best and part.best != best.kind and not part.rivals]
    # A script and its only language are the same queries: the first to name them is enough.
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
    rho, p = figures.overlap_gain_correlation, figures.overlap_gain_p_value
    if rho is not None and p is not None and p < SIGNIFICANT:
        facts = {"more": "more" if rho > 0 else "fewer", "rho": rho, "p": P(p)}
        yield finding("overlap_gain", **facts) if abs(rho) >= WEAK else finding("weak_overlap_gain", **facts)
    if not any(True for part in figures.slices for p in part.rest_p_values.values() if p < SIGNIFICANT):
        yield finding("no_slices")


def where(part: SliceFigures) -> str:
    """The slice in a sentence."""
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
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def weak_slices(figures: TaskFigures) -> list[SliceFigures]:
    """Slices on which the best profile is below the other queries beyond doubt, the widest gap first.

    A script and its only language are one set of queries: it is named once.
    """
    best = figures.best
    if best is None:
        return []
    weak = [
        part
        for part in figures.slices
        if part.rest_p_values.get(best.kind, 1.0) < SIGNIFICANT and part.against_rest[best.kind] < 0
    ]
    ranked = sorted(weak, key=lambda part: part.against_rest[best.kind])
    distinct = {(part.queries, round(part.against_rest[best.kind], 12)): part for part in reversed(ranked)}
    return sorted(distinct.values(), key=lambda part: part.against_rest[best.kind])[:NOTES]


def training(figures: TaskFigures) -> Iterator[Finding]:
    """What the figures can say of training data."""
    yield finding("not_tried")
    weak = weak_slices(figures)
    if weak and figures.best is not None:
        yield finding("try_first", best=figures.best.label, slices=listed([where(part) for part in weak]))


def _joining(figures: TaskFigures) -> Iterator[Finding]:
    """Whether the hybrid is significantly below the best profile, or above all others."""
    best = figures.best
    tests = [test for test in figures.comparisons if best is not None and test.better == best.kind]
    if best is None or not tests:
        return
    if best.kind == "hybrid" and not figures.rivals:
        next_best = min(tests, key=lambda test: test.difference)
        p = P(max(test.p_value for test in tests))
        yield finding("hybrid_helps", difference=next_best.difference, other=LABELS[next_best.worse], p=p)
    for test in tests:
        if test.worse == "hybrid" and test.significant:
            yield finding("hybrid_hurts", difference=test.difference, best=best.label, p=P(test.p_value))


def improvement(figures: TaskFigures) -> Iterator[Finding]:
    """Where the best profile loses, whether joining lists pays, and what reordering could add."""
    best, count = figures.best, 0
    for part in weak_slices(figures):
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
    for told in _joining(figures):
        count += 1
        yield told
    if best is not None and best.perfect_rerank_ndcg_at_10 is not None:
        gain = best.perfect_rerank_ndcg_at_10 - best.ndcg_at_10
        if gain >= SOME:
            count += 1
            yield finding("room_for_reranking", gain=gain, label=best.label)
    if not count:
        yield finding("no_advice")
