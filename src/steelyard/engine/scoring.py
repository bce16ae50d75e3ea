"""From a run to everything that a result says about it: figures, intervals, values by query, the worst queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from steelyard import stats
from steelyard.metrics import DEFAULT_METRICS, parse, score
from steelyard.metrics.mteb import MtebProfile, mteb_scores
from steelyard.results import MAIN_METRIC, Miss, QueryScores
from steelyard.stats.intervals import DRAWS, Method
from steelyard.types import Float64, Int32, Interval, Run, Task

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

_WHOLE_LIST = "mrr"
"""The reciprocal rank over the whole list tells where the first relevant document stands."""


@dataclass(frozen=True, eq=False)
class Figures:
    """What a run is worth on its task."""

    metrics: Mapping[str, float | None]
    mteb: Mapping[str, float | None]
    intervals: Mapping[str, Interval]
    queries: QueryScores
    misses: tuple[Miss, ...]


def figures(run: Run, task: Task, extra: Sequence[str] = (), profile: MtebProfile = "mteb-2.26") -> Figures:
    """Score the run with the default metrics and the `extra` ones, under our names and under mteb's."""
    wanted = dict.fromkeys([*DEFAULT_METRICS, *map(parse, extra)])
    scores = score(run, task.qrels, tuple(wanted))
    ranks = _first_positive(scores.per_query[_WHOLE_LIST])
    queries = QueryScores(task.queries.ids, ranks, scores.per_query)
    mteb = mteb_scores(run, task.qrels, profile=profile, scores=scores)
    mteb = {name: value for name, value in mteb.items() if name != "main_score"}
    misses = worst(run, task, scores.per_query[MAIN_METRIC], ranks)
    intervals = stats.intervals(scores.per_query, **RESAMPLING)
    return Figures({**scores.means, **scores.whole}, mteb, intervals, queries, misses)


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
