"""What limits the score: the order of the first documents, the documents themselves, or the judgements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard import stats
from steelyard.reports.pages.measure.diagnosis_values import Complement, Limit
from steelyard.reports.pages.measure.page_inputs import SAFEGUARD_DEPTH, Kind
from steelyard.reports.pages.measure.part_values import Ceiling
from steelyard.reports.pages.measure.profile_scores import Measured, by_kind, perfect_ndcg
from steelyard.reports.pages.thresholds import FOUND
from steelyard.types import Run, Task


def limits(measured: Sequence[Measured], ceiling: Ceiling) -> tuple[Limit, ...]:
    """Return the losses of every profile; with its score they add up to 1."""
    rows = []
    for one in measured:
        perfect = one.values.perfect_rerank_ndcg_at_10
        if perfect is not None:
            score = one.values.ndcg_at_10
            # A corpus ceiling below that of the pool would be an error of rounding.
            pool = max(ceiling.ndcg_at_10 - perfect, 0.0)
            rows.append(Limit(one.kind, score, perfect - score, pool, 1 - ceiling.ndcg_at_10))
    return tuple(rows)


def complement(task: Task, measured: Sequence[Measured]) -> Complement | None:
    """Return how BM25 and the dense profile complement each other; None without both."""
    profiles = by_kind(measured)
    if "bm25" not in profiles or "dense" not in profiles:
        return None
    bm25, dense = profiles["bm25"], profiles["dense"]
    asked = task.qrels.positives > 0
    sparse, semantic = ((one.ranks > 0) & (one.ranks <= FOUND) & asked for one in (bm25, dense))
    best: Kind = "bm25" if bm25.values.ndcg_at_10 >= dense.values.ndcg_at_10 else "dense"
    choice = np.maximum(bm25.ndcg, dense.ndcg)
    gain = choice - profiles[best].ndcg
    hybrid = profiles.get("hybrid")
    return Complement(
        both=int((sparse & semantic).sum()),
        only_bm25=int((sparse & ~semantic).sum()),
        only_dense=int((~sparse & semantic).sum()),
        neither=int((asked & ~sparse & ~semantic).sum()),
        best_single=best,
        best_single_ndcg_at_10=profiles[best].values.ndcg_at_10,
        choice_ndcg_at_10=float(choice.mean()),
        choice_gain=float(gain.mean()),
        choice_interval=stats.intervals({"gain": gain})["gain"],
        pool_ndcg_at_10=perfect_ndcg(task, _union(bm25.profile.run, dense.profile.run)),
        hybrid_ndcg_at_10=hybrid.values.ndcg_at_10 if hybrid else None,
    )


def _union(one: Run, other: Run) -> Run:
    """Return the first 100 documents of both runs, each once."""
    rows = np.concatenate([one.top(SAFEGUARD_DEPTH).rows, other.top(SAFEGUARD_DEPTH).rows], axis=1)
    rows = np.sort(rows, axis=1)
    rows[:, 1:] = np.where(rows[:, 1:] == rows[:, :-1], -1, rows[:, 1:])
    return Run.of(rows, np.zeros(rows.shape))
