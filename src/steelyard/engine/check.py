"""Whether a run is one: a model, above all a plug-in's, may give what no metric should see."""

from __future__ import annotations

import numpy as np

from steelyard.errors import ModelError
from steelyard.types import Run, Task

_PROMISE = "Index.search promises: best first, ties by the lower row, no row twice, padding of -1 with -inf at the end"


def check_run(run: Run, task: Task, model: str) -> Run:
    """The run itself, if it keeps the promises of `Index.search`; else a ModelError that says which one is broken."""
    rows, scores = np.asarray(run.rows), np.asarray(run.scores)
    if rows.ndim != 2 or rows.shape != scores.shape or len(rows) != len(task.queries):
        raise _broken(model, f"rows of shape {rows.shape} and scores of shape {scores.shape}", task)
    if not np.issubdtype(rows.dtype, np.integer):
        raise _broken(model, f"rows of type {rows.dtype}", task)
    if not rows.size:
        return run
    if int(rows.min()) < -1 or int(rows.max()) >= len(task.corpus):
        odd = int(rows.min()) if int(rows.min()) < -1 else int(rows.max())
        raise _broken(model, f"a row of {odd} in a corpus of {len(task.corpus):,}", task)
    query = _first_query(np.isnan(scores))
    if query is not None:
        raise _broken(model, f"a score that is not a number, for query {task.queries.ids[query]!r}", task)
    query = _first_query(_out_of_order(rows, scores))
    if query is not None:
        raise _broken(model, f"a list that is out of order, for query {task.queries.ids[query]!r}", task)
    ranked = np.sort(rows, axis=1)
    query = _first_query((ranked[:, 1:] == ranked[:, :-1]) & (ranked[:, 1:] >= 0))
    if query is not None:
        raise _broken(model, f"the same document twice, for query {task.queries.ids[query]!r}", task)
    return run


def _out_of_order(rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
    rounded = scores.astype(np.float32, copy=False)
    real, following = rows[:, :-1] >= 0, rows[:, 1:] >= 0
    rising = rounded[:, 1:] > rounded[:, :-1]
    tied = (rounded[:, 1:] == rounded[:, :-1]) & (rows[:, 1:] < rows[:, :-1])
    wrong: np.ndarray = following & (~real | rising | tied)
    return wrong


def _first_query(wrong: np.ndarray) -> int | None:
    return int(wrong.any(axis=1).argmax()) if wrong.any() else None


def _broken(model: str, found: str, task: Task) -> ModelError:
    return ModelError(f"{model} gave {found} on {task.name}", hint=_PROMISE)
