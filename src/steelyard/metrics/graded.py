"""Metrics of graded relevance besides nDCG, and nDCG with custom gains: trec_eval's experimental family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import log2
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.metrics.definition import Compute, Definition, read_gains
from steelyard.metrics.ranking import Hits, Ranking, discounts, ratio
from steelyard.types import Float64, Int32, Int64

NO_GAINS: Mapping[int, float] = MappingProxyType({})
"""No custom gains: grades have the gains of the ranking."""


@dataclass(frozen=True, eq=False)
class GainedRanking:
    """A ranking with a gain for each grade: the gain of its lists, and that of the ideal lists."""

    ranking: Ranking
    table: Mapping[int, float]

    def gains(self, grades: Int32) -> Float64:
        """Return the gain of each grade; 0 below grade 0."""
        gains = self.ranking.gain_of(grades)
        for grade, gain in self.table.items():
            gains[grades == grade] = gain
        return gains

    @cached_property
    def retrieved(self) -> tuple[Hits, Float64]:
        """Return the documents of the lists with a gain other than 0, and their gains."""
        gains = self.gains(self.ranking.hits.grade)
        return self.ranking.hits.where(gains != 0), gains[gains != 0]

    @cached_property
    def ideal(self) -> tuple[Hits, Float64]:
        """Return every document with a gain above 0, the largest first."""
        qrels = self.ranking.qrels
        gains = self.gains(qrels.grades)
        query = np.repeat(np.arange(len(qrels)), qrels.counts)
        positive = np.flatnonzero(gains > 0)
        positive = positive[np.lexsort((-gains[positive], query[positive]))]
        return Hits.of(query[positive], qrels.grades[positive]), gains[positive]

    @cached_property
    def counts(self) -> Int64:
        """Return the number of documents with a gain above 0 of each query."""
        return np.bincount(self.ideal[0].query, minlength=len(self.ranking.run))

    @cached_property
    def discounted(self) -> CumulativeSums:
        """Return the cumulative discounted gain of the lists."""
        return CumulativeSums.of(self.retrieved[0], _discounted(*self.retrieved))

    @cached_property
    def ideal_discounted(self) -> CumulativeSums:
        """Return the cumulative discounted gain of the ideal lists."""
        return CumulativeSums.of(self.ideal[0], _discounted(*self.ideal))

    def at_end(self, sums: CumulativeSums) -> Float64:
        """Return the sum of each whole list."""
        queries = np.arange(len(self.ranking.run))
        return sums.before(queries, np.full(len(queries), CumulativeSums.STRIDE - 1))


@dataclass(frozen=True, eq=False)
class CumulativeSums:
    """Cumulative sums over hits, query by query, in rank order."""

    keys: Int64
    query: Int64
    values: Float64

    STRIDE = 1 << 32

    @classmethod
    def of(cls, hits: Hits, values: Float64) -> CumulativeSums:
        """Add one value after the other within each query, as trec_eval does, for the same rounding."""
        starts = np.flatnonzero(np.diff(hits.query, prepend=-1))
        sizes = np.diff(np.append(starts, len(values)))
        out = values.copy()
        if len(starts) < int(sizes.max(initial=0)):  # few long lists
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
                np.cumsum(values[start : start + size], out=out[start : start + size])
        else:
            for place in range(1, int(sizes.max(initial=0))):
                at = starts[sizes > place] + place
                out[at] += out[at - 1]
        return cls(hits.query * cls.STRIDE + hits.rank, hits.query, out)

    def before(self, query: Int64, rank: Int64) -> Float64:
        """Return the sum of the hits of a query above a rank (from 0), for many pairs."""
        place = np.searchsorted(self.keys, query * self.STRIDE + rank) - 1
        if not len(self.keys):
            return np.zeros(len(query))
        return np.where((place >= 0) & (self.query[place] == query), self.values[place], 0.0)


def _discounted(hits: Hits, gains: Float64) -> Float64:
    return np.asarray(gains / discounts(int(hits.rank.max(initial=-1)) + 1)[hits.rank])


def log_2(values: npt.NDArray[np.floating[Any]]) -> Float64:
    """Return log2 of the C library, as in trec_eval; for few distinct values."""
    distinct, places = np.unique(values, return_inverse=True)
    return np.array([log2(value) for value in distinct.tolist()])[places]


def ndcg_with_gains(ranking: Ranking, cutoff: None, table: Mapping[int, float]) -> Float64:
    """Return the nDCG of the whole list with custom gains."""
    gained = GainedRanking(ranking, table)
    return ratio(gained.at_end(gained.discounted), gained.at_end(gained.ideal_discounted))


def ndcg_at_relevant(ranking: Ranking, cutoff: None, table: Mapping[int, float] = NO_GAINS) -> Float64:
    """Return the mean nDCG at the rank of each document with a gain; at the end of the list for a missing one."""
    gained = GainedRanking(ranking, table)
    hits, gains = gained.retrieved
    positive = gains > 0
    relevant = hits.where(positive)
    values = gained.discounted.values[positive] / gained.ideal_discounted.before(relevant.query, relevant.rank + 1)
    missed = gained.counts - np.bincount(relevant.query, minlength=len(ranking.run))
    at_end = ratio(missed * gained.at_end(gained.discounted), gained.at_end(gained.ideal_discounted))
    return np.maximum(ratio(ranking.total(relevant, values, None) + at_end, gained.counts), 0.0)


def ndcg_at_levels(ranking: Ranking, cutoff: None, table: Mapping[int, float] = NO_GAINS) -> Float64:
    """Return the mean nDCG at the ranks where the ideal list changes its gain, and at the end of a longer list."""
    gained = GainedRanking(ranking, table)
    (ideal, gains), sums = gained.ideal, gained.ideal_discounted
    last = np.diff(ideal.query, append=-1) != 0
    last |= np.diff(gains, append=0.0) != 0
    level = ideal.where(last)
    values = gained.discounted.before(level.query, level.rank + 1) / sums.values[last]
    total = ranking.total(level, values, None)
    count = np.bincount(level.query, minlength=len(ranking.run))
    longer = (count > 0) & (ranking.lengths > gained.counts + 1)  # one document more is not yet its own level
    total += np.where(longer, ratio(gained.at_end(gained.discounted), gained.at_end(sums)), 0.0)
    return np.where(ranking.positives > 0, ratio(total, count + longer), 0.0)


def normalised_gain(ranking: Ranking, cutoff: None, table: Mapping[int, float] = NO_GAINS) -> Float64:
    """Return the gain, discounted by how far the list is behind the ideal list at each rank."""
    gained = GainedRanking(ranking, table)
    (hits, gains), (ideal, best) = gained.retrieved, gained.ideal
    cost = CumulativeSums.of(ideal, np.maximum(best, 1.0)).before(hits.query, hits.rank + 1)
    cost += np.maximum(hits.rank + 1 - gained.counts[hits.query], 0)
    missing = cost - CumulativeSums.of(hits, gains).values
    return ratio(ranking.total(hits, gains / log_2(2.0 + missing), None), ranking.total(ideal, best, None))


def binary_gain(ranking: Ranking, cutoff: None) -> Float64:
    """Return the gain of relevant documents, discounted by the number of irrelevant ones above each."""
    hits = ranking.relevant
    return ratio(ranking.total(hits, 1.0 / log_2(3.0 + hits.rank - hits.nth), None), ranking.positives)


def ndcg_with_parameters(text: str) -> Compute:
    """Return nDCG with the gains in the text."""
    return partial(ndcg_with_gains, table=read_gains(text, metric="ndcg"))


NDCG_REL = Definition(
    "nDCG-rel",
    "nDCG at the rank of each relevant document, on average (experimental in trec_eval)",
    "mean over documents with a gain of nDCG@(its rank), or of nDCG of the whole list if it was not found",
    ndcg_at_relevant,
    ("ndcg_rel", "ndcg_rel"),
    takes_cutoff=False,
    with_parameters=lambda text: partial(ndcg_at_relevant, table=read_gains(text, metric="ndcg_rel")),
)
RNDCG = Definition(
    "Rndcg",
    "nDCG at the ranks where the ideal list changes its grade, on average (experimental in trec_eval)",
    "mean of nDCG@n over n = number of documents with grade >= g, for each grade g, and of nDCG of a longer list",
    ndcg_at_levels,
    ("Rndcg", "Rndcg"),
    takes_cutoff=False,
    with_parameters=lambda text: partial(ndcg_at_levels, table=read_gains(text, metric="Rndcg")),
)
G = Definition(
    "G",
    "normalised gain, between MAP and nDCG (experimental in trec_eval)",
    "sum over i of rel_i / log2(2 + best_i - gain_i), over the sum of all grades; both are sums down to rank i, "
    "best_i counts at least 1 a rank",
    normalised_gain,
    ("G", "G"),
    takes_cutoff=False,
    with_parameters=lambda text: partial(normalised_gain, table=read_gains(text, metric="G")),
)
BING = Definition(
    "binG",
    "G of binary relevance (experimental in trec_eval)",
    "(1 / R) * sum over relevant ranks i of 1 / log2(2 + irrelevant above i)",
    binary_gain,
    ("binG", "binG"),
    takes_cutoff=False,
)
