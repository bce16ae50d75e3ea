"""From a task and its runs to every figure of its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from steelyard.config import Settings
from steelyard.reports.pages.measure.evaluation import Measured, by_kind, ceiling, compare_values, measure_all
from steelyard.reports.pages.measure.evidence import spearman
from steelyard.reports.pages.measure.failures import examples, failures
from steelyard.reports.pages.measure.inputs import KINDS, Context, Profile
from steelyard.reports.pages.measure.languages import Reading, language_profile, overlap, read
from steelyard.reports.pages.measure.lengths import lengths
from steelyard.reports.pages.measure.origins import leakage, origin, sources
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.measure.published import published_counts, published_figures
from steelyard.reports.pages.measure.slices import slices
from steelyard.reports.pages.measure.tendencies import tendencies
from steelyard.reports.pages.measure.values import Bubble, LanguageProfile, Lengths, Positives, Tendencies
from steelyard.reports.pages.thresholds import MOST, NEARLY_ALL, PASSAGE_WORDS, QUESTIONS, SENTENCE_WORDS, SHORT_WORDS
from steelyard.types import Task

STEPS = ("languages", "lengths", "profiles", "slices")
"""What `measure_task` does one after the other, and tells of."""


def measure_task(
    task: Task,
    profiles: Sequence[Profile],
    context: Context | None = None,
    at: Callable[[str], None] = lambda step: None,
    settings: Settings | None = None,
) -> TaskValues:
    """Every figure of a task's page; `at` hears each of the `STEPS` as it begins."""
    context = context or Context()
    info = task.info
    at("languages")
    reading = read(task)
    told, likings = language_profile(reading), tendencies(task, reading)
    at("lengths")
    asked, sought = lengths(task.queries.texts, settings), lengths(task.corpus.texts, settings)
    at("profiles")
    measured = measure_all(task, profiles)
    main = [one for one in measured if one.kind in KINDS]
    compared = compare_values({one.kind: one.ndcg for one in main})
    at("slices")
    cut = slices(task, reading, main)
    bubbles, correlation = _gains(reading, main)
    return TaskValues(
        **origin(info),
        queries=len(task.queries),
        documents=len(task.corpus),
        positives=positives(task),
        query_lengths=asked,
        document_lengths=sought,
        profiles=tuple(one.figures for one in measured),
        focus=focus(info.category, likings, told, asked, sought),
        content_hash=task.content_hash,
        language_profile=told,
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
        published=published_figures(main, context),
        published_name=context.published_name,
        published_counts=published_counts(task, context.published_counts),
        made_from=context.made_from,
        settings=context.settings,
    )


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


def focus(category: str, likings: Tendencies, told: LanguageProfile, asked: Lengths, sought: Lengths) -> str:
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
