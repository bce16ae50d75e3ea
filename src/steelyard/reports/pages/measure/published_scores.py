"""Compare the scores of a page with published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.reports.pages.measure.page_inputs import Context
from steelyard.reports.pages.measure.part_values import ProfileValues, PublishedCount, PublishedScore
from steelyard.reports.pages.measure.profile_scores import Measured
from steelyard.types import Interval, Task

PUBLISHED = {
    "ndcg_at_10": "ndcg_at_10",
    "hit_at_10": "hit_rate_at_10",
    "pooled_recall_at_100": "pooled_recall_at_100",
}
"""The names of published scores (after the profile's), and ours."""


def published_scores(main: Sequence[Measured], context: Context) -> tuple[PublishedScore, ...]:
    """Return our scores and the published ones, for profiles that have both."""
    found: list[PublishedScore] = []
    for one in main:
        for theirs, ours in PUBLISHED.items():
            published = context.published.get(f"{one.kind}_{theirs}")
            here = getattr(one.values, ours)
            if published is not None and here is not None:
                interval = _of_difference(one.values, ours, published)
                found.append(PublishedScore(one.kind, ours, here, published, here - published, interval))
    return tuple(found)


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
