"""Reranking as mteb 1.14 scored it, before reranking became retrieval among candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.metrics import nauc
from steelyard.metrics.ranking import find_hits
from steelyard.types import Float64, Qrels, Run

DEPTH = 10
"""How far down a reciprocal rank counts."""


@dataclass(frozen=True, eq=False)
class Legacy:
    """Average precision and reciprocal rank of each query that has a relevant candidate and another one."""

    kept: npt.NDArray[np.intp]
    """Those queries; 1.14 drops the others."""
    average_precision: Float64
    reciprocal_rank: Float64
    confidence: Float64

    @property
    def scores(self) -> dict[str, float | None]:
        """`map`, `mrr` and the six nAUC, whose names begin with a small n and go on in capitals."""
        columns = {"map": self.average_precision, "mrr": self.reciprocal_rank}
        found: dict[str, float | None] = {
            name: float(values.mean()) if len(values) else 0.0 for name, values in columns.items()
        }
        table = nauc.nauc(self.confidence, np.stack(list(columns.values())), ties="as-sorted")
        for name, row in zip(columns, table.tolist(), strict=True):
            for function, value in zip(nauc.CONFIDENCES, row, strict=True):
                found[f"nAUC_{name}_{function}"] = None if np.isnan(value) else value
        return found


def legacy(run: Run, qrels: Qrels) -> Legacy:
    """The lists of a reranking task, scored as 1.14 did.

    Equal scores count together in the average precision (scikit-learn's), and to the good in the reciprocal rank:
    1.14 put the relevant candidates first and kept that order among equals.

    >>> run = Run.of([[0, 1, 2]], [[0.9, 0.8, 0.8]])
    >>> found = legacy(run, Qrels.of([0, 0, 0], [0, 1, 2], [0, 0, 1], queries=1))
    >>> found.average_precision.tolist(), found.reciprocal_rank.tolist()
    ([0.3333333333333333], [0.5])
    """
    hits = find_hits(run.rows, qrels)
    relevant = np.zeros(run.rows.shape, dtype=bool)
    relevant[hits.query[hits.grade > 0], hits.rank[hits.grade > 0]] = True
    there = run.rows >= 0
    kept = np.flatnonzero(relevant.any(axis=1) & (there & ~relevant).any(axis=1))
    precision, reciprocal = np.zeros(len(kept)), np.zeros(len(kept))
    for place, query in enumerate(kept.tolist()):
        scores, good = run.scores[query][there[query]].astype(np.float64), relevant[query][there[query]]
        precision[place] = _average_precision(scores, good)
        rank = 1 + int((scores[~good] > scores[good].max()).sum())
        reciprocal[place] = 1 / rank if rank <= DEPTH else 0.0
    return Legacy(kept, precision, reciprocal, nauc.confidence(Run(run.rows[kept], run.scores[kept])))


def _average_precision(scores: Float64, relevant: npt.NDArray[np.bool_]) -> float:
    """Of scores that fall; equal ones count together."""
    ends = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
    hits = np.cumsum(relevant)[ends]
    precision, recall = hits / (ends + 1), hits / hits[-1]
    return float(-np.sum(np.diff(np.append(recall[::-1], 0.0)) * precision[::-1]))
