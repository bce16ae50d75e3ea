"""Interpolated precision at points of recall: the recall-precision curve, and its mean."""

from __future__ import annotations

from functools import partial

import numpy as np

from steelyard.metrics.definition import Compute, Definition, read_numbers
from steelyard.metrics.ranking import Ranking
from steelyard.types import Float64

POINTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def precision_at_recall(ranking: Ranking, share: float) -> Float64:
    """Return the best precision at or below the rank of this recall; 0 if the list does not reach it.

    The fraction becomes a number of documents as in trec_eval: trunc(x + 0.9).
    """
    hits = ranking.relevant
    retrieved = np.bincount(hits.query, minlength=len(ranking.run))
    needed = np.maximum(np.trunc(share * ranking.positives + 0.9).astype(np.int64), 1)
    reached = needed <= retrieved
    ends = np.cumsum(retrieved)[reached]
    spans = np.stack([ends - retrieved[reached] + needed[reached] - 1, ends], axis=1).ravel()
    out = np.zeros(len(ranking.run))
    if len(spans):
        precision = np.append(hits.nth / (hits.rank + 1), 0.0)  # one more value, so that the last end is a valid index
        out[reached] = np.maximum.reduceat(precision, spans)[::2]
    return out


def mean_over_points(ranking: Ranking, cutoff: None, points: tuple[float, ...] = POINTS) -> Float64:
    """Return the mean of interpolated precision over points of recall."""
    total = np.zeros(len(ranking.run))
    for share in sorted(points, reverse=True):
        total += precision_at_recall(ranking, share)
    return total / len(points)


def _at_points(text: str) -> Compute:
    points = read_numbers(text, count=None, metric="11pt_avg", example="11pt_avg.0.2,0.5,0.8")
    return partial(mean_over_points, points=points)


IPREC = Definition(
    "iprec",
    "interpolated precision at a point of recall: the recall-precision curve",
    "max of (relevant in the first i) / i over ranks i at which trunc(k R + 0.9) relevant are found",
    precision_at_recall,
    ("iprec_at_recall", "iprec_at_recall"),
    shares=POINTS,
)
ELEVEN_POINT_AVG = Definition(
    "11pt_avg",
    "mean of interpolated precision at recall 0, 0.1 ... 1 (or at other points: 11pt_avg.0.2,0.5)",
    "mean of iprec@k over k = 0, 0.1, ... 1",
    mean_over_points,
    ("11pt_avg", "11pt_avg"),
    takes_cutoff=False,
    with_parameters=_at_points,
)
