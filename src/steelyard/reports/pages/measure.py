"""From a task and its runs to every figure of its page, and from its tasks to those of a group."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.reports.pages.evaluation import Measured, by_kind, ceiling, compare_values, measure_all
from steelyard.reports.pages.evidence import spearman
from steelyard.reports.pages.failures import examples, failures
from steelyard.reports.pages.figures import (
    Bubble,
    Leakage,
    Lengths,
    Positives,
    ProfileFigures,
    PublishedCount,
    PublishedFigure,
    Source,
    Tendencies,
    Tongues,
)
from steelyard.reports.pages.inputs import KINDS, Audit, Context, Kind, Profile
from steelyard.reports.pages.lengths import lengths
from steelyard.reports.pages.page_figures import GroupFigures, LanguageRow, TaskFigures
from steelyard.reports.pages.slices import slices
from steelyard.reports.pages.tendencies import tendencies
from steelyard.reports.pages.thresholds import MOST, NEARLY_ALL, PASSAGE_WORDS, QUESTIONS, SENTENCE_WORDS, SHORT_WORDS
from steelyard.reports.pages.tongues import Reading, overlap, read, tongues
from steelyard.types import Interval, Task, TaskInfo

PUBLISHED = {
    "ndcg_at_10": "ndcg_at_10",
    "hit_at_10": "hit_rate_at_10",
    "pooled_recall_at_100": "pooled_recall_at_100",
}
"""Names of published figures (after the profile's), and ours."""

_HUB = re.compile(r"(?!github\.com/)[\w.-]+/[\w.-]+")
_WEB = re.compile(r"(?:https?://)?(?:www\.)?(github\.com/[\w./-]+|huggingface\.co/[\w./-]+)")


STEPS = ("languages", "lengths", "profiles", "slices")
"""What `task_figures` does one after the other, and tells of."""


def task_figures(
    task: Task,
    profiles: Sequence[Profile],
    context: Context | None = None,
    at: Callable[[str], None] = lambda step: None,
) -> TaskFigures:
    """Every figure of a task's page; `at` hears each of the `STEPS` as it begins."""
    context = context or Context()
    info = task.info
    at("languages")
    reading = read(task)
    told, likings = tongues(reading), tendencies(task, reading)
    at("lengths")
    asked, sought = lengths(task.queries.texts), lengths(task.corpus.texts)
    at("profiles")
    measured = measure_all(task, profiles)
    main = [one for one in measured if one.kind in KINDS]
    compared = compare_values({one.kind: one.ndcg for one in main})
    at("slices")
    cut = slices(task, reading, main)
    bubbles, correlation = _gains(reading, main)
    return TaskFigures(
        **_origin(info),
        queries=len(task.queries),
        documents=len(task.corpus),
        positives=positives(task),
        query_lengths=asked,
        document_lengths=sought,
        profiles=tuple(one.figures for one in measured),
        focus=focus(info.category, likings, told, asked, sought),
        content_hash=task.content_hash,
        tongues=told,
        overlap=overlap(reading.overlap),
        tendencies=likings,
        comparisons=compared,
        slices=cut,
        failures=failures(task, main),
        overlap_gain=bubbles,
        overlap_gain_correlation=correlation[0] if correlation else None,
        overlap_gain_p_value=correlation[1] if correlation else None,
        ceiling=ceiling(task),
        examples=examples(task),
        sources=sources(info),
        leakage=leakage(task, context.audit),
        published=_published(main, context),
        published_name=context.published_name,
        published_counts=_counts(task, context.published_counts),
        made_from=context.made_from,
        settings=context.settings,
    )


def _origin(info: TaskInfo) -> dict[str, Any]:
    """What the source says of the task, under the names that a page has for it."""
    on_hub = _HUB.fullmatch(info.source) is not None
    nano_set = set_of(info)
    return {
        "name": info.name,
        "nano_set": nano_set,
        "backing_dataset": info.source.rpartition("/")[2] if on_hub else nano_set,
        "task": info.task,
        "dataset": info.source,
        "language": info.language,
        "category": info.category,
        "description": info.description,
        "type": info.type,
        "on_hub": on_hub,
        "split": info.split,
        "revision": info.revision,
        "licence": info.licence,
        "languages": info.languages,
    }


def set_of(info: TaskInfo) -> str:
    """The set that a task is of: what its name begins with.

    >>> set_of(TaskInfo("NanoBEIR/ar/arguana"))
    'NanoBEIR'
    """
    return info.name.partition("/")[0] if "/" in info.name else info.group


def positives(task: Task) -> Positives:
    """How many relevant documents the queries have."""
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


def focus(category: str, likings: Tendencies, told: Tongues, asked: Lengths, sought: Lengths) -> str:
    """What is asked with and what is sought, told from lengths, question words, category and languages."""
    query_words = asked.words.median if asked.words else 0.0
    document_words = sought.words.median if sought.words else 0.0
    if likings.questions > QUESTIONS:
        left = "question"
    elif query_words <= SHORT_WORDS:
        left = "short query"
    else:
        left = "sentence" if query_words <= SENTENCE_WORDS else "passage"
    sizes = ((SHORT_WORDS, "short text"), (SENTENCE_WORDS, "sentence"), (PASSAGE_WORDS, "passage"))
    right = next((name for most, name in sizes if document_words <= most), "long text")
    if category == "code":
        return f"{left} to {right}, code"
    if told.cross_language <= MOST:
        return f"{left} to {right}"
    return f"{left} to {right}{'' if told.cross_language >= NEARLY_ALL else ', mostly'} in another language"


def sources(info: TaskInfo) -> tuple[Source, ...]:
    """Where the data came from, as far as the task says."""
    if _HUB.fullmatch(info.source):
        url = f"https://huggingface.co/datasets/{info.source}"
        return (Source(info.source, "-", "dataset card", url),)
    linked = _WEB.search(info.source)
    url = f"https://{linked[1].rstrip('/.')}" if linked else "-"
    return (Source(info.source or info.name, "-", "data source", url),) if info.source or info.name else ()


def leakage(task: Task, audit: Audit | None) -> Leakage:
    """What is known of training data; a set that nobody audited says so."""
    rows = task.qrels.rows[(task.qrels.grades > 0) & (task.qrels.rows >= 0)]
    kept = f"{len(task.queries):,} queries, {int(task.qrels.positives.sum()):,} positive qrels"
    status = "not_audited"
    if audit is not None:
        found = (
            f"{audit.queries_found:,} queries and {audit.documents_found:,} documents found in {audit.training_data}"
        )
        more = ", ".join(filter(None, (audit.method, audit.date)))
        status = f"audited: {found}" + (f" ({more})" if more else "")
    several = bool((task.qrels.positives > 1).any())
    return Leakage(
        split_origin=task.info.split or "not_recorded",
        audit=status,
        note=f"do not train on this task's {kept} or {len(np.unique(rows)):,} positive documents",
        multi_positive="multi_positive" if several else "single_positive",
    )


def _gains(reading: Reading, main: Sequence[Measured]) -> tuple[tuple[Bubble, ...], tuple[float, float] | None]:
    """Queries by overlap and by BM25's lead over the dense profile, gathered on a grid; and their correlation."""
    found = by_kind(main)
    known = ~np.isnan(reading.overlap)
    if "bm25" not in found or "dense" not in found or not known.any():
        return (), None
    overlaps = reading.overlap[known]
    gains = (found["bm25"].ndcg - found["dense"].ndcg)[known]
    cells, counts = np.unique(np.rint(np.column_stack((overlaps, gains)) * 10).astype(int), axis=0, return_counts=True)
    grid = tuple(Bubble(x / 10, y / 10, n) for (x, y), n in zip(cells.tolist(), counts.tolist(), strict=True))
    return grid, spearman(overlaps, gains)


def _published(main: Sequence[Measured], context: Context) -> tuple[PublishedFigure, ...]:
    found: list[PublishedFigure] = []
    for one in main:
        for theirs, ours in PUBLISHED.items():
            published = context.published.get(f"{one.kind}_{theirs}")
            here = getattr(one.figures, ours)
            if published is not None and here is not None:
                interval = _of_difference(one.figures, ours, published)
                found.append(PublishedFigure(one.kind, ours, here, published, here - published, interval))
    return tuple(found)


def _of_difference(figures: ProfileFigures, metric: str, published: float) -> Interval | None:
    """Our interval minus the published figure. Pooled recall has that of recall where both are the same figure."""
    if metric == "pooled_recall_at_100" and figures.recall_at_100 == figures.pooled_recall_at_100:
        metric = "recall_at_100"
    interval = figures.intervals.get(metric)
    return interval and Interval(interval.low - published, interval.high - published, interval.level)


def _counts(task: Task, published: Mapping[str, float]) -> tuple[PublishedCount, ...]:
    here = {
        "queries": len(task.queries),
        "documents": len(task.corpus),
        "positives": int(task.qrels.positives.sum()),
    }
    return tuple(PublishedCount(what, n, int(published[what])) for what, n in here.items() if what in published)


def group_figures(name: str, tasks: Sequence[TaskFigures]) -> GroupFigures:
    """Every figure of a group's page."""
    distinct = dict.fromkeys(source for task in tasks for source in task.sources)
    common = [kind for kind in KINDS if tasks and all(task.profile(kind) for task in tasks)]
    values = {kind: np.array([_ndcg(task, kind) for task in tasks]) for kind in common}
    return GroupFigures(
        name=name,
        tasks=tuple(tasks),
        languages=_languages(tasks),
        sources=tuple(distinct),
        means={kind: float(scores.mean()) for kind, scores in values.items()},
        comparisons=compare_values(values),
    )


def _ndcg(task: TaskFigures, kind: Kind) -> float:
    profile = task.profile(kind)
    assert profile is not None
    return profile.ndcg_at_10


def _languages(tasks: Sequence[TaskFigures]) -> tuple[LanguageRow, ...]:
    """Queries by the language they show. A task in one language, few exceptions aside, counts whole under it."""
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


def _task_languages(task: TaskFigures) -> list[tuple[str, int, dict[Kind, float]]]:
    cut = [part for part in task.slices if part.dimension == "language"]
    if cut:
        return [(part.name, part.queries, dict(part.ndcg_at_10)) for part in cut]
    whole = {profile.kind: profile.ndcg_at_10 for profile in task.main}
    shown = next(iter(task.tongues.query_languages), task.language) if task.tongues else task.language
    return [(shown, task.queries, whole)]
