"""How to read the metrics on a task: positives, grades, ceilings, candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from steelyard.reports.pages.findings.sentences import Finding, finding, listed
from steelyard.reports.pages.measure.inputs import SAFEGUARD_DEPTH
from steelyard.reports.pages.measure.page_values import TaskFigures
from steelyard.reports.pages.measure.values import ProfileFigures
from steelyard.reports.pages.thresholds import NEAR_CEILING, SMALL_CORPUS


def interpretation(figures: TaskFigures) -> Iterator[Finding]:
    """How to read the metrics on this task."""
    yield finding("multi_reading" if figures.positives.multi_positive_queries else "single_reading")
    if figures.positives.grades:
        yield finding("graded")
    yield from _reranking(figures)
    yield from _other_metrics(figures.main)
    if figures.ceiling is not None:
        yield finding("ceiling", ndcg=figures.ceiling.ndcg_at_10, recall=figures.ceiling.recall_at_100)
        if figures.type == "retrieval":
            yield from _small_corpus(figures.documents, figures.ceiling.random_recall_at_100)
        if (share := near_ceiling(figures)) is not None and figures.best is not None:
            yield finding("near_ceiling", best=figures.best.label, share=share)
    for one in figures.main:
        if one.kind == "hybrid" and one.perfect_rerank_ndcg_at_10 is not None:
            yield finding("rerank", label=one.label, perfect=one.perfect_rerank_ndcg_at_10, now=one.ndcg_at_10)


def _other_metrics(main: Sequence[ProfileFigures]) -> Iterator[Finding]:
    """Which profiles are highest by the metrics that are not tested."""
    hits = {one.label: one.hit_rate_at_10 for one in main}
    recalls = {one.label: one.recall_at_100 for one in main if one.recall_at_100 is not None}
    if len(main) > 1 and len(recalls) == len(main):
        yield finding("other_metrics", hit=_highest(hits), recall=_highest(recalls))


def _highest(values: Mapping[str, float]) -> str:
    """The names of the highest value, as far as four decimals tell, and the value.

    >>> _highest({"BM25": 0.5, "Dense": 0.75, "Reranking hybrid": 0.75})
    'Dense and Reranking hybrid (0.7500)'
    """
    most = f"{max(values.values()):.4f}"
    return f"{listed([name for name, value in values.items() if f'{value:.4f}' == most])} ({most})"


def _small_corpus(documents: int, chance: float) -> Iterator[Finding]:
    """How easily a recall@100 comes, where that is worth a word."""
    if documents <= SAFEGUARD_DEPTH:
        yield finding("tiny_corpus", documents=documents)
    elif documents < SMALL_CORPUS:
        yield finding("small_corpus", documents=documents, chance=chance)


def _reranking(figures: TaskFigures) -> Iterator[Finding]:
    """What is ranked where queries come with candidates."""
    ranked = [one.candidates_max for one in figures.main if not one.stored and one.candidates_max is not None]
    if figures.type == "reranking" and ranked:
        yield finding("reranking_task")
        if max(ranked) <= SAFEGUARD_DEPTH:
            yield finding("reranking_recall")


def near_ceiling(figures: TaskFigures) -> float | None:
    """The share of the best possible nDCG@10 that the best profile reaches, where that is nearly all of it."""
    if figures.ceiling is None or figures.best is None or figures.ceiling.ndcg_at_10 <= 0:
        return None
    share = figures.best.ndcg_at_10 / figures.ceiling.ndcg_at_10
    return share if share >= NEAR_CEILING else None
