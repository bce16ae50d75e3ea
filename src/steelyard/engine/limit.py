"""A smaller task for a quick look: some of the queries, all of their judgements, the whole corpus."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.types import Int64, Qrels, Queries, Ragged, Task

Picked = npt.NDArray[np.intp]


def limited(task: Task, limit: int, seed: int) -> Task:
    """The task with `limit` of its queries: the first of a shuffle by `seed`, kept in their own order.

    A larger limit with the same seed holds the smaller one's queries. No document is left out: a smaller corpus
    would be an easier task.
    """
    if limit < 1:
        raise UsageError(f"a limit of {limit} queries leaves nothing", hint="give 1 or more")
    if limit >= len(task.queries):
        return task
    picked = np.sort(np.random.default_rng(seed).permutation(len(task.queries))[:limit])
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
    return Ragged(offsets, lists.rows[kept])


def _part(lists: Ragged, picked: Picked) -> tuple[Int64, Picked]:
    """New offsets, and the places of the entries that stay."""
    offsets = np.concatenate(([0], np.cumsum(lists.counts[picked]))).astype(np.int64)
    places = [np.arange(lists.offsets[q], lists.offsets[q + 1]) for q in picked]
    return offsets, np.concatenate(places).astype(np.intp)
