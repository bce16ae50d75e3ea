"""Which queries changed most between two models, where their relevant documents went, and what took their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from typing import TYPE_CHECKING

import numpy as np

from steelyard.comparison.compute import model_pairs
from steelyard.comparison.loaded_tasks import LoadedTask
from steelyard.comparison.model import Positive, QueryChange
from steelyard.results import Result
from steelyard.types import Run, Task

if TYPE_CHECKING:
    from steelyard.comparison.comparison import Comparison

LONGEST = 200
"""Characters of a text that are kept."""
MOST_POSITIVES = 5
"""Relevant documents of a query that are listed, the best ranked first."""


def changed_queries(
    comparison: Comparison, cells: Mapping[str, Sequence[Result]], loaded: Mapping[str, LoadedTask], count: int
) -> tuple[QueryChange, ...]:
    """Return the queries with the largest absolute difference of each pair of models, over all tasks."""
    changes = []
    for model, baseline in model_pairs(len(comparison.models)):
        for _, task, query, place in _largest(comparison, model, baseline, count):
            scores = comparison.scores[task].scores
            change = QueryChange(
                task=task,
                query_id=query,
                model=comparison.models[model],
                baseline=comparison.models[baseline],
                score=float(scores[model, place]),
                baseline_score=float(scores[baseline, place]),
                first_rank=_first_rank(cells[task][model], query),
                baseline_first_rank=_first_rank(cells[task][baseline], query),
            )
            changes.append(_described(change, loaded[task], model, baseline) if task in loaded else change)
    return tuple(changes)


def _largest(comparison: Comparison, model: int, baseline: int, count: int) -> list[tuple[float, str, str, int]]:
    """Return the largest differences: their size below 0, task and id of the query, and its place in the task."""
    sizes = {task: np.abs(one.scores[model] - one.scores[baseline]) for task, one in comparison.scores.items()}
    every = np.concatenate([*sizes.values(), np.zeros(count)])
    least = float(np.partition(every, -count)[-count]) if count else np.inf
    candidates = (
        (-float(values[place]), task, comparison.scores[task].ids[place], place)
        for task, values in sizes.items()
        for place in np.flatnonzero((values >= least) & (values > 0)).tolist()
    )
    return nsmallest(count, candidates)


def _described(change: QueryChange, loaded: LoadedTask, model: int, baseline: int) -> QueryChange:
    """Return the change with texts and, where both runs were saved, the ranks of relevant documents."""
    task = loaded.task
    query = task.queries.row_of.get(change.query_id)
    if query is None:
        return change
    rows, grades = task.qrels.rows_of(query), task.qrels.grades_of(query)
    relevant = [int(row) for row, grade in zip(rows, grades, strict=True) if grade > 0 and row >= 0]
    own, other = loaded.runs[model], loaded.runs[baseline]
    positives = [
        Positive(task.corpus.ids[row], _short(task.corpus.texts[row]), _rank(own, query, row), _rank(other, query, row))
        for row in relevant
    ]
    positives.sort(key=lambda one: (min(one.rank or 10**9, one.baseline_rank or 10**9), one.id))
    instead = _instead(task, query, own, other, change.difference, relevant)
    return replace(
        change,
        query=_short(task.queries.texts[query]),
        positives=() if own is None or other is None else tuple(positives[:MOST_POSITIVES]),
        instead_id=None if instead is None else task.corpus.ids[instead],
        instead=None if instead is None else _short(task.corpus.texts[instead]),
    )


def _first_rank(result: Result, query: str) -> int | None:
    """Return the stored rank of the first relevant document."""
    if result.queries is None and result.path is None:
        return None
    stored = result.per_query
    if stored.first_positive is None:
        return None
    return int(stored.first_positive[stored.ids.index(query)]) or None


def _rank(run: Run | None, query: int, row: int) -> int | None:
    if run is None:
        return None
    places = np.flatnonzero(run.rows[query] == row)
    return int(places[0]) + 1 if len(places) else None


def _instead(
    task: Task, query: int, own: Run | None, other: Run | None, difference: float, relevant: Sequence[int]
) -> int | None:
    """Return the row that the worse run has where the better run has its first relevant document."""
    better, worse = (own, other) if difference > 0 else (other, own)
    if better is None or worse is None:
        return None
    places = np.flatnonzero(np.isin(better.rows[query], relevant))
    if not len(places) or places[0] >= worse.rows.shape[1]:
        return None
    row = int(worse.rows[query, places[0]])
    return row if row >= 0 and row not in relevant else None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
