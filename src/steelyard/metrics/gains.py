"""What lists gain when every grade has a gain, and how far that is from the best: the ground of graded metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log2
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.metrics.ranking import Hits, Ranking, discounts
from steelyard.types import Float64, Int32, Int64

USUAL: Mapping[int, float] = MappingProxyType({})
"""No gains of one's own: that of a grade is the one of the ranking."""


@dataclass(frozen=True, eq=False)
class Gained:
    """A ranking with a gain for each grade: what its lists gain, and the best that a list could."""

    ranking: Ranking
    table: Mapping[int, float]

    def gains(self, grades: Int32) -> Float64:
        """The gain of each grade; nothing below grade 0."""
        found = self.ranking.gain_of(grades)
        for grade, gain in self.table.items():
            found[grades == grade] = gain
        return found

    @cached_property
    def found(self) -> tuple[Hits, Float64]:
        """The documents of the lists that gain or cost something, with what they do."""
        gains = self.gains(self.ranking.hits.grade)
        return self.ranking.hits.where(gains != 0), gains[gains != 0]

    @cached_property
    def ideal(self) -> tuple[Hits, Float64]:
        """Every document with a gain above 0, the largest first."""
        qrels = self.ranking.qrels
        gains = self.gains(qrels.grades)
        query = np.repeat(np.arange(len(qrels)), qrels.counts)
        kept = np.flatnonzero(gains > 0)
        kept = kept[np.lexsort((-gains[kept], query[kept]))]
        return Hits.of(query[kept], qrels.grades[kept]), gains[kept]

    @cached_property
    def counts(self) -> Int64:
        """How many documents with a gain above 0 each query has."""
        return np.bincount(self.ideal[0].query, minlength=len(self.ranking.run))

    @cached_property
    def discounted(self) -> Sums:
        """The running discounted gain of the lists."""
        return Sums.of(self.found[0], _discounted(*self.found))

    @cached_property
    def ideal_discounted(self) -> Sums:
        """The running discounted gain of the best lists."""
        return Sums.of(self.ideal[0], _discounted(*self.ideal))

    def at_end(self, sums: Sums) -> Float64:
        """The sum of each whole list."""
        queries = np.arange(len(self.ranking.run))
        return sums.before(queries, np.full(len(queries), Sums.STRIDE - 1))


@dataclass(frozen=True, eq=False)
class Sums:
    """Running sums over hits, query by query, in rank order."""

    keys: Int64
    query: Int64
    values: Float64

    STRIDE = 1 << 32

    @classmethod
    def of(cls, hits: Hits, values: Float64) -> Sums:
        """Add up one after the other within each query, as trec_eval does: one long sum would round otherwise."""
        starts = np.flatnonzero(np.diff(hits.query, prepend=-1))
        sizes = np.diff(np.append(starts, len(values)))
        out = values.copy()
        if len(starts) < int(sizes.max(initial=0)):  # few long lists
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
                np.cumsum(values[start : start + size], out=out[start : start + size])
        else:
            for place in range(1, int(sizes.max(initial=0))):
                now = starts[sizes > place] + place
                out[now] += out[now - 1]
        return cls(hits.query * cls.STRIDE + hits.rank, hits.query, out)

    def before(self, query: Int64, rank: Int64) -> Float64:
        """The sum of the hits of a query above a rank (from 0), for many pairs."""
        place = np.searchsorted(self.keys, query * self.STRIDE + rank) - 1
        if not len(self.keys):
            return np.zeros(len(query))
        return np.where((place >= 0) & (self.query[place] == query), self.values[place], 0.0)


def _discounted(hits: Hits, gains: Float64) -> Float64:
    return np.asarray(gains / discounts(int(hits.rank.max(initial=-1)) + 1)[hits.rank])


def log_2(values: npt.NDArray[np.floating[Any]]) -> Float64:
    """The C library's, as in trec_eval; of few distinct values."""
    distinct, places = np.unique(values, return_inverse=True)
    return np.array([log2(value) for value in distinct.tolist()])[places]
