"""The candidate lists that a task brings, as a first stage: `candidates:reranking_hybrid > rerank:ID`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.options import Options
from steelyard.retrievers.model_names import result_name
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Guarded, Int64, Ragged, Run, TaskInfo
from steelyard.types.protocols import Combined, Index, ModelSettings, Retriever, Tick, Unjudged, no_tick

SAFEGUARDS = "safeguards"
"""The option that says whether they stay."""
OWN = "top_ranked"
"""What a reranking task calls the lists that every model ranks on it."""
TOP = 100
"""How many candidates a published hybrid keeps; what stands below was added after the fact."""


@dataclass(frozen=True)
class CandidateRetriever:
    """The stored lists of one name, in their stored order; without a name, those of a task that has only one.

    A list that is longer than `depth` is cut. Without `safeguards`, positives that no model found and that were put
    last are left out of their lists.
    """

    name: str
    lists: str = ""
    depth: int | None = None
    safeguards: bool = True

    parts: tuple[Retriever, ...] = ()
    reads: int | None = None

    @property
    def settings(self) -> ModelSettings:
        """Which lists; what is in them belongs to the task."""
        kept = {} if self.safeguards else {"safeguards": False}
        return {"candidates": self.lists or None, "depth": self.depth, **kept}

    def steps(self, task: Unjudged) -> int:
        """Reading a list ticks nothing."""
        return 0

    def combine(self, task: Unjudged, runs: Sequence[Run], top_k: int, tick: Tick = no_tick) -> Combined:
        """The lists, with scores that say the rank and no more: 1, 1/2, 1/3 ..."""
        name = self._find(task)
        lists = task.candidates[name]
        guarded = safeguarded(lists)
        kept = lists if self.safeguards else drop_last(lists, guarded)
        run = run_of(kept).cut(top_k if self.depth is None else min(top_k, self.depth))
        counts = run.lengths
        told = {
            "lists": name,
            "shortest": int(counts.min(initial=0)),
            "longest": int(counts.max(initial=0)),
            "safeguards" if self.safeguards else "safeguards_left_out": len(guarded),
        }
        return Combined(run, {"candidates": told})

    def _find(self, task: Unjudged) -> str:
        known = tuple(task.candidates)
        if self.lists in known:
            return self.lists
        if not known:
            raise UsageError(
                f"{task.info.name} has no candidate lists",
                hint="put a model in their place: 'bm25 > rerank:ID'; or make some: steelyard build candidates",
            )
        if not self.lists and len(known) == 1:
            return known[0]
        hint = f"{task.info.name} has {', '.join(known)}"
        raise (
            UnknownName("candidate list", self.lists, known, hint=hint)
            if self.lists
            else UsageError("which candidate lists?", hint=f"{hint}: candidates:{known[0]}")
        )

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Index:
        """Not without a task: the lists belong to its queries."""
        raise UsageError("candidate lists belong to a task", hint="evaluate a task, or put a model in their place")


def own_lists(task: Unjudged) -> Ragged | None:
    """The candidates that every model ranks on a reranking task, none of them twice; None for a task of another type.

    >>> from steelyard.types import Queries
    >>> corpus, queries = Corpus.of(["a", "b"], ["", ""]), Queries(("q",), ("",))
    >>> lists = {"top_ranked": Ragged(np.array([0, 3]), np.array([1, 0, 1], dtype=np.int32))}
    >>> own_lists(Unjudged(TaskInfo("X/y", type="reranking"), corpus, queries, lists)).rows.tolist()
    [0, 1]
    """
    if task.info.type != "reranking":
        return None
    known = tuple(task.candidates)
    if OWN not in known and len(known) != 1:
        raise DataError(
            f"is a reranking task, and has {'no candidates' if not known else 'the candidates ' + ', '.join(known)}",
            where=task.info.name,
            hint=f"a list of documents for each query, called {OWN}",
        )
    lists = task.candidates[OWN if OWN in known else known[0]]
    documents = max(len(task.corpus), 1)
    pairs = np.unique(np.repeat(np.arange(len(lists)), lists.counts) * documents + lists.rows)
    counts = np.bincount(pairs // documents, minlength=len(lists))
    return Ragged(np.concatenate(([0], np.cumsum(counts))), (pairs % documents).astype(np.int32))


def safeguarded(lists: Ragged, top: int = TOP) -> Int64:
    """The queries whose last candidate is a safeguard: on record, or, in lists of `top`, what stands one below.

    >>> safeguarded(Ragged(np.array([0, 2, 5]), np.arange(5, dtype=np.int32)), top=2).tolist()
    [1]
    """
    if isinstance(lists, Guarded):
        return lists.guarded
    counts = lists.counts
    return np.flatnonzero(counts == top + 1) if counts.max(initial=0) == top + 1 else np.empty(0, dtype=np.int64)


def drop_last(lists: Ragged, queries: Int64) -> Ragged:
    """The lists without the last candidate of these queries.

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
    """Ranked lists as a run, in their order.

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
    """The first stage of `candidates:NAME?depth=100&safeguards=drop`."""
    options = Options(str(spec), spec.options, ("depth", SAFEGUARDS))
    if spec.revision:
        raise UsageError(f"{spec} names a revision", hint="candidate lists have none; the task has")
    return CandidateRetriever(
        result_name(spec), spec.id, options.whole("depth", None), options.choice(SAFEGUARDS, ("keep", "drop")) == "keep"
    )
