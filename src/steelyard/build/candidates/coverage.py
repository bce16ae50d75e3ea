"""Coverage of candidate lists: the metrics of the "Candidate Subsets" tables, with and without safeguards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from steelyard.metrics import score
from steelyard.retrievers.candidates import drop_last, safeguarded
from steelyard.types import Ragged, Run, Task

METRICS = ("nDCG@10", "hit_rate@10", "recall@100")


@dataclass(frozen=True)
class Coverage:
    """The metrics of one candidate subset; shares are between 0 and 1.

    `recall_at_100` is the mean over queries; `pooled_recall_at_100` counts all positives together, as the published
    tables do. A safeguard has rank 101, so it changes neither.
    """

    config: str
    ndcg_at_10: float
    hit_rate_at_10: float
    recall_at_100: float
    pooled_recall_at_100: float | None
    candidates_min: int
    candidates_max: int
    candidates_mean: float
    safeguard_rows: int
    query_coverage: float
    """Share of queries with at least one candidate."""
    covered_queries: float
    """Share of queries with a relevant candidate, of those that have a relevant document."""
    relevant_coverage: float | None
    """Share of relevant documents among the candidates: the upper bound of a reranker's recall."""
    without_safeguards: Mapping[str, float | None] | None = None
    """`covered_queries` and `relevant_coverage` of the lists without safeguards."""

    def to_dict(self) -> dict[str, Any]:
        """Return the coverage, JSON-ready."""
        return asdict(self)

    @property
    def label(self) -> str:
        """Return the depth of the lists without safeguards, such as `top-500`."""
        return f"top-{self.candidates_max - bool(self.safeguard_rows)}"


def measure(task: Task, config: str) -> Coverage:
    """Return the coverage of the task's lists of that name."""
    lists = task.candidates[config]
    guarded = safeguarded(lists)
    scores = score(as_run(lists), task.qrels, METRICS)
    counts = lists.counts
    covered, relevant = _covered(task, lists)
    plain: dict[str, float | None] | None = None
    if len(guarded):
        without = _covered(task, drop_last(lists, guarded))
        plain = {"covered_queries": without[0], "relevant_coverage": without[1]}
    return Coverage(
        config=config,
        ndcg_at_10=scores.means["ndcg_at_10"],
        hit_rate_at_10=scores.means["hit_rate_at_10"],
        recall_at_100=scores.means["recall_at_100"],
        pooled_recall_at_100=scores.whole["pooled_recall_at_100"],
        candidates_min=int(counts.min()),
        candidates_max=int(counts.max()),
        candidates_mean=round(float(counts.mean()), 4),
        safeguard_rows=len(guarded),
        query_coverage=float((counts > 0).mean()),
        covered_queries=covered,
        relevant_coverage=relevant,
        without_safeguards=plain,
    )


def as_run(lists: Ragged) -> Run:
    """Return the lists as a run whose scores only express the order."""
    depth = int(lists.counts.max(initial=0))
    place = np.arange(depth)
    real = place < lists.counts[:, None]
    rows = np.full(real.shape, -1, dtype=np.int32)
    rows[real] = lists.rows
    return Run(rows, np.where(real, -place.astype(np.float32), np.float32(-np.inf)))


def _covered(task: Task, lists: Ragged) -> tuple[float, float | None]:
    """Return the share of queries with a relevant candidate, and of relevant documents among the candidates."""
    qrels, width = task.qrels, len(task.corpus)
    shown = np.repeat(np.arange(len(lists)), lists.counts) * width + lists.rows
    owner = np.repeat(np.arange(len(qrels)), qrels.counts)
    positive = (qrels.grades > 0) & (qrels.rows >= 0)
    covered = np.isin(owner[positive] * width + qrels.rows[positive], shown)
    answerable = int((qrels.positives > 0).sum())
    total = int(qrels.positives.sum())
    queries = len(np.unique(owner[positive][covered]))
    return (queries / answerable if answerable else 0.0), (float(covered.sum()) / total if total else None)
