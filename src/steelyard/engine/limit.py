"""A smaller task for a quick look: some of the queries, all of their judgements, and the whole corpus or a part."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.types import Corpus, Guarded, Int64, Qrels, Queries, Ragged, Task
from steelyard.types.samples import AnyTask, ClusterTask, LabelTask, PairTask, Problem

Picked = npt.NDArray[np.intp]
T = TypeVar("T")

OTHERS = 10
"""Where documents are left out, so many that nobody judged stay for each query, or more (`limited_documents`)."""


def limited(task: AnyTask, limit: int, seed: int, *, documents: bool = False) -> AnyTask:
    """The task with `limit` of its queries, pairs or texts; of a clustering, of the texts of each problem.

    They are the first of a shuffle by `seed`, kept in their own order, so that a larger limit with the same seed holds
    the smaller one's. Nothing else is left out: not a text to learn from, and not a document, which would make the
    task easier; unless `documents` asks for fewer of those, too (`limited_documents`).
    """
    if limit < 1:
        raise UsageError(f"a limit of {limit} queries leaves nothing", hint="give 1 or more")
    if isinstance(task, Task):
        fewer = limited_queries(task, limit, seed)
        return limited_documents(fewer, len(task.queries), seed) if documents and fewer is not task else fewer
    if isinstance(task, ClusterTask):
        return replace(task, problems=tuple(_smaller(problem, limit, seed) for problem in task.problems))
    picked = sample(len(task), limit, seed)
    if isinstance(task, LabelTask):
        return replace(task, texts=_pick(task.texts, picked), labels=_pick(task.labels, picked))
    return PairTask(task.info, _pick(task.first, picked), _pick(task.second, picked), task.gold[picked])


def limited_queries(task: Task, limit: int, seed: int) -> Task:
    """`limited`, of a task that is searched."""
    return with_queries(task, sample(len(task.queries), limit, seed)) if limit < len(task.queries) else task


def limited_documents(task: Task, queries_in_full: int, seed: int) -> Task:
    """The task with the documents that its queries' judgements and candidates name, and a sample of the others.

    Of the others as large a share stays as of the queries, but ten for each query at least: the first of a shuffle.
    So every relevant document can still be found, among many that are not; but it is found more easily than in full.
    """
    named = np.zeros(len(task.corpus), dtype=bool)
    for lists in (task.qrels, *task.candidates.values()):
        named[lists.rows[lists.rows >= 0]] = True
    others = np.random.default_rng([seed, 1]).permutation(len(task.corpus))
    others = others[~named[others]]
    share = math.ceil(len(others) * len(task.queries) / queries_in_full)
    named[others[: max(share, OTHERS * len(task.queries))]] = True
    return with_documents(task, np.flatnonzero(named))


def with_documents(task: Task, rows: Picked) -> Task:
    """The task with these rows of its corpus; judgements of the others count as those of documents that are missing."""
    if len(rows) == len(task.corpus):
        return task
    corpus = task.corpus
    kept = Corpus(
        tuple(corpus.ids[row] for row in rows),
        tuple(corpus.bodies[row] for row in rows),
        tuple(corpus.titles[row] for row in rows) if corpus.titles is not None else None,
    )
    new = np.full(len(corpus) + 1, -1, dtype=np.int32)  # the last place is for rows of -1: missing they stay
    new[rows] = np.arange(len(rows))
    qrels = replace(task.qrels, rows=new[task.qrels.rows])
    candidates = {name: replace(lists, rows=new[lists.rows]) for name, lists in task.candidates.items()}
    return replace(task, corpus=kept, qrels=qrels, candidates=candidates)


def sample(size: int, limit: int, seed: int) -> Picked:
    """The first `limit` places of a shuffle, in ascending order; all of them where there are no more."""
    return np.sort(np.random.default_rng(seed).permutation(size)[:limit])


def _smaller(problem: Problem, limit: int, seed: int) -> Problem:
    picked = sample(len(problem), limit, seed)
    return Problem(_pick(problem.texts, picked), _pick(problem.labels, picked))


def _pick(values: tuple[T, ...], picked: Picked) -> tuple[T, ...]:
    return tuple(values[place] for place in picked)


def with_queries(task: Task, picked: Picked) -> Task:
    """The task with these queries, their judgements and their candidates."""
    queries = Queries(
        tuple(task.queries.ids[q] for q in picked),
        tuple(task.queries.texts[q] for q in picked),
    )
    offsets, kept = _part(task.qrels, picked)
    qrels = Qrels(offsets, task.qrels.rows[kept], task.qrels.grades[kept])
    candidates = {name: _ragged(lists, picked) for name, lists in task.candidates.items()}
    return replace(task, queries=queries, qrels=qrels, candidates=candidates)


def _ragged(lists: Ragged, picked: Picked) -> Ragged:
    offsets, kept = _part(lists, picked)
    if isinstance(lists, Guarded):
        return Guarded(offsets, lists.rows[kept], np.flatnonzero(np.isin(picked, lists.guarded)))
    return Ragged(offsets, lists.rows[kept])


def _part(lists: Ragged, picked: Picked) -> tuple[Int64, Picked]:
    """New offsets, and the places of the entries that stay."""
    offsets = np.concatenate(([0], np.cumsum(lists.counts[picked]))).astype(np.int64)
    places = [np.arange(lists.offsets[q], lists.offsets[q + 1]) for q in picked]
    return offsets, np.concatenate(places).astype(np.intp)
