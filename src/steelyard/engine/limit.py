"""A smaller task for a quick look: some of the queries, all of their judgements, the whole corpus."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.samples import AnyTask, ClusterTask, LabelTask, PairTask, Problem
from steelyard.types import Guarded, Int64, Qrels, Queries, Ragged, Task

Picked = npt.NDArray[np.intp]
T = TypeVar("T")


def limited(task: AnyTask, limit: int, seed: int) -> AnyTask:
    """The task with `limit` of its queries, pairs or texts; of a clustering, of the texts of each problem.

    They are the first of a shuffle by `seed`, kept in their own order, so that a larger limit with the same seed holds
    the smaller one's. Nothing else is left out: not a document, which would make the task easier, and not a text to
    learn from.
    """
    if limit < 1:
        raise UsageError(f"a limit of {limit} queries leaves nothing", hint="give 1 or more")
    if isinstance(task, Task):
        return limited_queries(task, limit, seed)
    if isinstance(task, ClusterTask):
        return replace(task, problems=tuple(_smaller(problem, limit, seed) for problem in task.problems))
    picked = sample(len(task), limit, seed)
    if isinstance(task, LabelTask):
        return replace(task, texts=_pick(task.texts, picked), labels=_pick(task.labels, picked))
    return PairTask(task.info, _pick(task.first, picked), _pick(task.second, picked), task.gold[picked])


def limited_queries(task: Task, limit: int, seed: int) -> Task:
    """`limited`, of a task that is searched."""
    return with_queries(task, sample(len(task.queries), limit, seed)) if limit < len(task.queries) else task


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
