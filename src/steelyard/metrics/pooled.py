"""Recall with all queries thrown together."""

from __future__ import annotations

from steelyard.metrics.definition import Definition
from steelyard.metrics.measures import recall
from steelyard.metrics.ranking import Ranking


def pooled_recall(ranking: Ranking, cutoff: float | None) -> float | None:
    """Relevant documents found over relevant documents there are, all queries thrown together; None if there are none.

    HAKARI-Bench's tables call this Recall. A query with many relevant documents weighs more in it.
    """
    there = int(ranking.positives.sum())
    found = float(ranking.total(ranking.relevant, None, cutoff).sum())
    return found / there if there else None


POOLED_RECALL = Definition(
    "pooled recall",
    "recall with all queries thrown together: HAKARI-Bench's Recall",
    "(relevant in the first k of all lists) / (sum of R over queries)",
    recall,
    ("pooled_recall", "pooled_recall"),
    whole=pooled_recall,
)
