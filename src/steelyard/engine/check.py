"""Checks of runs that models return and of tasks that programs build."""

from __future__ import annotations

from collections.abc import Sized
from operator import gt
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError, ModelError, UnknownName
from steelyard.types import Int32, Ragged, Run, Task
from steelyard.types.protocols import Index
from steelyard.types.samples import AnyTask, LabelTask, PairTask, SummaryTask
from steelyard.types.task_info import SEARCHED

_CONTRACT = (
    "Index.search returns lists best first, ties by the lower row, no row twice, padding of -1 and -inf at the end"
)


def check_index(index: Index, model: str) -> Index:
    """Return what `Retriever.index` returned if it can be searched; otherwise raise a ModelError."""
    missing = [name for name in ("search", "size_bytes", "notes") if not hasattr(index, name)]
    if missing:
        raise ModelError(
            f"{model} must return an Index, got {type(index).__name__} without {', '.join(missing)}",
            hint="an Index has search, size_bytes and notes",
        )
    return index


def check_run(run: Run, task: Task, model: str) -> Run:
    """Return the run if it meets the contract of `Index.search`; otherwise raise a ModelError."""
    if not isinstance(run, Run):
        raise _broken(model, f"a {type(run).__name__} instead of a Run", task)
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
    _check_scores(rows, scores, task, model)
    query = _first_query(_out_of_order(rows, scores))
    if query is not None:
        raise _broken(model, f"a list that is out of order, for query {task.queries.ids[query]!r}", task)
    ranked = np.sort(rows, axis=1)
    query = _first_query((ranked[:, 1:] == ranked[:, :-1]) & (ranked[:, 1:] >= 0))
    if query is not None:
        raise _broken(model, f"the same document twice, for query {task.queries.ids[query]!r}", task)
    return run


def _check_scores(rows: Int32, scores: npt.NDArray[Any], task: Task, model: str) -> None:
    """Raise a ModelError for the first score that is None, NaN or not a number; infinite scores are allowed."""
    real = scores.dtype.kind in "fiu"
    odd = np.isnan(scores) if real else np.frompyfunc(_is_not_a_number, 1, 1)(scores).astype(bool)
    if odd.any():
        query, place = (int(at[0]) for at in np.nonzero(odd))
        row = int(rows[query, place])
        document = f"document {task.corpus.ids[row]!r}" if row >= 0 else "no document"
        description = f"a score of {scores[query, place]} for query {task.queries.ids[query]!r} and {document}"
        raise _broken(model, description, task)
    if not real:
        raise _broken(model, f"scores of type {scores.dtype}", task)


def _is_not_a_number(score: object) -> bool:
    return not isinstance(score, int | float | np.number) or bool(score != score)


def check_task(task: AnyTask) -> AnyTask:
    """Return the task if it is valid; otherwise raise a DataError. For tasks that were built in a program."""
    if isinstance(task, Task):
        _check_searched(task)
    elif isinstance(task, PairTask):
        _columns("pair", task.name, task.first, task.second, values=task.gold)
        if not isinstance(task.gold, np.ndarray):
            raise DataError.invalid(
                "gold",
                expected="a numpy array",
                found=type(task.gold).__name__,
                where=task.name,
                hint="use np.array(...)",
            )
        if not np.isfinite(task.gold).all():
            row = int(np.flatnonzero(~np.isfinite(task.gold))[0])
            raise DataError.invalid(
                f"the gold value of pair {row}",
                expected="finite",
                found=float(task.gold[row]),
                where=task.name,
                row=row,
                hint="remove the pair",
            )
    elif isinstance(task, LabelTask):
        _columns("training text", task.name, task.train_texts, values=task.train_labels)
        _columns("text", task.name, task.texts, values=task.labels)
    elif isinstance(task, SummaryTask):
        for row, (human, machine, gold) in enumerate(zip(task.human, task.machine, task.gold, strict=True)):
            _columns(f"human summary of text {row}", task.name, human)
            _columns(f"machine summary of text {row}", task.name, machine, values=gold)
    else:
        for problem in task.problems:
            _columns("text", task.name, problem.texts, values=problem.labels)
    return task


def _check_searched(task: Task) -> None:
    corpus, queries, name = task.corpus, task.queries, task.name or "a task without a name"
    if task.info.type not in SEARCHED:
        raise UnknownName("type of a task with a corpus", task.info.type, SEARCHED, hint="use retrieval or reranking")
    if not len(corpus) or not len(queries):
        raise DataError(
            f"the task must have queries and documents, got {len(queries)} and {len(corpus)}",
            where=name,
            hint="add some of each",
        )
    _columns("document", name, corpus.ids, corpus.bodies, *([] if corpus.titles is None else [corpus.titles]))
    _columns("query", name, queries.ids, queries.texts)
    if not all(map(gt, corpus.ids, corpus.ids[1:])):
        raise DataError(
            "document ids must be unique and in descending order", where=name, hint="build the corpus with Corpus.of"
        )
    if len(queries.row_of) != len(queries):
        repeated = next(id for row, id in enumerate(queries.ids) if queries.row_of[id] != row)
        raise DataError.invalid("query ids", expected="unique", found=f"{repeated} twice", where=name)
    for kind, lists in {"judgements": task.qrels, **task.candidates}.items():
        _rows(kind, lists, task, name)


def _columns(noun: str, name: str, *columns: tuple[str, ...], values: Sized | None = None) -> None:
    """Raise a DataError if the columns are not text, or not of the same length as the values."""
    counts = [*map(len, columns), *([] if values is None else [len(values)])]
    if len(set(counts)) > 1:
        lengths = " and ".join(map(str, counts))
        raise DataError.invalid(f"the columns of each {noun}", expected="of the same length", found=lengths, where=name)
    for column in columns:
        # Values are checked one by one only if there is another type.
        if any(not issubclass(kind, str) for kind in set(map(type, column))):
            row, odd = next((row, value) for row, value in enumerate(column) if not isinstance(value, str))
            raise DataError.invalid(
                f"{noun} row {row}", expected="text", found=odd, where=name, row=row, hint="convert it with str(...)"
            )


def _rows(kind: str, lists: Ragged, task: Task, name: str) -> None:
    """Raise a DataError if there is not one list for each query, or a row is outside the corpus."""
    if len(lists) != len(task.queries):
        expected = f"one list for each of {len(task.queries)} queries"
        raise DataError.invalid(kind, expected=expected, found=len(lists), where=name)
    if lists.rows.size and not -1 <= lists.rows.min() <= lists.rows.max() < len(task.corpus):
        odd = lists.rows.min() if lists.rows.min() < -1 else lists.rows.max()
        raise DataError(
            f"rows of {kind} must be below {len(task.corpus):,}, the size of the corpus, got {odd}",
            where=name,
            found=int(odd),
            hint="look up rows with corpus.row_of; -1 is a document that the corpus does not have",
        )


def _out_of_order(rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
    rounded = scores.astype(np.float32, copy=False)
    real, following = rows[:, :-1] >= 0, rows[:, 1:] >= 0
    rising = rounded[:, 1:] > rounded[:, :-1]
    tied = (rounded[:, 1:] == rounded[:, :-1]) & (rows[:, 1:] < rows[:, :-1])
    wrong: np.ndarray = following & (~real | rising | tied)
    return wrong


def _first_query(wrong: np.ndarray) -> int | None:
    return int(wrong.any(axis=1).argmax()) if wrong.any() else None


def _broken(model: str, description: str, task: Task) -> ModelError:
    return ModelError(f"{model} returned {description} on {task.name}", hint=_CONTRACT)
