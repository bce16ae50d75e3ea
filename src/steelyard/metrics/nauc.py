"""nAUC: does a model know when it is wrong? (Gisserot-Boukhlef et al. 2024, as mteb computes it.)

Queries are set aside in order of a confidence, the least confident first; the mean of a metric over the rest, at
0 %, 10 % ... 90 % set aside, is the abstention curve. The area under it is scaled so that setting aside at random
gives 0 and setting aside the worst queries gives 1.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from steelyard.types import Float64, Run

Ties = Literal["averaged", "as-sorted"]
"""Equal confidences: take their mean metric (mteb since 2.26.5), or whatever numpy's sort makes of them (before)."""

CONFIDENCES = ("max", "std", "diff1")
"""Largest score; standard deviation of the scores; distance from the largest to the second."""

STEPS = np.linspace(0, 1, 11)[:-1]
BLOCK = 128


def confidence(run: Run) -> Float64:
    """How sure of itself the model was: shape (`CONFIDENCES`, queries); 0 for an empty list.

    Lists must be in the order of their scores, unrounded (`scoring.order_by_double`).

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
        with np.errstate(invalid="ignore", over="ignore"):  # infinite scores are as far apart as nobody can say: NaN
            if run.depth > 1:
                out[2, part] = np.where(empty[:, 1], 0.0, scores[:, 0] - scores[:, 1])
            scores -= (scores.sum(axis=1) / lengths[part])[:, None]
            scores[empty] = 0.0
            out[1, part] = np.sqrt(np.square(scores, out=scores).sum(axis=1) / lengths[part])
    return out


def nauc(confidences: Float64, values: Float64, *, ties: Ties = "averaged") -> Float64:
    """The nAUC of every series of values by every confidence: shape (series, confidences).

    NaN where the metric is the same for all queries: there is nothing to tell apart; and for a confidence that is
    NaN itself for some query.

    >>> nauc(np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]])).tolist()
    [[1.0], [nan]]
    """
    count = values.shape[1]
    if not count:
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
    """The values of every series in ascending order of confidence."""
    if ties == "as-sorted":
        return np.asarray(values[:, np.argsort(confidences)])
    order = np.argsort(confidences, kind="stable")
    ordered, in_order = confidences[order], values[:, order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sizes = np.diff(np.append(starts, len(ordered)))
    return np.repeat(np.add.reduceat(in_order, starts, axis=1) / sizes, sizes, axis=1)


def _area(ascending: Float64, first: np.typing.NDArray[np.int64]) -> Float64:
    """The area under the abstention curve of each series: trapezoids over the means of what remains."""
    curve = np.stack([ascending[:, start:].mean(axis=1) for start in first.tolist()], axis=1)
    return np.asarray((np.diff(STEPS) * (curve[:, 1:] + curve[:, :-1]) / 2).sum(axis=1))
