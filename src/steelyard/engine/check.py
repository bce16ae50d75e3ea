"""Whether a run is one, and a task: a plug-in, or a program, may give what no metric should see."""

from __future__ import annotations

from collections.abc import Sized
from operator import gt
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError, ModelError, UnknownName
from steelyard.types import Int32, Ragged, Run, Task
from steelyard.types.samples import AnyTask, LabelTask, PairTask

_PROMISE = "Index.search promises: best first, ties by the lower row, no row twice, padding of -1 with -inf at the end"


def check_run(run: Run, task: Task, model: str) -> Run:
    """The run itself, if it keeps the promises of `Index.search`; else a ModelError that says which one is broken."""
    if not isinstance(run, Run):
        raise _broken(model, f"a {type(run).__name__} where a Run was expected", task)
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
    """A ModelError for the first score that is None, NaN or anything but a number; infinite ones have their place."""
    real = scores.dtype.kind in "fiu"
    odd = np.isnan(scores) if real else np.frompyfunc(_is_no_number, 1, 1)(scores).astype(bool)
    if odd.any():
        query, place = (int(at[0]) for at in np.nonzero(odd))
        row = int(rows[query, place])
        document = f"document {task.corpus.ids[row]!r}" if row >= 0 else "no document"
        found = f"a score of {scores[query, place]} for query {task.queries.ids[query]!r} and {document}"
        raise _broken(model, found, task)
    if not real:
        raise _broken(model, f"scores of type {scores.dtype}", task)


def _is_no_number(score: object) -> bool:
    return not isinstance(score, int | float | np.number) or bool(score != score)


SEARCHED = ("retrieval", "reranking")
"""The types of tasks that have a corpus."""


def check_task(task: AnyTask) -> AnyTask:
    """The task itself, if it is one that a source could have read; else a DataError that says what is wrong with it.

    Files are checked when they are read; this is for tasks that were put together in a program.
    """
    if isinstance(task, Task):
        _check_searched(task)
    elif isinstance(task, PairTask):
        _columns("pair", task.name, task.first, task.second, values=task.gold)
        if not isinstance(task.gold, np.ndarray):
            raise DataError(
                f"gold values in a {type(task.gold).__name__}", where=task.name, hint="np.array(...) holds them"
            )
        if not np.isfinite(task.gold).all():
            row = int(np.flatnonzero(~np.isfinite(task.gold))[0])
            raise DataError(
                f"the gold value {task.gold[row]} at pair row {row}", where=task.name, hint="remove the pair"
            )
    elif isinstance(task, LabelTask):
        _columns("training text", task.name, task.train_texts, values=task.train_labels)
        _columns("text", task.name, task.texts, values=task.labels)
    else:
        for problem in task.problems:
            _columns("text", task.name, problem.texts, values=problem.labels)
    return task


def _check_searched(task: Task) -> None:
    corpus, queries, name = task.corpus, task.queries, task.name or "a task without a name"
    if task.info.type not in SEARCHED:
        raise UnknownName("type of task", task.info.type, SEARCHED, hint=f"{name} has a corpus: retrieval or reranking")
    if not len(corpus) or not len(queries):
        raise DataError(f"{len(queries)} queries and {len(corpus)} documents", where=name, hint="give it some of each")
    _columns("document", name, corpus.ids, corpus.bodies, *([] if corpus.titles is None else [corpus.titles]))
    _columns("query", name, queries.ids, queries.texts)
    if not all(map(gt, corpus.ids, corpus.ids[1:])):
        raise DataError(
            "document ids that are not unique and in descending order", where=name, hint="`Corpus.of` puts them so"
        )
    if len(queries.row_of) != len(queries):
        again = next(id for row, id in enumerate(queries.ids) if queries.row_of[id] != row)
        raise DataError(f"two queries have the id {again!r}", where=name, hint="make ids unique")
    for kind, lists in {"judgements": task.qrels, **task.candidates}.items():
        _rows(kind, lists, task, name)


def _columns(noun: str, name: str, *columns: tuple[str, ...], values: Sized | None = None) -> None:
    """Whether the columns hold text, as many of it as there are values beside."""
    counts = [*map(len, columns), *([] if values is None else [len(values)])]
    if len(set(counts)) > 1:
        told = " and ".join(map(str, counts))
        raise DataError(f"{told} values in the columns of a {noun}", where=name, hint="one of each in every row")
    for column in columns:
        # Looked at one by one only where there is a type that is not text.
        if any(not issubclass(kind, str) for kind in set(map(type, column))):
            row, odd = next((row, value) for row, value in enumerate(column) if not isinstance(value, str))
            raise DataError(
                f"{odd!r} at {noun} row {row}, where text was expected", where=name, hint="str(...) makes it so"
            )


def _rows(kind: str, lists: Ragged, task: Task, name: str) -> None:
    """Whether the lists have a place for each query, and rows that the corpus has."""
    if len(lists) != len(task.queries):
        raise DataError(
            f"{kind} of {len(lists)} queries, and {len(task.queries)} queries", where=name, hint="give as many"
        )
    if lists.rows.size and not -1 <= lists.rows.min() <= lists.rows.max() < len(task.corpus):
        odd = lists.rows.min() if lists.rows.min() < -1 else lists.rows.max()
        raise DataError(
            f"{kind} of a document row {odd}, in a corpus of {len(task.corpus):,}",
            where=name,
            hint="`corpus.row_of` tells the row of an id; -1 is a document that the corpus does not hold",
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


def _broken(model: str, found: str, task: Task) -> ModelError:
    return ModelError(f"{model} gave {found} on {task.name}", hint=_PROMISE)
