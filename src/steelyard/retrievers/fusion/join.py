"""Join rankings: the gains of each document are added and sorted, for many queries at a time.

Rows and places of a block are sorted together, so that entries of one document are adjacent; their gains are added in
float64 in the order of the lists; documents are then sorted by score and row, as one number. Every step writes into
arrays that the next block reuses.

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

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from steelyard.retrievers.threads import threads
from steelyard.types import Float64, Int64, Run

BLOCK = 1 << 16
"""Entries that are joined at a time, so that they fit into the processor's cache."""
ALONE = 1 << 19
"""With fewer entries, another thread costs more than it saves."""
_SIGN = np.int32(0x7FFFFFFF)
_NOTHING = np.int32(0x7F800000)
"""The sort key of a score of -inf: after all others."""


def join(runs: Sequence[Run], weights: Float64, method: str, k: float, top_k: int | None) -> Run:
    """Return one run with the best `top_k`; `weights` has a line for each query and a column for each run."""
    queries, columns = len(runs[0]), sum(run.depth for run in runs)
    depth = columns if top_k is None else min(top_k, columns)
    joined = Run(np.empty((queries, depth), dtype=np.int32), np.empty((queries, depth), dtype=np.float32))
    if not queries or not columns:
        return joined
    size = max(1, BLOCK // columns)
    workers = max(1, min(threads(), queries, queries * columns // ALONE))

    def work(start: int, stop: int) -> int:
        space = _Space.of(runs, min(size, stop - start))
        ends = [*range(start, stop, size), stop]
        return max(
            space.join(
                [_part(run, begin, end) for run in runs], weights[begin:end], method, k, _part(joined, begin, end)
            )
            for begin, end in pairwise(ends)
        )

    if workers == 1:
        return joined.top(work(0, queries))
    ends = [queries * worker // workers for worker in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:
        return joined.top(max(pool.map(work, ends[:-1], ends[1:])))


def _part(run: Run, start: int, stop: int) -> Run:
    return Run(run.rows[start:stop], run.scores[start:stop])


@dataclass(frozen=True, eq=False)
class _Space:
    """Arrays for one block of queries, a line each, a column for each entry of each list."""

    bits: int
    """The bits of the column in a number of row and column."""
    places: Any
    row: Any
    column: Int64
    gains: Float64
    gain: Float64
    total: Float64
    again: Any
    score: Any
    keys: Int64

    @classmethod
    def of(cls, runs: Sequence[Run], queries: int) -> _Space:
        shape = queries, sum(run.depth for run in runs)
        bits = max(shape[1] - 1, 1).bit_length()
        largest = max(int(run.rows.max(initial=0)) for run in runs)
        # Padding has all bits set, which no row has.
        narrow = largest < (1 << (32 - bits)) - 1
        kinds = [np.uint32 if narrow else np.uint64] * 2 + [np.intp, *[np.float64] * 3, np.bool_, np.float32, np.int64]
        return cls(bits, *(np.empty(shape, dtype=kind) for kind in kinds))

    def join(self, runs: Sequence[Run], weights: Float64, method: str, k: float, joined: Run) -> int:
        """Join the runs of these queries into `joined`; return the length of the longest list."""
        space = self if len(weights) == len(self.places) else self._first(len(weights))
        space._place(runs, weights, method, k)
        space._meet(len(runs), method)
        return space._sort(joined)

    def _first(self, queries: int) -> _Space:
        parts = (getattr(self, part.name)[:queries] for part in fields(self)[1:])
        return _Space(self.bits, *parts)

    def _place(self, runs: Sequence[Run], weights: Float64, method: str, k: float) -> None:
        """Sort rows with their columns, and compute the gain of each entry."""
        start = 0
        for number, run in enumerate(runs):
            mine, weight = slice(start, start + run.depth), weights[:, [number]]
            rows = run.rows if (weight > 0).all() else np.where(weight > 0, run.rows, np.int32(-1))
            wide = rows.astype(np.int64) if self.places.itemsize == 8 else rows
            np.left_shift(wide.view(self.places.dtype), self.bits, out=self.places[:, mine])
            gains(run, weight, method, k, self.gains[:, mine])
            start += run.depth
        np.bitwise_or(self.places, np.arange(start, dtype=self.places.dtype), out=self.places)
        self.places.sort(axis=1)

    def _meet(self, lists: int, method: str) -> None:
        """Add the gains of all entries of a document to its first entry, and mark the others."""
        queries, columns = self.places.shape
        np.right_shift(self.places, self.bits, out=self.row)
        np.bitwise_and(self.places, (1 << self.bits) - 1, out=self.column, casting="unsafe")
        np.add(self.column, columns * np.arange(queries)[:, None], out=self.column)
        np.take(self.gains.ravel(), self.column, out=self.gain, mode="clip")
        self.again[:, 0] = False
        np.equal(self.row[:, 1:], self.row[:, :-1], out=self.again[:, 1:])
        np.multiply(self.gain[:, 1:], self.again[:, 1:], out=self.total[:, :-1])
        self.total[:, -1] = 0
        np.add(self.total, self.gain, out=self.total)
        held = self.gains  # already used, so free for another use
        if method == "combmnz":
            np.add(self.again[:, 1:], 1.0, out=held[:, :-1])
            held[:, -1] = 1
        for step in range(2, min(lists, columns)):
            same = self.row[:, step:] == self.row[:, :-step]
            self.total[:, :-step] += self.gain[:, step:] * same
            if method == "combmnz":
                held[:, :-step] += same
        if method == "combmnz":
            np.multiply(self.total, held, out=self.total)
        padding = np.iinfo(self.row.dtype).max >> self.bits
        if (self.row[:, -1] == padding).any():
            np.logical_or(self.again, self.row == padding, out=self.again)

    def _sort(self, joined: Run) -> int:
        """Sort documents by score and row into `joined`."""
        np.copyto(self.score, self.total, casting="unsafe")
        bits = self.score.view(np.int32)
        if (bits.min(axis=1) < 0).any():
            np.add(self.score, np.float32(0), out=self.score)  # 0 and -0 are equal
            _ordered(bits)
        np.invert(bits, out=bits)  # the best score is the smallest number
        np.putmask(bits, self.again, _NOTHING)
        np.putmask(self.row, self.again, np.iinfo(self.row.dtype).max)
        halves = self.keys.view(np.int32).reshape(*self.keys.shape, 2)
        halves[..., HIGH] = bits
        halves[..., LOW] = self.row
        self.keys.sort(axis=1)
        joined.rows[:] = halves[:, : joined.depth, LOW]
        scores = joined.scores.view(np.int32)
        np.invert(halves[:, : joined.depth, HIGH], out=scores)
        _ordered(scores)
        fewest: int = np.count_nonzero(self.again, axis=1).min()
        return int(self.again.shape[1]) - fewest


LOW, HIGH = (0, 1) if np.little_endian else (1, 0)


def _ordered(bits: Any) -> Any:
    """Convert bits of floats to whole numbers of the same order, and back, in place."""
    return np.bitwise_xor(bits, (bits >> 31) & _SIGN, out=bits)


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
