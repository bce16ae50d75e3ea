"""The scores of a run as a result has them: means, intervals, scores by query, the worst queries, the stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, TypedDict

import numpy as np

from steelyard import stats
from steelyard.errors import DataError
from steelyard.metrics import parse, score
from steelyard.metrics.mteb import MtebProfile, legacy_reranking, mteb_scores
from steelyard.results import HEADLINES, MAIN_METRIC, Miss, QueryScores
from steelyard.results.per_query import Column
from steelyard.results.ranking import task_leaders
from steelyard.retrievers.fusion.retriever import fuse
from steelyard.stats.intervals import DRAWS, Method
from steelyard.tasks.instructions import P_MRR, instruction_scores
from steelyard.types import Float64, Int32, Interval, Run, Scores, Task, TaskInfo
from steelyard.types.protocols import Composite, Retriever

MISSES = 10
INSTRUCTED = ("instruction_retrieval", "instruction_reranking")
"""The types whose queries have instructions."""
SHOWN = 200
"""Characters of a text that a miss shows."""


class Resampling(TypedDict):
    """How intervals are computed."""

    method: Method
    draws: int
    seed: int


RESAMPLING: Resampling = {"method": "bootstrap", "draws": DRAWS, "seed": 0}
"""Recorded with every result."""

RERANKED: Mapping[MtebProfile, str] = {"mteb-2.26": "map_at_1000", "mteb-1.14": "map"}
"""The main metric of reranking tasks: both are equal but for ties, rounding, and lists longer than 1000."""

_WHOLE_LIST = "mrr"
"""The reciprocal rank over the whole list: the rank of the first relevant document follows from it."""


@dataclass(frozen=True, eq=False)
class RunScores:
    """The scores of a run on its task."""

    main_metric: str
    metrics: Mapping[str, float | None]
    mteb: Mapping[str, Any]
    intervals: Mapping[str, Interval]
    queries: QueryScores
    misses: tuple[Miss, ...]


def score_run(run: Run, task: Task, scores: Scores, profile: MtebProfile = "mteb-2.26") -> RunScores:
    """Return the scores of the run, which include the default metrics, under our names and under mteb's."""
    ranks = _first_positive(scores.per_query[_WHOLE_LIST])
    misses = worst(run, task, scores.per_query[MAIN_METRIC], ranks)
    metrics = {**scores.means, **scores.whole}
    means = {name: metric for name in scores.per_query if (metric := parse(name)).has_interval}
    bounds = {name: metric.bounds for name, metric in means.items()}
    intervals = stats.intervals({name: scores.per_query[name] for name in means}, bounds=bounds, **RESAMPLING)
    per_query = dict(scores.per_query)
    if task.info.type == "reranking" and profile == "mteb-1.14":
        reranked = legacy_reranking(run, task.qrels)
        mteb: dict[str, Any] = dict(reranked.scores)
        metrics["map"] = mteb["map"]
        per_query["map"] = np.zeros(len(run))
        per_query["map"][reranked.queries] = reranked.average_precision
        if len(reranked.queries):
            intervals |= stats.intervals({"map": reranked.average_precision}, **RESAMPLING)
    else:
        mteb = dict(mteb_scores(run, task.qrels, profile=profile, scores=scores))
        del mteb["main_score"]
    if task.info.type in INSTRUCTED:
        own, added = instruction_scores(run, task, scores.per_query[MAIN_METRIC], profile)
        metrics, mteb = {**metrics, **{name: float(values.mean()) for name, values in own.items()}}, {**mteb, **added}
        intervals |= stats.intervals(own, bounds=(-1.0, 1.0), **RESAMPLING)
    queries = QueryScores(task.queries.ids, ranks, per_query)
    return RunScores(main_metric(task.info, profile, metrics), metrics, mteb, intervals, queries, misses)


def main_metric(info: TaskInfo, profile: MtebProfile, metrics: Mapping[str, float | None]) -> str:
    """Return the main metric of the task: nDCG@10, or for reranking the MAP under its name in that mteb version.

    >>> main_metric(TaskInfo("X/y", type="reranking"), "mteb-1.14", {"map": 0.5})
    'map'
    """
    name = info.main_metric or (P_MRR if P_MRR in metrics else MAIN_METRIC)
    if info.type == "reranking" and info.main_metric in (None, *RERANKED.values()):
        name = RERANKED[profile]
    if name not in metrics:
        raise DataError.invalid(
            "the main metric",
            expected=f"a metric of tasks of type {info.type}",
            found=name,
            where=info.name,
            hint=f"use one of {', '.join(list(metrics)[:8])} ...",
            field="main_metric",
        )
    return name


def _first_positive(reciprocal: Float64) -> Int32:
    retrieved = reciprocal > 0
    return np.where(retrieved, np.rint(1 / np.where(retrieved, reciprocal, 1)), 0).astype(np.int32)


def worst(run: Run, task: Task, values: Float64, ranks: Int32) -> tuple[Miss, ...]:
    """Return the queries with the lowest scores: those without a relevant document in the list first; ties by id.

    Queries without judgements above 0 and queries with a perfect list are left out.
    """
    deep = np.where(ranks == 0, np.iinfo(np.int32).max, ranks)
    lost = np.flatnonzero((task.qrels.positives > 0) & (values < 1))
    ids = [task.queries.ids[query] for query in lost]
    keys = zip(values[lost].tolist(), (-deep[lost]).tolist(), ids, lost.tolist(), strict=True)
    return tuple(_miss(run, task, query, int(ranks[query])) for *_, query in nsmallest(MISSES, keys))


def _miss(run: Run, task: Task, query: int, rank: int) -> Miss:
    top = int(run.rows[query, 0]) if run.depth else -1
    rows, grades = task.qrels.rows_of(query), task.qrels.grades_of(query)
    inside = np.where(rows >= 0, grades, 0)
    best = int(rows[inside.argmax()]) if inside.max(initial=0) > 0 else -1
    return Miss(
        query_id=task.queries.ids[query],
        query=_shortened(task.queries.texts[query]),
        rank=rank or None,
        top_id=task.corpus.ids[top] if top >= 0 else None,
        top=_shortened(task.corpus.texts[top]) if top >= 0 else None,
        positive_id=task.corpus.ids[best] if best >= 0 else None,
        positive=_shortened(task.corpus.texts[best]) if best >= 0 else None,
    )


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


Notes = dict[str, Any]


def stage_notes(retriever: Retriever, run_of: Callable[[Retriever], Run], task: Task, top_k: int) -> list[Notes]:
    """Return the scores of each stage of a composite model, in the order of their work; empty for other models.

    Scores are those of the top `top_k` of the lists, as in a result. `gain` is the difference from the best input of
    the stage, which is named as `over`. A fusion that is significantly weaker than it has a `warning`.
    `recall_ceiling` is the recall of everything that the stage reads.
    """
    if not isinstance(retriever, Composite) or not retriever.parts:
        return []
    notes: dict[str, Notes] = {}
    columns: dict[str, Column] = {}

    def add(stage: Retriever) -> Notes:
        if stage.name not in notes:
            inputs = [add(part) for part in stage.parts] if isinstance(stage, Composite) else []
            scores = score(run_of(stage).top(top_k), task.qrels, tuple(HEADLINES))
            columns[stage.name] = Column(task.queries.ids, scores.per_query[MAIN_METRIC])
            note = {"model": stage.name, **{metric: scores.means[metric] for metric in HEADLINES}}
            if isinstance(stage, Composite) and inputs:
                note |= _gain(note, inputs, columns, task.name)
                note["reads"] = stage.reads
                note["recall_ceiling"] = _recall([run_of(part) for part in stage.parts], stage.reads, task)
            notes[stage.name] = note
        return notes[stage.name]

    add(retriever)
    return list(notes.values())


def _gain(note: Notes, inputs: list[Notes], columns: Mapping[str, Column], task: str) -> Notes:
    """Return the gain of a stage over the best of its inputs.

    A fusion has a warning if the test that marks the best models of a table finds it weaker than that input.
    """
    best = max(inputs, key=lambda one: one[MAIN_METRIC])
    gain = {metric: note[metric] - best[metric] for metric in HEADLINES}
    facts = {"over": best["model"], "gain": gain}
    if len(inputs) == 1 or gain[MAIN_METRIC] >= 0:
        return facts
    scores = {one["model"]: one[MAIN_METRIC] for one in (*inputs, note)}
    leaders = task_leaders(task, scores, {name: columns[name] for name in scores})
    if leaders is None or note["model"] in leaders.best:
        return facts
    return {**facts, "warning": f"weaker than {best['model']} alone: give the other lists smaller weights"}


def _recall(runs: list[Run], reads: int | None, task: Task) -> float:
    """Return the recall of all documents in these lists, down to the depth."""
    everything = fuse(runs, depth=reads or max(1, *(run.depth for run in runs)))
    metric = f"recall_at_{max(everything.depth, 1)}"
    return score(everything, task.qrels, (metric,)).means[metric]
