"""What a page is made from: a task, and the ranked lists of its profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from steelyard.types import Ragged, Run, Task

Kind = Literal["bm25", "dense", "hybrid", "other"]

LABELS: Mapping[Kind, str] = {"bm25": "BM25", "dense": "Dense", "hybrid": "Reranking hybrid", "other": "Other"}
"""What the profiles are called; the order of tables and pictures."""

KINDS: tuple[Kind, ...] = ("bm25", "dense", "hybrid")
"""The profiles that every page has."""

HYBRIDS = ("reranking_hybrid", "hybrid")
SAFEGUARD_DEPTH = 100
"""Lists of this length keep one more row for a positive that they would have lost."""


@dataclass(frozen=True, eq=False)
class Profile:
    """The lists of one way of searching: stored with the set, or made by a model."""

    kind: Kind
    config: str
    """The name of the stored lists, or the model's."""
    run: Run
    stored: bool = False
    safeguards: int = 0
    """How many lists end in a positive that was put there, so that a reranker can find it."""

    @property
    def label(self) -> str:
        """What tables call it."""
        return LABELS[self.kind]


@dataclass(frozen=True)
class Audit:
    """What an audit for leakage found, where one was run."""

    training_data: str
    queries_found: int
    documents_found: int
    method: str = ""
    date: str = ""


def stored_profiles(task: Task) -> list[Profile]:
    """The lists that the task came with, each under the profile it stands for.

    `bm25` is BM25's; `reranking_hybrid` (or `hybrid`) the hybrid's; beside those, the only other list, or the first
    by name, is the dense model's. Any further list is kept as `other`, as are those of a set without a `bm25`.
    """
    names = sorted(task.candidates)
    roles: dict[str, Kind] = {}
    if "bm25" in names:
        roles["bm25"] = "bm25"
        rest = [name for name in names if name != "bm25" and "hybrid" not in name]
        roles.update(dict.fromkeys(rest[:1], "dense"))
    roles.update(dict.fromkeys([name for name in HYBRIDS if name in names][:1], "hybrid"))
    order = list(LABELS)
    ranked = sorted(names, key=lambda name: (order.index(roles.get(name, "other")), name))
    return [_stored(task.candidates[name], name, roles.get(name, "other")) for name in ranked]


def _stored(lists: Ragged, name: str, kind: Kind) -> Profile:
    counts = lists.counts
    guarded = int((counts > SAFEGUARD_DEPTH).sum()) if counts.max(initial=0) == SAFEGUARD_DEPTH + 1 else 0
    return Profile(kind, name, as_run(lists), stored=True, safeguards=guarded)


def as_run(lists: Ragged) -> Run:
    """Stored lists as a run whose scores say no more than the order.

    >>> as_run(Ragged(np.array([0, 2, 3]), np.array([5, 1, 4], dtype=np.int32))).rows.tolist()
    [[5, 1], [4, -1]]
    """
    place = np.arange(int(lists.counts.max(initial=0)))
    real = place < lists.counts[:, None]
    rows = np.full(real.shape, -1, dtype=np.int32)
    rows[real] = lists.rows
    return Run(rows, np.where(real, -place.astype(np.float32), np.float32(-np.inf)))


@dataclass(frozen=True)
class Context:
    """What goes onto a task's page beside its data and runs."""

    audit: Audit | None = None
    published: Mapping[str, float] = field(default_factory=dict)
    """Published figures by `TaskInfo.reference`'s names; empty: the page compares with nothing."""
    published_name: str = ""
    published_counts: Mapping[str, float] = field(default_factory=dict)
    """Counts of the data behind them, as far as they are known."""
    made_from: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
