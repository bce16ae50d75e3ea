"""A run joined with its judgements: which ranks have judged documents, and what the ideal list is.

Judged documents are few and lists are long, so the join is sparse: a hit is (query, rank, grade).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log2
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.types import Float64, Int32, Int64, Qrels, Run

Gain = Literal["linear", "exponential"]

BLOCK = 256
"""Queries processed at a time: their table of `FOLD` bytes each fits into the processor's cache."""
FOLD = 4096


@dataclass(frozen=True, eq=False)
class Hits:
    """Documents with a grade, by query and then by rank (from 0); three columns of equal length."""

    query: Int64
    rank: Int64
    grade: Int32

    @classmethod
    def of(cls, query: Int64, grade: Int32) -> Hits:
        """Return hits at consecutive ranks from the first rank of each query."""
        return cls(query, _position_in_group(query), grade)

    @cached_property
    def nth(self) -> Int64:
        """Return the number of each hit within its query, from 1."""
        return _position_in_group(self.query) + 1

    def where(self, mask: npt.NDArray[np.bool_]) -> Hits:
        """Return the hits selected by the mask."""
        return Hits(self.query[mask], self.rank[mask], self.grade[mask])


@dataclass(frozen=True, eq=False)
class Ranking:
    """The input of a metric: a run, its judgements, and the hits that join them.

    >>> run = Run.of([[0, 1, 2]], [[0.9, 0.8, 0.7]])
    >>> ranking = Ranking(run, Qrels.of([0, 0], [2, 5], [1, 3], queries=1))
    >>> ranking.relevant.rank.tolist(), ranking.ideal.grade.tolist(), ranking.positives.tolist()
    ([2], [3, 1], [2])
    """

    run: Run
    qrels: Qrels
    gain: Gain = "linear"
    level: int = 1
    """The lowest grade that is relevant; gains follow the grades themselves."""
    documents: int = 0
    """Number of documents of the collection, for metrics that need it; 0: unknown."""

    def __post_init__(self) -> None:
        if self.gain not in get_args(Gain):
            raise UnknownName("gain", self.gain, get_args(Gain), hint="choose linear or exponential", option="gain")
        if len(self.run) != len(self.qrels):
            raise DataError.invalid(
                "the number of queries in the run",
                expected=f"{len(self.qrels)}, as in the judgements",
                found=len(self.run),
                hint="list the queries of one task in its order in both",
            )
        if self.level < 0:
            raise UsageError.invalid("the relevance level", expected="at least 0", found=self.level, option="level")

    @cached_property
    def positives(self) -> Int64:
        """Return the number of relevant documents of each query (R), including those outside the corpus."""
        return self.qrels.positives if self.level == 1 else self._judgements(self.qrels.grades >= self.level)

    @cached_property
    def lengths(self) -> Int64:
        """Return the length of each list."""
        return self.run.lengths

    @cached_property
    def judged_nonrelevant(self) -> Int64:
        """Return the number of documents judged irrelevant of each query; a grade below 0 is not a judgement."""
        return self._judgements((self.qrels.grades >= 0) & (self.qrels.grades < self.level))

    def _judgements(self, mask: npt.NDArray[np.bool_]) -> Int64:
        query = np.repeat(np.arange(len(self.qrels)), self.qrels.counts)
        return np.bincount(query[mask], minlength=len(self.qrels))

    @cached_property
    def hits(self) -> Hits:
        """Return the judged documents of the run, with any grade."""
        return find_hits(self.run.rows, self.qrels)

    @cached_property
    def relevant(self) -> Hits:
        """Return the relevant documents of the run."""
        return self.hits.where(self.hits.grade >= self.level)

    @cached_property
    def gainful(self) -> Hits:
        """Return the documents of the run with a grade above 0; the relevant ones at level 1."""
        return self.relevant if self.level == 1 else self.hits.where(self.hits.grade > 0)

    @cached_property
    def nonrelevant(self) -> Hits:
        """Return the documents of the run that were judged irrelevant."""
        return self.hits.where((self.hits.grade >= 0) & (self.hits.grade < self.level))

    @cached_property
    def nonrelevant_before(self) -> Int64:
        """Return the number of documents judged irrelevant above each relevant one."""
        return self.count_above(self.nonrelevant, self.relevant)

    def count_above(self, counted: Hits, hits: Hits) -> Int64:
        """Return how many of the counted hits are above each hit in the same list."""
        stride = max(self.run.depth, 1)
        keys = counted.query * stride + counted.rank
        first = np.searchsorted(keys, hits.query * stride)
        return np.searchsorted(keys, hits.query * stride + hits.rank) - first

    @cached_property
    def ideal(self) -> Hits:
        """Return the ideal list: every relevant document, the highest grades first."""
        query = np.repeat(np.arange(len(self.qrels)), self.qrels.counts)
        positive = self.qrels.grades > 0
        query, grade = query[positive], self.qrels.grades[positive]
        order = np.lexsort((-grade, query))
        return Hits.of(query, grade[order])

    def total(self, hits: Hits, weights: Float64 | None, cutoff: float | None) -> Float64:
        """Return the weights of the hits above the cutoff, summed by query in rank order, as in trec_eval."""
        query = hits.query
        if cutoff is not None:
            above = hits.rank < cutoff
            query = query[above]
            weights = weights if weights is None else weights[above]
        return np.bincount(query, weights, minlength=len(self.run)).astype(np.float64, copy=False)

    @cached_property
    def gains(self) -> Float64:
        """Return what each of `gainful` adds to the discounted cumulative gain."""
        return self.discounted(self.gainful)

    @cached_property
    def ideal_gains(self) -> Float64:
        """Return what each of `ideal` adds to the discounted cumulative gain."""
        return self.discounted(self.ideal)

    def discounted(self, hits: Hits, gain: Gain | None = None) -> Float64:
        """Return gain / log2(rank + 1), rank from 1; `gain` replaces the kind of gain of the ranking."""
        return np.asarray(self.gain_of(hits.grade, gain) / discounts(int(hits.rank.max(initial=-1)) + 1)[hits.rank])

    def gain_of(self, grades: Int32, gain: Gain | None = None) -> Float64:
        """Return the gain of documents of these grades; 0 below grade 0."""
        positive = np.maximum(grades, 0).astype(np.float64)
        return positive if (gain or self.gain) == "linear" else np.exp2(positive) - 1

    def grades(self, cutoff: int) -> Int32:
        """Return the grades of the first `cutoff` ranks as a matrix (queries, cutoff); 0 if unjudged or empty."""
        matrix = np.zeros((len(self.run), cutoff), dtype=np.int32)
        hits = self.hits.where(self.hits.rank < cutoff)
        matrix[hits.query, hits.rank] = hits.grade
        return matrix


def find_hits(rows: Int32, qrels: Qrels) -> Hits:
    """Return the judged documents in lists of rows, by query and rank; rows of -1 on either side never match.

    A byte table of judged rows modulo `FOLD` selects few candidates, which are then compared exactly. The work does not
    depend on the size of the corpus.
    """
    inside = qrels.rows >= 0
    judged_query = np.repeat(np.arange(len(qrels)), qrels.counts)[inside]
    judged_row, judged_grade = qrels.rows[inside], qrels.grades[inside]
    if not len(judged_row) or not rows.size:
        nothing = np.zeros(0, dtype=np.int64)
        return Hits(nothing, nothing, np.zeros(0, dtype=np.int32))
    flat = _candidates(rows, judged_query, judged_row)
    query, rank = np.divmod(flat, rows.shape[1])
    row = rows.ravel()[flat].astype(np.int64)
    stride = max(int(judged_row.max()), int(row.max(initial=0))) + 1
    judged_key = judged_query * stride + judged_row
    place = np.searchsorted(judged_key, query * stride + row)
    place[place == len(judged_key)] = 0
    match = (judged_key[place] == query * stride + row) & (row >= 0)
    return Hits(query[match], rank[match], judged_grade[place[match]])


def _candidates(rows: Int32, judged_query: Int64, judged_row: Int32) -> Int64:
    """Return the flat positions in `rows` whose row equals a judged row of the same query modulo `FOLD`."""
    rows = np.ascontiguousarray(rows)
    ends = np.searchsorted(judged_query, np.arange(0, len(rows) + BLOCK, BLOCK))
    lanes = np.arange(BLOCK, dtype=np.int64)[:, None] * FOLD
    positions = []
    for number, start in enumerate(range(0, len(rows), BLOCK)):
        table = np.zeros(BLOCK * FOLD, dtype=np.bool_)
        part = slice(ends[number], ends[number + 1])
        table[(judged_query[part] - start) * FOLD + judged_row[part] % FOLD] = True
        block = rows[start : start + BLOCK]
        positions.append(np.flatnonzero(table[lanes[: len(block)] + (block & (FOLD - 1))]) + start * rows.shape[1])
    return np.concatenate(positions)


def ratio(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Float64:
    """Return part divided by whole, 0 if the whole is 0."""
    out = np.zeros(len(part))
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def _position_in_group(group: Int64) -> Int64:
    """Return the place of each element within its group, from 0, for sorted group numbers."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.diff(np.append(starts, len(group)))
    return np.arange(len(group)) - np.repeat(starts, sizes)


@lru_cache(maxsize=8)
def discounts(depth: int) -> Float64:
    """Return log2(rank + 1) for ranks from 1."""
    # The C library's log2, as in trec_eval: numpy's own may differ in the last bit.
    return np.array([log2(rank + 2) for rank in range(depth)])
