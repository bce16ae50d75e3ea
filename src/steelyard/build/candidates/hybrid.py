"""Join two ranked lists per query into one candidate list to rerank: rank fusion, then the safeguard.

The published sets call it `reranking_hybrid`. Their recipe and ours differ only in the constant and in the order of
ties:

    recipe     k     ties                                              depth of the lists
    hakari     100   best rank in any one list, then id ascending      500
    default    60    score in float32, then id descending              500      (as everywhere in Steelyard)
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from steelyard.errors import UsageError
from steelyard.retrievers.candidates import TOP, drop_last
from steelyard.types import Float64, Guarded, Int64, Ragged, Task

SEED = 20260524
"""The seed of the published safeguards."""

Ties = Literal["rank-then-id-ascending", "id-descending"]


@dataclass(frozen=True)
class Hybrid:
    """How lists are joined into candidate lists.

    >>> Hybrid.hakari().k, Hybrid().k
    (100.0, 60.0)
    """

    k: float = 60.0
    top: int = TOP
    depth: int = 500
    ties: Ties = "id-descending"
    safeguard: bool = True
    seed: int = SEED

    def __post_init__(self) -> None:
        if self.k < 0 or self.top < 1 or self.depth < 1:
            raise UsageError(
                "a hybrid must have k of at least 0, top and depth of at least 1, "
                f"got k={self.k:g}, top={self.top}, depth={self.depth}",
                expected="k >= 0, top >= 1, depth >= 1",
            )

    @classmethod
    def hakari(cls, *, safeguard: bool = True) -> Hybrid:
        """Return the recipe of the published sets."""
        return cls(k=100.0, ties="rank-then-id-ascending", safeguard=safeguard)

    @property
    def settings(self) -> dict[str, Any]:
        """Return every choice, JSON-ready."""
        return {
            "method": "rrf",
            "rrf_k": self.k,
            "top_k": self.top,
            "depth": self.depth,
            "ties": self.ties,
            "safeguard": f"one positive at rank {self.top + 1} where none is above" if self.safeguard else None,
            "safeguard_seed": self.seed if self.safeguard else None,
        }

    def build(self, task: Task, lists: Sequence[Ragged], split: str) -> HybridLists:
        """Return the candidates of every query; `split` is part of the seed of the safeguards."""
        fused = fuse_lists(lists, self)
        chosen = safeguards(task, fused, split, self.seed) if self.safeguard else {}
        return HybridLists(_append(fused, chosen), chosen)


@dataclass(frozen=True, eq=False)
class HybridLists:
    """Candidate lists, and the row of the safeguard, the last candidate, of each query (by row) that needed one."""

    lists: Guarded
    safeguards: Mapping[int, int]

    @property
    def without_safeguards(self) -> Ragged:
        """Return the lists without their safeguards."""
        return drop_last(self.lists, self.lists.guarded)


def fuse_lists(lists: Sequence[Ragged], hybrid: Hybrid) -> Ragged:
    """Return the best `top` documents of each query by the sum of `1 / (k + rank)` over the lists, ranks from 1.

    >>> a, b = Ragged(np.array([0, 2]), np.array([5, 3])), Ragged(np.array([0, 2]), np.array([3, 5]))
    >>> fuse_lists([a, b], Hybrid.hakari()).rows.tolist(), fuse_lists([a, b], Hybrid()).rows.tolist()
    ([5, 3], [3, 5])
    """
    if not lists or len({len(part) for part in lists}) != 1:
        lengths = ", ".join(str(len(part)) for part in lists) or "no lists"
        raise UsageError.invalid("the lists of every model", expected="for the same number of queries", found=lengths)
    owners, rows, ranks = (
        np.concatenate(parts) for parts in zip(*(_places(p, hybrid.depth) for p in lists), strict=True)
    )
    owner, row, score, best = _sum_by_document(owners, rows, ranks, 1.0 / (hybrid.k + ranks))
    if hybrid.ties == "id-descending":
        order = np.lexsort((row, -score.astype(np.float32), owner))
    else:  # rows descend with ids, so the lower id has the higher row
        order = np.lexsort((-row, best, -score, owner))
    place = _place_within(owner[order])
    best_rows = order[place < hybrid.top]
    counts = np.bincount(owner[best_rows], minlength=len(lists[0]))
    return Ragged(np.concatenate(([0], np.cumsum(counts))).astype(np.int64), row[best_rows].astype(np.int32))


def safeguards(task: Task, lists: Ragged, split: str, seed: int = SEED) -> dict[int, int]:
    """Return the positive to add for each query that has positives in the corpus but none in its list.

    One of several is drawn by a generator that is seeded with the seed, the split and the query's id, so that a query
    has the same safeguard with any other queries.
    """
    chosen: dict[int, int] = {}
    for query in range(len(task.queries)):
        judged = task.qrels.rows_of(query)
        positives = judged[(task.qrels.grades_of(query) > 0) & (judged >= 0)]
        if not len(positives) or np.isin(positives, lists.rows_of(query)).any():
            continue
        draw = random.Random(f"{seed}\0{split}\0{task.queries.ids[query]}\0positive_safeguard")
        ascending = sorted(positives.tolist(), reverse=True)  # by id: rows descend with ids
        chosen[query] = draw.choice(ascending)
    return chosen


def _append(lists: Ragged, chosen: Mapping[int, int]) -> Guarded:
    queries = np.array(sorted(chosen), dtype=np.int64)
    rows = np.insert(lists.rows, lists.offsets[1:][queries], [chosen[query] for query in queries.tolist()])
    counts = lists.counts
    counts[queries] += 1
    return Guarded(np.concatenate(([0], np.cumsum(counts))).astype(np.int64), rows.astype(np.int32), queries)


def _places(lists: Ragged, depth: int) -> tuple[Int64, Int64, Int64]:
    """Return query, row and rank (from 1) of every entry up to the depth."""
    owner = np.repeat(np.arange(len(lists)), lists.counts)
    rank = np.arange(len(lists.rows)) - np.repeat(lists.offsets[:-1], lists.counts) + 1
    near = rank <= depth
    return owner[near], lists.rows[near].astype(np.int64), rank[near]


def _sum_by_document(owners: Int64, rows: Int64, ranks: Int64, gains: Float64) -> tuple[Int64, Int64, Float64, Int64]:
    """Return each (query, document) once, with its summed gain, added in the order of the lists, and its best rank."""
    if not len(owners):
        return owners, rows, gains, ranks
    order = np.lexsort((rows, owners))  # stable: entries of one document stay in the order of the lists
    owners, rows = owners[order], rows[order]
    starts = np.flatnonzero(np.r_[True, (rows[1:] != rows[:-1]) | (owners[1:] != owners[:-1])])
    return (
        owners[starts],
        rows[starts],
        np.add.reduceat(gains[order], starts),
        np.minimum.reduceat(ranks[order], starts),
    )


def _place_within(owner: Int64) -> Int64:
    """Return 0, 1, 2 ... within each run of equal owners."""
    if not len(owner):
        return owner
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    lengths = np.diff(np.r_[starts, len(owner)])
    return np.arange(len(owner)) - np.repeat(starts, lengths)
