"""nAUC: how well a model's confidence predicts its errors (Gisserot-Boukhlef et al. 2024, as mteb computes it).

Queries are removed in order of confidence, the least confident first. The mean of a metric over the rest, with 0 %,
10 % ... 90 % removed, is the abstention curve. The area under it is scaled so that removing queries at random gives 0
and removing the worst queries gives 1.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from steelyard.types import Float64, Run

Ties = Literal["averaged", "as-sorted"]
"""Queries of equal confidence: use their mean (mteb since 2.26.5), or the order of numpy's sort (before)."""

CONFIDENCES = ("max", "std", "diff1")
"""The largest score; the standard deviation of the scores; the difference of the two largest."""

STEPS = np.linspace(0, 1, 11)[:-1]
BLOCK = 128


def confidence(run: Run) -> Float64:
    """Return the confidences of each query: shape (`CONFIDENCES`, queries); 0 for an empty list.

    Lists must be in the order of their unrounded scores (`scoring.order_by_double`).

    >>> confidence(Run.of([[0, 1], [2, -1]], [[0.75, 0.25], [0.5, 0]])).tolist()
    [[0.75, 0.5], [0.25, 0.0], [0.5, 0.0]]
    """
    out = np.zeros((3, len(run)))
    if not run.depth:
        return out
    lengths = np.maximum(run.lengths, 1)
    for start in range(0, len(run), BLOCK):
        part = slice(start, start + BLOCK)
        empty = run.rows[part] < 0
        scores = np.where(empty, 0.0, run.scores[part]) if empty[:, -1].any() else run.scores[part].astype(np.float64)
        out[0, part] = scores[:, 0]
        with np.errstate(invalid="ignore", over="ignore"):  # the difference of infinite scores is NaN
            if run.depth > 1:
                out[2, part] = np.where(empty[:, 1], 0.0, scores[:, 0] - scores[:, 1])
            scores -= (scores.sum(axis=1) / lengths[part])[:, None]
            scores[empty] = 0.0
            out[1, part] = np.sqrt(np.square(scores, out=scores).sum(axis=1) / lengths[part])
    return out


def nauc(confidences: Float64, values: Float64, *, ties: Ties = "averaged") -> Float64:
    """Return the nAUC of every series of values by every confidence: shape (series, confidences).

    NaN if the metric is the same for all queries, or if a confidence is NaN for some query.

    >>> nauc(np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]])).tolist()
    [[1.0], [nan]]
    """
    count = values.shape[1]
    if count < 2:  # one value is the same for all queries
        return np.full((len(values), len(confidences)), np.nan)
    first = np.array([min(round(rate * count), count - 1) for rate in STEPS.tolist()])
    oracle = _area(np.sort(values, axis=1), first)
    flat = values.mean(axis=1) * (STEPS[-1] - STEPS[0])
    constant = values.max(axis=1) == values.min(axis=1)
    span = np.where(constant, np.nan, oracle - flat)
    raw = np.stack([_area(_by_confidence(row, values, ties), first) for row in confidences], axis=1)
    raw[:, np.isnan(confidences).any(axis=1)] = np.nan
    return np.asarray((raw - flat[:, None]) / span[:, None])


def _by_confidence(confidences: Float64, values: Float64, ties: Ties) -> Float64:
    """Return the values of every series in ascending order of confidence."""
    if ties == "as-sorted":
        return np.asarray(values[:, np.argsort(confidences)])
    order = np.argsort(confidences, kind="stable")
    ordered, in_order = confidences[order], values[:, order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sizes = np.diff(np.append(starts, len(ordered)))
    return np.repeat(np.add.reduceat(in_order, starts, axis=1) / sizes, sizes, axis=1)


def _area(ascending: Float64, first: np.typing.NDArray[np.int64]) -> Float64:
    """Return the area under the abstention curve of each series, by trapezoids over the means of the rest."""
    curve = np.stack([ascending[:, start:].mean(axis=1) for start in first.tolist()], axis=1)
    return np.asarray((np.diff(STEPS) * (curve[:, 1:] + curve[:, :-1]) / 2).sum(axis=1))
