"""What the figures of a task say, section by section. What is not significant is not claimed."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings.sentences import Finding, P, finding, isolated, language_name, listed
from steelyard.reports.pages.measure.inputs import LABELS, Kind
from steelyard.reports.pages.measure.page_values import TaskFigures
from steelyard.reports.pages.measure.values import Comparison, ProfileFigures
from steelyard.reports.pages.thresholds import FOUND, SAFEGUARDS, SOME
from steelyard.results.schema import with_interval


def overview(figures: TaskFigures) -> Iterator[Finding]:
    """Size, positives, and which profile is strongest."""
    yield finding(
        "task_size",
        name=figures.name,
        queries=figures.queries,
        documents=figures.documents,
        positives=figures.positives.count,
        focus=figures.focus or "no focus was told",
    )
    yield _positives_in_short(figures)
    yield from strongest(figures)


def _positives_in_short(figures: TaskFigures) -> Finding:
    one = figures.positives
    if one.min == one.max == 1:
        return finding("single_positive")
    if one.multi_positive_queries == figures.queries:
        return finding("all_multi_positive", mean=one.mean, median=one.median, max=one.max)
    return finding(
        "multi_positive",
        several=one.multi_positive_queries,
        queries=figures.queries,
        share=one.multi_positive_share,
        mean=one.mean,
        median=one.median,
        max=one.max,
    )


def strongest(figures: TaskFigures) -> Iterator[Finding]:
    """The best profile, and whether its lead is one."""
    best = figures.best
    if best is None:
        return
    tests = [test for test in figures.comparisons if test.better == best.kind]
    if not tests:
        yield finding("highest", best=best.label, score=best.ndcg_at_10)
    elif figures.rivals:
        close = max(test.p_value for test in tests)
        rivals = listed([rival.label for rival in figures.rivals])
        yield finding("strongest_shared", best=best.label, score=best.ndcg_at_10, rivals=rivals, p=P(close))
    else:
        others = listed([LABELS[test.worse] for test in tests])
        p = max(test.p_value for test in tests)
        yield finding("strongest", best=best.label, score=best.ndcg_at_10, others=others, p=P(p))


def measures(figures: TaskFigures) -> Iterator[Finding]:
    """What others say of the data."""
    yield finding("described" if figures.description else "not_described")


def declared(figures: TaskFigures) -> Finding:
    """What the source declares."""
    spoken = listed([language_name(code) for code in figures.languages]) or figures.language
    noun = "languages" if len(figures.languages) > 1 else "language"
    return finding(
        "declared", noun=noun, language=spoken, category=figures.category, licence=figures.licence or "not stated"
    )


def profile(figures: TaskFigures, kind: Kind) -> Iterator[Finding]:
    """The figures of one profile."""
    one = figures.profile(kind)
    if one is None:
        yield finding("no_profile")
        return
    mean = one.recall_at_100 if one.recall_at_100 is not None else one.pooled_recall_at_100
    yield finding(
        "profile",
        label=one.label,
        config=one.config,
        origin=_origin(figures, one),
        ndcg=with_interval(one.ndcg_at_10, one.intervals.get("ndcg_at_10")),
        hit=with_interval(one.hit_rate_at_10, one.intervals.get("hit_rate_at_10")),
        recall=with_interval(mean, one.intervals.get("recall_at_100")),
    )
    pooled = one.pooled_recall_at_100
    if mean is not None and pooled is not None and abs(mean - pooled) >= 0.00005:
        yield finding("pooled", pooled=pooled)
    yield from _lists(figures, one)


def _origin(figures: TaskFigures, one: ProfileFigures) -> str:
    if one.stored:
        return "lists stored with the set"
    return f"{'ranked' if figures.type == 'reranking' else 'searched'} for this page"


def _lists(figures: TaskFigures, one: ProfileFigures) -> Iterator[Finding]:
    if one.candidates_min is not None and one.candidates_min == one.candidates_max:
        yield finding("even_candidates", count=one.candidates_min)
    elif one.candidates_mean is not None:
        yield finding("candidates", mean=one.candidates_mean, min=one.candidates_min, max=one.candidates_max)
    if one.safeguard_rows:
        share = one.safeguard_rows / max(figures.queries, 1)
        yield finding("safeguards", rows=one.safeguard_rows, share=share)
        if share >= SAFEGUARDS:
            yield finding("many_safeguards")
    if one.first_positive:
        ranks = one.first_positive
        ten = ranks["1"] + ranks["2-3"] + ranks["4-10"]
        hundred = ten + ranks["11-100"]
        yield finding("first_positive", first=ranks["1"], ten=ten, hundred=hundred)
        lost = ranks["not found"]
        yield finding("never_found", lost=lost) if lost else finding("always_found")


def comparisons(figures: TaskFigures, kind: Kind) -> Iterator[Finding]:
    """How a profile stands to the others, where that was tested."""
    for test in figures.comparisons:
        if kind in (test.better, test.worse):
            yield _comparison(test, kind)


def _comparison(test: Comparison, kind: Kind) -> Finding:
    better = test.better == kind
    other = LABELS[test.worse if better else test.better]
    if not test.significant:
        signed = test.difference if better else -test.difference
        return finding("no_difference", other=other, difference=signed, p=P(test.p_value))
    return finding(
        "better" if better else "worse",
        other=other,
        difference=test.difference,
        low=test.interval.low,
        high=test.interval.high,
        p=P(test.p_value),
        wins=test.wins,
        ties=test.ties,
        losses=test.losses,
    )


def tendencies(figures: TaskFigures) -> Iterator[Finding]:
    """What queries are like."""
    one = figures.tendencies
    if one is None:
        return
    if one.questions >= SOME:
        words = listed([f"{isolated(f'“{word}”')} {count:,}" for word, count in one.question_words.items()])
        yield finding("questions", share=one.questions, words=f" ({words})" if words else "")
    elif one.questions:
        yield finding("no_questions", share=one.questions)
    else:
        yield finding("without_questions")
    classes = listed([f"{name} {share:.2%}" for name, share in one.length_classes.items() if share])
    yield finding("query_classes", classes=classes)
    if one.numbers:
        yield finding("numbers" if one.numbers >= SOME else "few_numbers", share=one.numbers)
    else:
        yield finding("without_numbers")
    if figures.category != "code":  # where a capital is no sign of a name
        yield _names(one.names)
    if not one.duplicate_queries and not one.duplicate_documents:
        yield finding("no_duplicates")
    for kind, count in (
        ("duplicate_queries", one.duplicate_queries),
        ("duplicate_documents", one.duplicate_documents),
        ("queries_in_corpus", one.queries_that_are_documents),
    ):
        if count:
            yield finding(kind, count=count)


def _names(share: float | None) -> Finding:
    if share is None:
        return finding("names_unknown")
    if not share:
        return finding("without_names")
    return finding("names" if share >= SOME else "few_names", share=share)


def failures(figures: TaskFigures) -> Iterator[Finding]:
    """How many queries went badly, in which way."""
    yield finding("found_means", found=FOUND)
    for mode in figures.failures:
        yield finding(mode.mode, queries=mode.queries, share=mode.share)


def leakage(figures: TaskFigures) -> Iterator[Finding]:
    """What is known of leakage."""
    if figures.leakage.audit == "not_audited":
        yield finding("not_audited")
    else:
        yield finding("audited", status=figures.leakage.audit)
    if figures.leakage.note:
        yield finding("keep_out", note=figures.leakage.note)
