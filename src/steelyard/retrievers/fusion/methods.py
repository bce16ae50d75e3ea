"""The gain of a document from each list that has it; `join` adds the gains.

rrf       weight / (k + rank), ranks from 1; scores are not used, so lists of any kind can be joined
minmax    weight x the score on a scale from the list's lowest (0) to its highest (1)
zscore    weight x how many standard deviations the score is above the list's mean
combmnz   the sum of minmax, times the number of lists with the document
dbsf      weight x the score on a scale from three standard deviations below the mean (0) to three above (1)
adaptive  weight x (1 + how many standard deviations the score is above the list's mean); the weights of each query
          come from `adaptive`

A list whose scores are all equal gives minmax 1, zscore 0, dbsf 0.5, adaptive 1. A document gains nothing
from a list without it, and a list of weight 0 is not read.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.types import Float64, Int64, Run

Scale = Callable[[Float64, Float64, Int64], None]


def gains(run: Run, weights: Float64, method: str, k: float, out: Float64) -> None:
    """Fill `out` with the gain of each entry of the run; `weights` has one for each query. Padding is undefined."""
    if method == "rrf":
        np.divide(weights, k + np.arange(1, run.depth + 1), out=out)
        return
    if not run.depth:
        return
    np.copyto(out, run.scores)
    lengths = np.full((len(run), 1), run.depth)
    if (run.rows[:, -1] < 0).any():
        real = run.rows >= 0
        lengths = real.sum(axis=1, keepdims=True)
        np.copyto(out, 0, where=~real)
    count = np.maximum(lengths, 1)
    SCALES[method](out, np.take_along_axis(out, count - 1, axis=1), count)
    if (weights != 1).any():
        np.multiply(out, weights, out=out)


def _minmax(scores: Float64, low: Float64, count: Int64) -> None:
    high = scores[:, :1].copy()
    np.subtract(scores, low, out=scores)
    np.divide(scores, np.where(high > low, high - low, 1), out=scores)
    scores[(high <= low).ravel()] = 1


def _zscore(scores: Float64, low: Float64, count: Int64) -> None:
    np.divide(scores, _centred(scores, low, count), out=scores)


def _adaptive(scores: Float64, low: Float64, count: Int64) -> None:
    _zscore(scores, low, count)
    np.add(scores, 1.0, out=scores)


def _dbsf(scores: Float64, low: Float64, count: Int64) -> None:
    # The sample standard deviation, as the authors of the method have it; one score has none.
    spread = _centred(scores, low, count) * np.sqrt(count / np.maximum(count - 1, 1))
    np.divide(scores, 6 * spread, out=scores)
    np.add(scores, 0.5, out=scores)


def _centred(scores: Float64, low: Float64, count: Int64) -> Float64:
    """Centre the scores in place and return their standard deviation; equal scores become 0, with a deviation of 1."""
    alike = (scores[:, :1] <= low).ravel()
    np.subtract(scores, scores.sum(axis=1, keepdims=True) / count, out=scores)
    if int(count.min()) < scores.shape[1]:
        np.copyto(scores, 0, where=np.arange(scores.shape[1]) >= count)
    scores[alike] = 0
    spread = np.sqrt((scores * scores).sum(axis=1, keepdims=True) / count)
    return np.where(spread > 0, spread, 1)


SCALES: dict[str, Scale] = {
    "minmax": _minmax,
    "zscore": _zscore,
    "combmnz": _minmax,
    "dbsf": _dbsf,
    "adaptive": _adaptive,
}
"""Functions from scores (best first, padded with 0) to gains, in place, with the lowest score and length of each."""

METHODS = ("rrf", *SCALES)
