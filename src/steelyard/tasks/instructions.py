"""Retrieval with instructions: does a model follow a changed instruction (p-MRR), and how robust is it to wordings?

A query that comes twice has the ids `ID-og` and `ID-changed`. The changed instruction makes some documents irrelevant:
those of the candidate list `qrel_diff` of the changed query. They should lose rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.metrics.mteb import MtebProfile, mteb_scores
from steelyard.types import Float64, Qrels, Run, Task
from steelyard.types.task_info import CHANGED

ORIGINAL_MARK, CHANGED_MARK = "-og", "-changed"
P_MRR = "p-MRR"
ROBUSTNESS = "robustness_at_10"


def instruction_scores(
    run: Run, task: Task, ndcg_at_10: Float64, profile: MtebProfile
) -> tuple[dict[str, Float64], dict[str, Any]]:
    """Return what tasks with instructions have besides the scores of retrieval: values by query, and mteb's keys.

    p-MRR, and all scores of the original and of the changed queries (`og`, `changed`), if the task has changed
    judgements; else the mean over queries of the lowest nDCG@10 of their instructions, if that is the main metric.
    """
    if CHANGED in task.candidates:
        changes = _changes(run, task)
        p_mrr = float(changes.mean())
        original = np.array([query.endswith(ORIGINAL_MARK) for query in task.queries.ids])
        sides: dict[str, Any] = {}
        for name, rows in (("og", np.flatnonzero(original)), ("changed", np.flatnonzero(~original))):
            part = Run(run.rows[rows], run.scores[rows])
            sides[name] = mteb_scores(part, _selected(task.qrels, rows), profile=profile)
            sides[name].pop("main_score", None)
        return {P_MRR: changes}, {P_MRR: p_mrr, **sides}
    if task.info.main_metric == ROBUSTNESS:
        lowest = _lowest(task.queries.ids, ndcg_at_10)
        return {ROBUSTNESS: lowest}, {ROBUSTNESS: float(lowest.mean())}
    return {}, {}


def _changes(run: Run, task: Task) -> Float64:
    """Return the mean change of the ranks of the changed documents of each query."""
    rows_of, changes = task.queries.row_of, []
    for query, row in rows_of.items():
        changed = task.candidates[CHANGED].rows_of(row)
        before = rows_of.get(query.removesuffix(CHANGED_MARK) + ORIGINAL_MARK)
        if query.endswith(CHANGED_MARK) and before is not None and len(changed):
            changes.append(np.mean([_change(_rank(run, before, doc), _rank(run, row, doc)) for doc in changed]))
    if not changes:
        raise DataError(
            f"the task must have queries with the ids ID{ORIGINAL_MARK} and ID{CHANGED_MARK} and changed documents",
            where=task.name,
            hint=f"add the list {CHANGED} of documents for each changed query",
        )
    return np.array(changes, dtype=np.float64)


def _change(before: int, after: int) -> float:
    """Return the p-MRR of one document: above 0 if it lost rank.

    >>> _change(1, 2), _change(2, 1), _change(3, 3)
    (0.5, -0.5, 0.0)
    """
    return after / before - 1 if before >= after else 1 - before / after


def _rank(run: Run, query: int, document: int) -> int:
    """Return the rank of a document from 1; after the end of the list if it is not in it."""
    line = run.rows[query]
    places = np.flatnonzero(line == document) if document >= 0 else np.empty(0)
    return int(places[0]) + 1 if len(places) else int((line >= 0).sum()) + 1


def _lowest(queries: tuple[str, ...], ndcg: Float64) -> Float64:
    """Return the lowest score of each query, whose id is before the first underscore.

    >>> _lowest(("a_1", "a_2", "b_1"), np.array([1.0, 0.5, 0.25])).tolist()
    [0.5, 0.25]
    """
    lowest: dict[str, float] = {}
    for query, score in zip(queries, ndcg.tolist(), strict=True):
        group = query.split("_")[0]
        lowest[group] = min(score, lowest.get(group, score))
    return np.array(list(lowest.values()), dtype=np.float64)


def _selected(qrels: Qrels, queries: npt.NDArray[np.intp]) -> Qrels:
    """Return the judgements of some queries."""
    rows = [qrels.rows_of(query) for query in queries]
    grades = [qrels.grades_of(query) for query in queries]
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    empty = np.empty(0, dtype=np.int32)
    return Qrels(offsets, np.concatenate([empty, *rows]), np.concatenate([empty, *grades]))
