"""The candidate lists of a task as a first stage: `candidates:reranking_hybrid > rerank:ID`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.options import Options
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.model_variants import SAFEGUARDS
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Guarded, Int64, Ragged, Run, TaskInfo
from steelyard.types.protocols import Combined, Index, ModelSettings, Retriever, Tick, Unjudged, no_tick
from steelyard.types.task_info import CHANGED, RERANKED

OWN = "top_ranked"
"""The name of the lists that every model ranks on a reranking task."""
TOP = 100
"""Length of a published hybrid list; a document after it was added later."""


@dataclass(frozen=True)
class CandidateRetriever:
    """The stored lists of one name, in their stored order; without a name, the only lists of the task.

    The first `depth` candidates of a list count. Without `safeguards`, relevant documents that no model found and that
    were appended to a list are left out.
    """

    name: str
    lists: str = ""
    depth: int | None = None
    safeguards: bool = True

    parts: tuple[Retriever, ...] = ()
    reads: int | None = None

    @property
    def settings(self) -> ModelSettings:
        """Return which lists are read; their content belongs to the task."""
        dropped = {} if self.safeguards else {"safeguards": False}
        return {"candidates": self.lists or None, "depth": self.depth, **dropped}

    def steps(self, task: Unjudged) -> int:
        """Return 0: reading a list takes no time."""
        return 0

    def combine(self, task: Unjudged, runs: Sequence[Run], top_k: int, tick: Tick = no_tick) -> Combined:
        """Return the lists, with scores that only express the rank: 1, 1/2, 1/3 ..."""
        name = self._find(task)
        lists = task.candidates[name]
        guarded = safeguarded(lists)
        candidates = lists if self.safeguards else drop_last(lists, guarded)
        run = run_of(candidates).top(top_k if self.depth is None else min(top_k, self.depth))
        counts = run.lengths
        notes = {
            "lists": name,
            "shortest": int(counts.min(initial=0)),
            "longest": int(counts.max(initial=0)),
            "safeguards" if self.safeguards else "safeguards_left_out": len(guarded),
        }
        return Combined(run, {"candidates": notes})

    def _find(self, task: Unjudged) -> str:
        known = tuple(task.candidates)
        if self.lists in known:
            return self.lists
        if not known:
            raise UsageError(
                f"the task {task.info.name} has no candidate lists",
                hint="use a model as first stage, 'bm25 > rerank:ID', or make lists: steelyard build candidates",
            )
        if not self.lists and len(known) == 1:
            return known[0]
        names = ", ".join(f"candidates:{name}" for name in known)
        if self.lists:
            raise UnknownName("candidate list", self.lists, known, hint=f"choose one of {names}")
        raise UsageError(
            f"the candidate lists of {task.info.name} must be named, because it has {len(known)}",
            hint=f"choose one of {names}",
            option="candidates",
        )

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Index:
        """Raise a UsageError: the lists belong to the queries of a task."""
        raise UsageError("candidate lists must be used with a task", hint="evaluate a task, or use another model")


def own_lists(task: Unjudged) -> Ragged | None:
    """Return the distinct candidates that every model ranks on a reranking task; None for a task of another type.

    >>> from steelyard.types import Queries
    >>> corpus, queries = Corpus.of(["a", "b"], ["", ""]), Queries(("q",), ("",))
    >>> lists = {"top_ranked": Ragged(np.array([0, 3]), np.array([1, 0, 1], dtype=np.int32))}
    >>> own_lists(Unjudged(TaskInfo("X/y", type="reranking"), corpus, queries, lists)).rows.tolist()
    [0, 1]
    """
    if task.info.type not in RERANKED:
        return None
    known = tuple(name for name in task.candidates if name != CHANGED)
    if OWN not in known and len(known) != 1:
        raise DataError(
            f"a reranking task must have candidate lists named {OWN}, got {', '.join(known) or 'none'}",
            where=task.info.name,
            hint=f"add a list of documents for each query, named {OWN}",
            expected=OWN,
            found=", ".join(known) or None,
        )
    lists = task.candidates[OWN if OWN in known else known[0]]
    documents = max(len(task.corpus), 1)
    pairs = np.unique(np.repeat(np.arange(len(lists)), lists.counts) * documents + lists.rows)
    counts = np.bincount(pairs // documents, minlength=len(lists))
    return Ragged(np.concatenate(([0], np.cumsum(counts))), (pairs % documents).astype(np.int32))


def safeguarded(lists: Ragged, top: int = TOP) -> Int64:
    """Return the queries whose last candidate is a safeguard: as recorded, or the one after the first `top`.

    >>> safeguarded(Ragged(np.array([0, 2, 5]), np.arange(5, dtype=np.int32)), top=2).tolist()
    [1]
    """
    if isinstance(lists, Guarded):
        return lists.guarded
    counts = lists.counts
    return np.flatnonzero(counts == top + 1) if counts.max(initial=0) == top + 1 else np.empty(0, dtype=np.int64)


def drop_last(lists: Ragged, queries: Int64) -> Ragged:
    """Return the lists without the last candidate of these queries.

    >>> drop_last(Ragged(np.array([0, 2, 5]), np.arange(5, dtype=np.int32)), np.array([1])).rows.tolist()
    [0, 1, 2, 3]
    """
    if not len(queries):
        return lists
    counts = lists.counts
    counts[queries] -= 1
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Ragged(offsets, np.delete(lists.rows, lists.offsets[1:][queries] - 1))


def run_of(lists: Ragged) -> Run:
    """Return ranked lists as a run, in their order.

    >>> run_of(Ragged(np.array([0, 2, 3]), np.array([4, 1, 7], dtype=np.int32))).rows.tolist()
    [[4, 1], [7, -1]]
    """
    counts = lists.counts
    depth = int(counts.max(initial=0))
    real = np.arange(depth) < counts[:, None]
    rows = np.full(real.shape, -1, dtype=np.int32)
    rows[real] = lists.rows
    return Run(rows, np.where(real, 1 / np.arange(1, depth + 1), -np.inf).astype(np.float32))


def from_spec(spec: ModelSpec) -> CandidateRetriever:
    """Return the first stage of `candidates:NAME?depth=100&safeguards=drop`."""
    options = Options(str(spec), spec.options, ("depth", SAFEGUARDS))
    if spec.revision:
        raise UsageError(
            f"{spec} must not name a revision",
            hint="remove it: candidate lists belong to the task",
            found=spec.revision,
        )
    return CandidateRetriever(
        result_name(spec), spec.id, options.whole("depth", None), options.choice(SAFEGUARDS, ("keep", "drop")) == "keep"
    )
