"""Findings about the metrics of a task: relevant documents, grades, ceilings, candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from steelyard.reports.pages.findings.sentences import Finding, finding, listed
from steelyard.reports.pages.measure.page_inputs import SAFEGUARD_DEPTH
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.measure.part_values import ProfileValues
from steelyard.reports.pages.thresholds import NEAR_CEILING, SMALL_CORPUS


def interpretation(task: TaskValues) -> Iterator[Finding]:
    """Yield how to interpret the metrics of this task."""
    yield finding("multi_reading" if task.positives.multi_positive_queries else "single_reading")
    if task.positives.grades:
        yield finding("graded")
    yield from _reranking(task)
    yield from _other_metrics(task.main)
    if task.ceiling is not None:
        if min(task.ceiling.ndcg_at_10, task.ceiling.recall_at_100) < 1 - 1e-9:  # else it is what everybody expects
            yield finding("ceiling", ndcg=task.ceiling.ndcg_at_10, recall=task.ceiling.recall_at_100)
        if task.type == "retrieval":
            yield from _small_corpus(task.documents, task.ceiling.random_recall_at_100)
        if (share := near_ceiling(task)) is not None and task.best is not None:
            yield finding("near_ceiling", best=task.best.label, share=share)
    for profile in task.main:
        if profile.kind == "hybrid" and profile.perfect_rerank_ndcg_at_10 is not None and task.type != "reranking":
            yield finding(
                "rerank", label=profile.label, perfect=profile.perfect_rerank_ndcg_at_10, now=profile.ndcg_at_10
            )


def _other_metrics(main: Sequence[ProfileValues]) -> Iterator[Finding]:
    """Yield the profiles with the highest values of metrics that are not tested."""
    hits = {one.label: one.hit_rate_at_10 for one in main}
    recalls = {one.label: one.recall_at_100 for one in main if one.recall_at_100 is not None}
    if len(main) < 2 or len(recalls) < len(main):
        return
    values = {
        name: _highest(scores)
        for name, scores in (("hit", hits), ("recall", recalls))
        if len({f"{value:.4f}" for value in scores.values()}) > 1  # else every profile has the highest
    }
    kinds = {("hit", "recall"): "other_metrics", ("hit",): "other_hit", ("recall",): "other_recall"}
    if values:
        yield finding(kinds[tuple(values)], **values)


def _highest(values: Mapping[str, float]) -> str:
    """Return the names with the highest value, at four decimals, and the value.

    >>> _highest({"BM25": 0.5, "Dense": 0.75, "Reranking hybrid": 0.75})
    'Dense and Reranking hybrid (0.7500)'
    """
    most = f"{max(values.values()):.4f}"
    return f"{listed([name for name, value in values.items() if f'{value:.4f}' == most])} ({most})"


def _small_corpus(documents: int, chance: float) -> Iterator[Finding]:
    """Yield the recall@100 of chance for a small corpus."""
    if documents <= SAFEGUARD_DEPTH:
        yield finding("tiny_corpus", documents=documents)
    elif documents < SMALL_CORPUS:
        yield finding("small_corpus", documents=documents, chance=chance)


def _reranking(task: TaskValues) -> Iterator[Finding]:
    """Yield what is ranked in a reranking task."""
    ranked = [one.candidates_max for one in task.main if not one.stored and one.candidates_max is not None]
    if task.type == "reranking" and ranked:
        yield finding("reranking_task")
        if max(ranked) <= SAFEGUARD_DEPTH:
            yield finding("reranking_recall")


def near_ceiling(task: TaskValues) -> float | None:
    """Return the share of the best possible nDCG@10 that the best profile reaches, if it is nearly all."""
    if task.ceiling is None or task.best is None or task.ceiling.ndcg_at_10 <= 0:
        return None
    share = task.best.ndcg_at_10 / task.ceiling.ndcg_at_10
    return share if share >= NEAR_CEILING else None
