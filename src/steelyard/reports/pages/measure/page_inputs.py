"""The inputs of a page: ranked lists of profiles, an audit, published scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from steelyard.datasets.cards import DatasetCard
from steelyard.types import Ragged, Run, Task

Kind = Literal["bm25", "dense", "hybrid", "other"]

LABELS: Mapping[Kind, str] = {"bm25": "BM25", "dense": "Dense", "hybrid": "Reranking hybrid", "other": "Other"}
"""The names of the profiles, in the order of tables and figures."""

KINDS: tuple[Kind, ...] = ("bm25", "dense", "hybrid")
"""The profiles that every page has."""

METRIC_NAMES = {
    "ndcg_at_10": "nDCG@10",
    "hit_rate_at_10": "hit@10",
    "recall_at_100": "recall@100",
    "pooled_recall_at_100": "pooled recall@100",
}
"""The names of metrics on a page."""

HYBRIDS = ("reranking_hybrid", "hybrid")
SAFEGUARD_DEPTH = 100
"""Lists of this length have one more row for a safeguard."""


@dataclass(frozen=True, eq=False)
class Profile:
    """The ranked lists of one profile: stored with the set, or made by a model."""

    kind: Kind
    config: str
    """The name of the stored lists, or of the model."""
    run: Run
    stored: bool = False
    safeguards: int = 0
    """The number of lists with a safeguard: a relevant document that was inserted for rerankers."""


@dataclass(frozen=True)
class Audit:
    """The result of an audit for leakage."""

    training_data: str
    queries_found: int
    documents_found: int
    method: str = ""
    date: str = ""
    verdict: str = ""


def stored_profiles(task: Task) -> list[Profile]:
    """Return the stored lists of the task, each with its profile.

    `bm25` is BM25, `reranking_hybrid` (or `hybrid`) is the hybrid, and the first other list by name is the dense
    model. Further lists are `other`, and so are those of a set without a `bm25`.
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
    """Return stored lists as a run whose scores only reflect the order.

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
    """What is on a task's page besides its data and runs."""

    audit: Audit | None = None
    published: Mapping[str, float] = field(default_factory=dict)
    """Published scores by the names of `TaskInfo.reference`; empty: no comparison."""
    published_name: str = ""
    published_counts: Mapping[str, float] = field(default_factory=dict)
    """Counts of the data of the published scores, as far as they are known."""
    made_from: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    signs: Mapping[str, int] = field(default_factory=dict)
    """Signs of leakage that `steelyard build` counted."""
    cards: tuple[DatasetCard, ...] = ()
    """The cards of the set and of its sources."""
    unread_cards: Mapping[str, str] = field(default_factory=dict)
