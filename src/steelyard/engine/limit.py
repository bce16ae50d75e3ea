"""Samples of a task (`--limit`): some of the queries, all of their judgements, and all or some of the documents."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.types import Corpus, Guarded, Int64, Qrels, Queries, Ragged, Task
from steelyard.types.samples import AnyTask, ClusterTask, LabelTask, Problem, SummaryTask

Rows = npt.NDArray[np.intp]
T = TypeVar("T")

OTHERS = 10
"""Where documents are sampled, so many unjudged ones stay for each query, at least (`limited_documents`)."""


def limited(task: AnyTask, limit: int, seed: int, *, documents: bool = False) -> AnyTask:
    """Return the task with `limit` of its queries, pairs or texts; of a clustering, of the texts of each problem.

    They are the first of a shuffle by `seed`, in their original order, so that a larger limit with the same seed
    contains the smaller sample. Training texts and documents all stay, since fewer documents make a task easier;
    with `documents`, they are sampled, too (`limited_documents`).
    """
    if limit < 1:
        raise UsageError.invalid("limit", expected="at least 1", found=limit, option="limit")
    if isinstance(task, Task):
        fewer = limited_queries(task, limit, seed)
        return limited_documents(fewer, len(task.queries), seed) if documents and fewer is not task else fewer
    if isinstance(task, ClusterTask):
        return replace(task, problems=tuple(_smaller(problem, limit, seed) for problem in task.problems))
    rows = sample(len(task), limit, seed)
    if isinstance(task, LabelTask):
        return replace(task, texts=_pick(task.texts, rows), labels=_pick(task.labels, rows))
    if isinstance(task, SummaryTask):
        human, machine = _pick(task.human, rows), _pick(task.machine, rows)
        return replace(task, human=human, machine=machine, gold=_pick(task.gold, rows))
    return replace(task, first=_pick(task.first, rows), second=_pick(task.second, rows), gold=task.gold[rows])


def limited_queries(task: Task, limit: int, seed: int) -> Task:
    """Return the retrieval task with a sample of its queries."""
    return with_queries(task, sample(len(task.queries), limit, seed)) if limit < len(task.queries) else task


def limited_documents(task: Task, queries_in_full: int, seed: int) -> Task:
    """Return the task with the judged documents and candidates of its queries, and a sample of the others.

    The sample is as large a share of them as of the queries, and at least ten for each query. Every relevant document
    stays, but it is easier to retrieve than in the full corpus.
    """
    named = np.zeros(len(task.corpus), dtype=bool)
    for lists in (task.qrels, *task.candidates.values()):
        named[lists.rows[lists.rows >= 0]] = True
    others = np.random.default_rng([seed, 1]).permutation(len(task.corpus))
    others = others[~named[others]]
    share = math.ceil(len(others) * len(task.queries) / queries_in_full)
    named[others[: max(share, OTHERS * len(task.queries))]] = True
    return with_documents(task, np.flatnonzero(named))


def with_documents(task: Task, rows: Rows) -> Task:
    """Return the task with these rows of its corpus; judgements of other documents stay, as of missing documents."""
    if len(rows) == len(task.corpus):
        return task
    corpus = task.corpus
    part = Corpus(
        tuple(corpus.ids[row] for row in rows),
        tuple(corpus.bodies[row] for row in rows),
        tuple(corpus.titles[row] for row in rows) if corpus.titles is not None else None,
    )
    new = np.full(len(corpus) + 1, -1, dtype=np.int32)  # the last one is for rows of -1, which stay missing
    new[rows] = np.arange(len(rows))
    qrels = replace(task.qrels, rows=new[task.qrels.rows])
    candidates = {name: replace(lists, rows=new[lists.rows]) for name, lists in task.candidates.items()}
    return replace(task, corpus=part, qrels=qrels, candidates=candidates)


def sample(size: int, limit: int, seed: int) -> Rows:
    """Return the first `limit` places of a shuffle, in ascending order; all of them if there are fewer."""
    return np.sort(np.random.default_rng(seed).permutation(size)[:limit])


def _smaller(problem: Problem, limit: int, seed: int) -> Problem:
    rows = sample(len(problem), limit, seed)
    return Problem(_pick(problem.texts, rows), _pick(problem.labels, rows))


def _pick(values: tuple[T, ...], rows: Rows) -> tuple[T, ...]:
    return tuple(values[place] for place in rows)


def with_queries(task: Task, rows: Rows) -> Task:
    """Return the task with these queries, their judgements and their candidates."""
    queries = Queries(
        tuple(task.queries.ids[q] for q in rows),
        tuple(task.queries.texts[q] for q in rows),
    )
    offsets, places = _part(task.qrels, rows)
    qrels = Qrels(offsets, task.qrels.rows[places], task.qrels.grades[places])
    candidates = {name: _ragged(lists, rows) for name, lists in task.candidates.items()}
    return replace(task, queries=queries, qrels=qrels, candidates=candidates)


def _ragged(lists: Ragged, rows: Rows) -> Ragged:
    offsets, places = _part(lists, rows)
    if isinstance(lists, Guarded):
        return Guarded(offsets, lists.rows[places], np.flatnonzero(np.isin(rows, lists.guarded)))
    return Ragged(offsets, lists.rows[places])


def _part(lists: Ragged, rows: Rows) -> tuple[Int64, Rows]:
    """Return new offsets, and the places of the entries that stay."""
    offsets = np.concatenate(([0], np.cumsum(lists.counts[rows]))).astype(np.int64)
    places = [np.arange(lists.offsets[q], lists.offsets[q + 1]) for q in rows]
    return offsets, np.concatenate(places).astype(np.intp)
