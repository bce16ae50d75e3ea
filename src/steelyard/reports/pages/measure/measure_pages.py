"""Measure all values of a task's page from the task and its runs, and those of a group's page from its tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.config import Settings
from steelyard.reports.pages.diagnose.cross_language import undeclared
from steelyard.reports.pages.diagnose.diagnose_task import diagnose
from steelyard.reports.pages.diagnose.evidence import Evidence
from steelyard.reports.pages.measure.failure_modes import examples, failures
from steelyard.reports.pages.measure.origins import leakage, origin
from steelyard.reports.pages.measure.page_inputs import KINDS, Context, Kind, Profile
from steelyard.reports.pages.measure.page_values import GroupValues, LanguageRow, TaskValues
from steelyard.reports.pages.measure.part_values import (
    Bubble,
    LanguageProfile,
    Lengths,
    Positives,
    ProfileValues,
    PublishedCount,
    PublishedScore,
    Tendencies,
)
from steelyard.reports.pages.measure.profile_scores import Measured, by_kind, ceiling, compare_values, measure_all
from steelyard.reports.pages.measure.query_properties import tendencies
from steelyard.reports.pages.measure.query_slices import slices
from steelyard.reports.pages.measure.significance import spearman
from steelyard.reports.pages.measure.text_languages import Reading, language_profile, overlap, read
from steelyard.reports.pages.measure.text_lengths import lengths
from steelyard.reports.pages.thresholds import MOST, NEARLY_ALL, PASSAGE_WORDS, QUESTIONS, SENTENCE_WORDS, SHORT_WORDS
from steelyard.types import Interval, Task

STEPS = ("languages", "lengths", "profiles", "slices", "diagnosis")
"""The steps of `measure_task`, in order."""

PUBLISHED = {
    "ndcg_at_10": "ndcg_at_10",
    "hit_at_10": "hit_rate_at_10",
    "pooled_recall_at_100": "pooled_recall_at_100",
}
"""The names of published scores (after the profile's), and ours."""


def measure_task(
    task: Task,
    profiles: Sequence[Profile],
    context: Context | None = None,
    at: Callable[[str], None] = lambda step: None,
    settings: Settings | None = None,
) -> TaskValues:
    """Return all values of a task's page; `at` is called with each of the `STEPS` when it begins."""
    context = context or Context()
    info = task.info
    at("languages")
    reading = read(task)
    languages, tendency = language_profile(reading), tendencies(task, reading)
    at("lengths")
    query_lengths, document_lengths = lengths(task.queries.texts, settings), lengths(task.corpus.texts, settings)
    at("profiles")
    measured = measure_all(task, profiles)
    main = [one for one in measured if one.kind in KINDS]
    compared = compare_values({one.kind: one.ndcg for one in main})
    at("slices")
    evidence = Evidence(task, reading)
    model, affected = undeclared(evidence, main)
    slice_values = slices(task, reading, main, affected)
    bubbles, correlation = _gains(reading, main)
    at("diagnosis")
    highest = ceiling(task)
    diagnosis = diagnose(evidence, main, highest, model, affected) if main else None
    return TaskValues(
        **origin(info, context),
        queries=len(task.queries),
        documents=len(task.corpus),
        positives=positives(task),
        query_lengths=query_lengths,
        document_lengths=document_lengths,
        profiles=tuple(one.values for one in measured),
        focus=info.metadata.retrieval_focus
        or focus(info.category, tendency, languages, query_lengths, document_lengths),
        content_hash=task.content_hash,
        language_profile=languages,
        overlap=overlap(reading.overlap),
        tendencies=tendency,
        comparisons=compared,
        slices=slice_values,
        failures=failures(task, main),
        overlap_gain=bubbles,
        overlap_gain_correlation=correlation[0] if correlation else None,
        overlap_gain_p_value=correlation[1] if correlation else None,
        ceiling=highest,
        diagnosis=diagnosis,
        examples=examples(task),
        leakage=leakage(task, context.audit, context.signs),
        published=published_scores(main, context),
        published_counts=published_counts(task, context.published_counts),
    )


def positives(task: Task) -> Positives:
    """Return the numbers of relevant documents of the queries."""
    counts = task.qrels.positives
    several = int((counts > 1).sum())
    return Positives(
        count=int(counts.sum()),
        mean=float(counts.mean()) if len(counts) else 0.0,
        min=int(counts.min(initial=counts.max(initial=0))),
        median=float(np.median(counts)) if len(counts) else 0.0,
        max=int(counts.max(initial=0)),
        multi_positive_queries=several,
        multi_positive_share=several / max(len(counts), 1),
        judgements=len(task.qrels.rows),
        outside_corpus=int(((task.qrels.rows < 0) & (task.qrels.grades > 0)).sum()),
        queries_without=int((counts == 0).sum()),
        grades=_grades(task),
    )


def _grades(task: Task) -> dict[str, int]:
    grades, counts = np.unique(task.qrels.grades[task.qrels.grades > 0], return_counts=True)
    named = {f"{grade:g}": int(count) for grade, count in zip(grades.tolist(), counts.tolist(), strict=True)}
    return named if len(named) > 1 else {}


def focus(
    category: str, tendency: Tendencies, languages: LanguageProfile, query_lengths: Lengths, document_lengths: Lengths
) -> str:
    """Return the kind of queries and documents, from lengths, question words, category and languages."""
    query_words = query_lengths.words.median if query_lengths.words else 0.0
    document_words = document_lengths.words.median if document_lengths.words else 0.0
    if tendency.questions > QUESTIONS:
        left = "question"
    elif query_words <= SHORT_WORDS:
        left = "short query"
    else:
        left = "sentence" if query_words <= SENTENCE_WORDS else "passage"
    sizes = ((SHORT_WORDS, "short text"), (SENTENCE_WORDS, "sentence"), (PASSAGE_WORDS, "passage"))
    right = next((name for most, name in sizes if document_words <= most), "long text")
    if category == "code":
        return f"{left} to {right}, code"
    if languages.cross_language <= MOST:
        return f"{left} to {right}"
    return f"{left} to {right}{'' if languages.cross_language >= NEARLY_ALL else ', mostly'} in another language"


def _gains(reading: Reading, main: Sequence[Measured]) -> tuple[tuple[Bubble, ...], tuple[float, float] | None]:
    """Return queries by overlap and by the lead of BM25 over the dense profile, on a grid, and their correlation."""
    profiles = by_kind(main)
    known = ~np.isnan(reading.overlap)
    if "bm25" not in profiles or "dense" not in profiles or not known.any():
        return (), None
    overlaps = reading.overlap[known]
    gains = (profiles["bm25"].ndcg - profiles["dense"].ndcg)[known]
    cells, counts = np.unique(np.rint(np.column_stack((overlaps, gains)) * 10).astype(int), axis=0, return_counts=True)
    grid = tuple(Bubble(x / 10, y / 10, n) for (x, y), n in zip(cells.tolist(), counts.tolist(), strict=True))
    return grid, spearman(overlaps, gains)


def published_scores(main: Sequence[Measured], context: Context) -> tuple[PublishedScore, ...]:
    """Return our scores and the published ones, for profiles that have both."""
    scores: list[PublishedScore] = []
    for profile in main:
        for theirs, ours in PUBLISHED.items():
            published = context.published.get(f"{profile.kind}_{theirs}")
            here = getattr(profile.values, ours)
            if published is not None and here is not None:
                interval = _of_difference(profile.values, ours, published)
                scores.append(PublishedScore(profile.kind, ours, here, published, here - published, interval))
    return tuple(scores)


def _of_difference(figures: ProfileValues, metric: str, published: float) -> Interval | None:
    """Return our interval minus the published score. Pooled recall has that of recall if both are equal."""
    if metric == "pooled_recall_at_100" and figures.recall_at_100 == figures.pooled_recall_at_100:
        metric = "recall_at_100"
    interval = figures.intervals.get(metric)
    return interval and Interval(interval.low - published, interval.high - published, interval.level)


def published_counts(task: Task, published: Mapping[str, float]) -> tuple[PublishedCount, ...]:
    """Return the numbers of queries, documents and relevant documents here and of the published scores."""
    here = {
        "queries": len(task.queries),
        "documents": len(task.corpus),
        "positives": int(task.qrels.positives.sum()),
    }
    return tuple(PublishedCount(what, n, int(published[what])) for what, n in here.items() if what in published)


def measure_group(name: str, tasks: Sequence[TaskValues]) -> GroupValues:
    """Return all values of a group's page."""
    distinct = dict.fromkeys(source for task in tasks for source in task.sources)
    common = [kind for kind in KINDS if tasks and all(task.profile(kind) for task in tasks)]
    values = {kind: np.array([_ndcg(task, kind) for task in tasks]) for kind in common}
    return GroupValues(
        name=name,
        tasks=tuple(tasks),
        languages=_languages(tasks),
        sources=tuple(distinct),
        means={kind: float(scores.mean()) for kind, scores in values.items()},
        comparisons=compare_values(values),
    )


def _ndcg(task: TaskValues, kind: Kind) -> float:
    profile = task.profile(kind)
    assert profile is not None
    return profile.ndcg_at_10


def _languages(tasks: Sequence[TaskValues]) -> tuple[LanguageRow, ...]:
    """Return the queries by language. A task in one language with few exceptions counts as a whole."""
    sums: dict[str, tuple[int, int, dict[Kind, float]]] = {}
    for task in tasks:
        for language, queries, means in _task_languages(task):
            count, total, weighted = sums.get(language, (0, 0, {}))
            added = {kind: weighted.get(kind, 0.0) + mean * queries for kind, mean in means.items()}
            sums[language] = (count + 1, total + queries, added)
    ranked = sorted(sums.items(), key=lambda item: (-item[1][1], item[0]))
    return tuple(
        LanguageRow(language, count, total, {kind: value / total for kind, value in weighted.items()})
        for language, (count, total, weighted) in ranked
    )


def _task_languages(task: TaskValues) -> list[tuple[str, int, dict[Kind, float]]]:
    cut = [part for part in task.slices if part.dimension == "language"]
    if cut:
        return [(part.name, part.queries, dict(part.ndcg_at_10)) for part in cut]
    whole = {profile.kind: profile.ndcg_at_10 for profile in task.main}
    shown = next(iter(task.language_profile.query_languages), task.language) if task.language_profile else task.language
    return [(shown, task.queries, whole)]
