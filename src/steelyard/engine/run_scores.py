"""What a result says about a run, by its scores: figures, intervals, values by query, the worst queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from steelyard import stats
from steelyard.errors import DataError
from steelyard.metrics import parse
from steelyard.metrics.mteb import MtebProfile, mteb_scores
from steelyard.metrics.reranking import legacy
from steelyard.results import MAIN_METRIC, Miss, QueryScores
from steelyard.stats.intervals import DRAWS, Method
from steelyard.types import Float64, Int32, Interval, Run, Scores, Task, TaskInfo

MISSES = 10
CUT = 200
"""Characters of a text that a miss shows."""


class Resampling(TypedDict):
    """How intervals are made."""

    method: Method
    draws: int
    seed: int


RESAMPLING: Resampling = {"method": "bootstrap", "draws": DRAWS, "seed": 0}
"""Recorded with every result."""

RERANKED: Mapping[MtebProfile, str] = {"mteb-2.26": "map_at_1000", "mteb-1.14": "map"}
"""The main figure of reranking tasks: the same, but for equal scores, rounding, and lists longer than 1000."""

_WHOLE_LIST = "mrr"
"""The reciprocal rank over the whole list tells where the first relevant document stands."""


@dataclass(frozen=True, eq=False)
class Figures:
    """What a run is worth on its task."""

    main_metric: str
    metrics: Mapping[str, float | None]
    mteb: Mapping[str, float | None]
    intervals: Mapping[str, Interval]
    queries: QueryScores
    misses: tuple[Miss, ...]


def figures(run: Run, task: Task, scores: Scores, profile: MtebProfile = "mteb-2.26") -> Figures:
    """What the scores of the run, the default metrics among them, say: under our names and under mteb's."""
    ranks = _first_positive(scores.per_query[_WHOLE_LIST])
    misses = worst(run, task, scores.per_query[MAIN_METRIC], ranks)
    metrics = {**scores.means, **scores.whole}
    means = {name: metric for name in scores.per_query if (metric := parse(name)).has_interval}
    bounds = {name: metric.bounds for name, metric in means.items()}
    intervals = stats.intervals({name: scores.per_query[name] for name in means}, bounds=bounds, **RESAMPLING)
    per_query = dict(scores.per_query)
    if task.info.type == "reranking" and profile == "mteb-1.14":
        found = legacy(run, task.qrels)
        mteb = found.scores
        metrics["map"] = mteb["map"]
        per_query["map"] = np.zeros(len(run))
        per_query["map"][found.kept] = found.average_precision
        if len(found.kept):
            intervals |= stats.intervals({"map": found.average_precision}, **RESAMPLING)
    else:
        mteb = mteb_scores(run, task.qrels, profile=profile, scores=scores)
        del mteb["main_score"]
    queries = QueryScores(task.queries.ids, ranks, per_query)
    return Figures(main_metric(task.info, profile, metrics), metrics, mteb, intervals, queries, misses)


def main_metric(info: TaskInfo, profile: MtebProfile, found: Mapping[str, float | None]) -> str:
    """What the task is ranked by: nDCG@10, or for reranking the mean average precision under its name of the version.

    >>> main_metric(TaskInfo("X/y", type="reranking"), "mteb-1.14", {"map": 0.5})
    'map'
    """
    name = info.main_metric or MAIN_METRIC
    if info.type == "reranking" and info.main_metric in (None, *RERANKED.values()):
        name = RERANKED[profile]
    if name not in found:
        raise DataError(
            f"is ranked by {name!r}, which a task of type {info.type} has not",
            where=info.name,
            hint=f"it has {', '.join(list(found)[:8])} and more",
        )
    return name


def _first_positive(reciprocal: Float64) -> Int32:
    found = reciprocal > 0
    return np.where(found, np.rint(1 / np.where(found, reciprocal, 1)), 0).astype(np.int32)


def worst(run: Run, task: Task, values: Float64, ranks: Int32) -> tuple[Miss, ...]:
    """The queries that lost most: nothing relevant found first, then the deepest; ties by query id.

    Queries without a relevant document are no misses, nor those with a perfect list.
    """
    deep = np.where(ranks == 0, np.iinfo(np.int32).max, ranks)
    lost = np.flatnonzero((task.qrels.positives > 0) & (values < 1))
    order = sorted(lost.tolist(), key=lambda q: (values[q], -int(deep[q]), task.queries.ids[q]))
    return tuple(_miss(run, task, query, int(ranks[query])) for query in order[:MISSES])


def _miss(run: Run, task: Task, query: int, rank: int) -> Miss:
    top = int(run.rows[query, 0]) if run.depth else -1
    rows, grades = task.qrels.rows_of(query), task.qrels.grades_of(query)
    inside = np.where(rows >= 0, grades, 0)
    best = int(rows[inside.argmax()]) if inside.max(initial=0) > 0 else -1
    return Miss(
        query_id=task.queries.ids[query],
        query=_cut(task.queries.texts[query]),
        rank=rank or None,
        top_id=task.corpus.ids[top] if top >= 0 else None,
        top=_cut(task.corpus.texts[top]) if top >= 0 else None,
        positive_id=task.corpus.ids[best] if best >= 0 else None,
        positive=_cut(task.corpus.texts[best]) if best >= 0 else None,
    )


def _cut(text: str) -> str:
    return text if len(text) <= CUT else text[: CUT - 1] + "…"
