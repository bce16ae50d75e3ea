"""The findings of a task, section by section. Only significant differences are claimed."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings.diagnosis_findings import declared_languages
from steelyard.reports.pages.findings.sentences import (
    TEMPLATES,
    Finding,
    P,
    finding,
    isolated,
    language_name,
    listed,
)
from steelyard.reports.pages.findings.text_findings import word_unit
from steelyard.reports.pages.measure.page_inputs import LABELS, Kind
from steelyard.reports.pages.measure.page_values import MULTILINGUAL, TaskValues
from steelyard.reports.pages.measure.part_values import Comparison, Draft, ProfileValues
from steelyard.reports.pages.measure.query_properties import CASED, NOUNS_TOO
from steelyard.reports.pages.thresholds import FOUND, NEARLY_ALL, SAFEGUARDS, SOME
from steelyard.results.schema import with_interval
from steelyard.text.language_id.detect import UNDECIDED


def overview(task: TaskValues) -> Iterator[Finding]:
    """Yield the size, the relevant documents, and the best profile."""
    yield finding(
        "task_size",
        name=task.name,
        queries=task.queries,
        documents=task.documents,
        positives=task.positives.count,
        type=task.type,
        focus=task.focus or "kind of texts unknown",
    )
    yield _positives_in_short(task)
    yield from strongest(task)


def _positives_in_short(task: TaskValues) -> Finding:
    positives = task.positives
    if positives.min == positives.max == 1:
        return finding("single_positive")
    if positives.min == positives.max:
        return finding("even_positive", count=positives.max)
    if positives.multi_positive_queries == task.queries:
        return finding("all_multi_positive", mean=positives.mean, median=positives.median, max=positives.max)
    return finding(
        "multi_positive",
        several=positives.multi_positive_queries,
        queries=task.queries,
        share=positives.multi_positive_share,
        mean=positives.mean,
        median=positives.median,
        max=positives.max,
    )


def strongest(task: TaskValues) -> Iterator[Finding]:
    """Yield the best profile, and whether its lead is significant."""
    best = task.best
    if best is None:
        return
    tests = [test for test in task.comparisons if test.better == best.kind]
    if not tests:
        yield finding("highest", best=best.label, score=best.ndcg_at_10)
    elif task.tied:
        close = P(max(test.p_value for test in tests))
        others, which = listed([profile.label for profile in task.tied]), _which(len(task.tied))
        yield finding("strongest_shared", best=best.label, score=best.ndcg_at_10, rivals=others, p=close, which=which)
    else:
        others = listed([LABELS[test.worse] for test in tests])
        p, which = P(max(test.p_value for test in tests)), _which(len(tests))
        yield finding("strongest", best=best.label, score=best.ndcg_at_10, others=others, p=p, which=which)


def _which(tests: int) -> str:
    return "p" if tests == 1 else "largest p"


def measures(task: TaskValues) -> Iterator[Finding]:
    """Yield whether the data is described, and which cards could not be read."""
    if not task.description and not task.cards:
        yield finding("not_described")
    for name, reason in task.unread_cards.items():
        yield finding("unread_card", name=name, reason=reason.rstrip("."))


def declared(task: TaskValues) -> Iterator[Finding]:
    """Yield what the source declares, and where the identified languages disagree."""
    facts = {"category": task.category.replace("_", " "), "licence": task.licence or "not stated"}
    codes = task.declared_languages
    if codes:
        noun = "languages" if len(codes) > 1 else "language"
        yield finding("declared", noun=noun, language=listed([language_name(code) for code in codes]), **facts)
    else:
        yield finding("declared_several" if task.language == MULTILINGUAL else "declared_none", **facts)
    yield from declared_languages(task)


def language_notes(task: TaskValues) -> Iterator[Finding]:
    """Yield the recorded notes on languages."""
    if task.language_notes:
        yield finding("recorded_languages", text=task.language_notes.rstrip("."))


def rerank(task: TaskValues) -> Iterator[Finding]:
    """Yield whether the lists are recorded as a good test of rerankers."""
    if task.rerank_suitability:
        yield finding("recorded_rerank", text=task.rerank_suitability.rstrip("."))


def profile(task: TaskValues, kind: Kind) -> Iterator[Finding]:
    """Yield the scores and lists of one profile."""
    values = task.profile(kind)
    if values is None:
        yield finding("no_profile")
        return
    mean = values.recall_at_100 if values.recall_at_100 is not None else values.pooled_recall_at_100
    yield finding(
        "profile",
        label=values.label,
        config=values.config,
        origin=_origin(task, values),
        ndcg=with_interval(values.ndcg_at_10, values.intervals.get("ndcg_at_10")),
        hit=with_interval(values.hit_rate_at_10, values.intervals.get("hit_rate_at_10")),
        recall=with_interval(mean, values.intervals.get("recall_at_100")),
    )
    pooled = values.pooled_recall_at_100
    if mean is not None and pooled is not None and abs(mean - pooled) >= 0.00005:
        yield finding("pooled", pooled=pooled)
    yield from _lists(task, values)


def _origin(task: TaskValues, one: ProfileValues) -> str:
    if one.stored:
        return "lists stored with the set"
    return f"{'ranked' if task.type == 'reranking' else 'searched'} for this page"


def _lists(task: TaskValues, values: ProfileValues) -> Iterator[Finding]:
    if values.candidates_min is not None and values.candidates_min == values.candidates_max:
        yield finding("even_candidates", count=values.candidates_min)
    elif values.candidates_mean is not None:
        yield finding("candidates", mean=values.candidates_mean, min=values.candidates_min, max=values.candidates_max)
    if values.safeguard_rows:
        share = values.safeguard_rows / max(task.queries, 1)
        yield finding("safeguards", rows=values.safeguard_rows, share=share)
        if share >= SAFEGUARDS:
            yield finding("many_safeguards")
    if values.first_positive:
        ranks = values.first_positive
        ten = ranks["1"] + ranks["2-3"] + ranks["4-10"]
        hundred = ten + ranks["11-100"]
        yield finding("first_positive", first=ranks["1"], ten=ten, hundred=hundred)
        lost = ranks["not found"]
        yield finding("never_found", lost=lost) if lost else finding("always_found")


def comparisons(task: TaskValues, kind: Kind) -> Iterator[Finding]:
    """Yield the tested differences of a profile from the others."""
    for test in task.comparisons:
        if kind in (test.better, test.worse):
            yield _comparison(test, kind)


def _comparison(test: Comparison, kind: Kind) -> Finding:
    better = test.better == kind
    other = LABELS[test.worse if better else test.better]
    if not test.wins and not test.losses:
        return finding("equal", other=other)
    if not test.significant:
        signed = test.difference if better else -test.difference
        if abs(signed) < 0.00005:
            return finding("tiny_difference", other=other, p=P(test.p_value))
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


def tendencies(task: TaskValues) -> Iterator[Finding]:
    """Yield the properties of the queries."""
    values = task.tendencies
    if values is None:
        return
    if values.questions >= SOME:
        words = listed([f"{isolated(f'“{word}”')} {count:,}" for word, count in values.question_words.items()])
        shown = f" ({words})" if words else ""
        every = values.questions == 1
        yield (
            finding("all_questions", words=shown)
            if every
            else finding("questions", share=values.questions, words=shown)
        )
    elif values.questions:
        yield finding("no_questions", share=values.questions)
    else:
        yield finding("without_questions")
    unit = word_unit(task)
    shares = [(name.replace("words", unit), share) for name, share in values.length_classes.items() if share]
    classes = listed([f"{share:.2%} {'' if place else 'have '}{name}" for place, (name, share) in enumerate(shares)])
    yield finding("query_characters" if unit == "characters" else "query_classes", classes=classes)
    if values.numbers:
        yield finding("numbers" if values.numbers >= SOME else "few_numbers", share=values.numbers)
    else:
        yield finding("without_numbers")
    if task.category != "code":  # capital letters do not mark names in code
        yield _names(task, values.names)
    if not values.duplicate_queries and not values.duplicate_documents:
        yield finding("no_duplicates")
    for kind, count in (
        ("duplicate_queries", values.duplicate_queries),
        ("duplicate_documents", values.duplicate_documents),
        ("queries_in_corpus", values.queries_that_are_documents),
    ):
        if count:
            yield finding(kind, count=count)


def _names(task: TaskValues, share: float | None) -> Finding:
    languages = task.language_profile.query_languages if task.language_profile else {}
    scripts = task.language_profile.query_scripts if task.language_profile else {}
    if share is None:
        uncased = sum(of for script, of in scripts.items() if script not in CASED) >= NEARLY_ALL
        return finding("names_uncased" if uncased else "names_unknown")
    if not share:
        return finding("without_names")
    every = {*scripts} <= CASED and not {*languages} & {*NOUNS_TOO, UNDECIDED}
    kinds = ("all_names", "all_few_names") if every else ("names", "few_names")
    return finding(kinds[share < SOME], share=share)


def drafted(draft: Draft) -> Iterator[Finding]:
    """Yield which sections a model drafted, and how many of its sentences were dropped."""
    sections = listed([one.heading for one in draft.notes]) or "none"
    yield finding("drafted", model=draft.model, sections=sections)
    yield finding("notes_dropped", count=len(draft.dropped))


def failures(task: TaskValues) -> Iterator[Finding]:
    """Yield the number of queries of each kind of failure."""
    yield finding("found_means", found=FOUND)
    for mode in task.failures:
        if mode.queries:
            yield finding(mode.mode, queries=mode.queries, share=mode.share)
        else:
            yield finding("empty_mode", mode=TEMPLATES[mode.mode].partition(":")[0])


def leakage(task: TaskValues) -> Iterator[Finding]:
    """Yield what is known about leakage."""
    if task.leakage.audit == "not_audited":
        yield finding("not_audited")
    else:
        yield finding("audited", status=task.leakage.audit)
    signs = task.leakage.signs
    if any(signs.values()):
        named = listed([f"{name.replace('_', ' ')}: {count:,}" for name, count in signs.items()])
        yield finding("leakage_signs", signs=named)
    elif signs:
        yield finding("no_leakage_signs")
    if task.leakage.note:
        yield finding("keep_out", note=task.leakage.note)
