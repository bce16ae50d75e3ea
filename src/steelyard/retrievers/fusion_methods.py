"""What a document gains from each list that holds it, and how the gains are added up.

rrf       weight / (k + rank), ranks from 1; scores do not count, so lists of any kind can be joined
minmax    weight x the score on a scale from the list's lowest (0) to its highest (1)
zscore    weight x how many standard deviations the score is above the list's mean
combmnz   the sum of minmax, times the number of lists that hold the document
dbsf      weight x the score on a scale from three standard deviations below the mean (0) to three above (1)

A list whose scores are all equal gives minmax 1, zscore 0, dbsf 0.5. A document that a list lacks gains nothing
from it, and a list of weight 0 is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from steelyard.types import Float64, Int64, Run

BLOCK = 1 << 16
"""Entries that are joined at a time, so that they stay in the processor's cache."""
PADDING = np.iinfo(np.int64).max
_SIGN = np.int32(0x7FFFFFFF)


def _minmax(scores: Float64, low: Float64, count: Int64) -> Float64:
    high = scores[:, :1]
    return np.where(high > low, (scores - low) / np.where(high > low, high - low, 1), 1.0)


def _zscore(scores: Float64, low: Float64, count: Int64) -> Float64:
    distance, spread = _spread(scores, low, count)
    return distance / spread


def _dbsf(scores: Float64, low: Float64, count: Int64) -> Float64:
    distance, spread = _spread(scores, low, count)
    # The spread of a sample, as those have it who came up with the method; of one score there is none.
    return distance / (6 * spread * np.sqrt(count / np.maximum(count - 1, 1))) + 0.5


def _spread(scores: Float64, low: Float64, count: Int64) -> tuple[Float64, Float64]:
    """How far each score is from the mean, and the standard deviation: of equal scores 0 and 1, rounding or not."""
    real = np.arange(scores.shape[1]) < count
    distance = np.where(real & (scores[:, :1] > low), scores - (scores * real).sum(axis=1, keepdims=True) / count, 0)
    spread = np.sqrt((distance * distance).sum(axis=1, keepdims=True) / count)
    return distance, np.where(spread > 0, spread, 1)


SCALES: dict[str, Callable[[Float64, Float64, Int64], Float64]] = {
    "minmax": _minmax,
    "zscore": _zscore,
    "combmnz": _minmax,
    "dbsf": _dbsf,
}
"""From the scores of lists, best first, the lowest and the number of each, to gains."""

METHODS = ("rrf", *SCALES)


def join(runs: Sequence[Run], weights: Float64, method: str, k: float, top_k: int | None) -> Run:
    """The runs as one, best first, cut at `top_k`; `weights` has a line for each query and a column for each run."""
    queries, columns = len(runs[0]), sum(run.depth for run in runs)
    size = max(1, BLOCK // max(columns, 1))
    blocks = [
        _block([Run(run.rows[start:stop], run.scores[start:stop]) for run in runs], weights[start:stop], method, k)
        for start, stop in ((at, min(at + size, queries)) for at in range(0, queries, size))
    ]
    longest = max((block.shape[1] for block in blocks), default=0)
    depth = longest if top_k is None else min(top_k, longest)
    rows = np.full((queries, depth), -1, dtype=np.int32)
    scores = np.full((queries, depth), -np.inf, dtype=np.float32)
    at = 0
    for keys in blocks:
        found, best = _decoded(keys[:, :depth])
        rows[at : at + len(keys), : found.shape[1]] = found
        scores[at : at + len(keys), : found.shape[1]] = best
        at += len(keys)
    return Run(rows, scores)


def _block(runs: Sequence[Run], weights: Float64, method: str, k: float) -> Any:
    """For each query its documents as keys that sort by score, then by row; as wide as the longest list."""
    rows = np.concatenate([np.where(weights[:, [i]] > 0, run.rows, -1) for i, run in enumerate(runs)], axis=1)
    gains = np.concatenate([_gains(run, weights[:, [i]], method, k) for i, run in enumerate(runs)], axis=1)
    queries, columns = rows.shape
    bits = max(columns - 1, 1).bit_length()
    # One number holds row and column: sorting it brings equal rows together, in the order of the lists.
    wide = np.int64 if columns and int(rows.max(initial=0)) >> (30 - bits) else np.int32
    none = np.iinfo(wide).max
    places = rows.astype(wide) << bits | np.arange(columns, dtype=wide)
    np.putmask(places, rows < 0, none)
    places.sort(axis=1)
    row = places >> bits
    column = np.minimum(places & ((1 << bits) - 1), columns - 1) + np.arange(queries, dtype=wide)[:, None] * columns
    gain = gains.ravel().take(column)
    total, held, first = gain.copy(), np.ones(rows.shape, dtype=np.int8), places != none
    for step in range(1, len(runs)):
        again = row[:, step:] == row[:, :-step]
        total[:, :-step] += gain[:, step:] * again
        held[:, :-step] += again
        first[:, step:] &= ~again
    if method == "combmnz":
        total *= held
    keys = _descending(total.astype(np.float32)).astype(np.int64) << 32 | row
    np.putmask(keys, ~first, PADDING)
    keys.sort(axis=1)
    return keys[:, : int(first.sum(axis=1).max(initial=0))]


def _gains(run: Run, weights: Float64, method: str, k: float) -> Float64:
    if method == "rrf":
        return weights / (k + np.arange(1, run.depth + 1))
    lengths = (run.rows >= 0).sum(axis=1, keepdims=True)
    if not lengths.any():
        return np.zeros(run.rows.shape)
    scores = np.where(run.rows >= 0, run.scores, 0).astype(np.float64)
    count = np.maximum(lengths, 1)
    return weights * SCALES[method](scores, np.take_along_axis(scores, count - 1, axis=1), count)


def _descending(scores: Any) -> Any:
    """Whole numbers of 32 bits that sort the other way round than these floats; 0 and -0 are one."""
    bits = (scores + np.float32(0)).view(np.int32)
    return ~(bits ^ ((bits >> 31) & _SIGN))


def _decoded(keys: Any) -> tuple[Any, Any]:
    bits = ~(keys >> 32).astype(np.int32)
    scores = (bits ^ ((bits >> 31) & _SIGN)).view(np.float32)
    rows = keys.astype(np.int32)  # the lower half
    missing = keys == PADDING
    np.putmask(rows, missing, -1)
    np.putmask(scores, missing, -np.inf)
    return rows, scores
