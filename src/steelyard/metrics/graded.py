"""Metrics of graded relevance beside nDCG, and nDCG with gains of one's own: trec_eval's experimental family."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from steelyard.metrics.definition import Compute, Definition
from steelyard.metrics.gains import USUAL, Gained, Sums, log_2
from steelyard.metrics.numbers import pairs
from steelyard.metrics.ranking import Ranking, ratio
from steelyard.types import Float64


def ndcg_with_gains(ranking: Ranking, cutoff: None, table: Mapping[int, float]) -> Float64:
    """Discounted gain over the best, of the whole list, where grades have gains of one's own."""
    gained = Gained(ranking, table)
    return ratio(gained.at_end(gained.discounted), gained.at_end(gained.ideal_discounted))


def ndcg_at_relevant(ranking: Ranking, cutoff: None, table: Mapping[int, float] = USUAL) -> Float64:
    """The nDCG at the rank of each document with a gain, or at the end of the list if it was not found; their mean."""
    gained = Gained(ranking, table)
    hits, gains = gained.found
    good = gains > 0
    there = hits.where(good)
    values = gained.discounted.values[good] / gained.ideal_discounted.before(there.query, there.rank + 1)
    missed = gained.counts - np.bincount(there.query, minlength=len(ranking.run))
    at_end = ratio(missed * gained.at_end(gained.discounted), gained.at_end(gained.ideal_discounted))
    return np.maximum(ratio(ranking.total(there, values, None) + at_end, gained.counts), 0.0)


def ndcg_at_levels(ranking: Ranking, cutoff: None, table: Mapping[int, float] = USUAL) -> Float64:
    """The nDCG at the ranks where the best list changes its gain, and at the end of a longer list; their mean."""
    gained = Gained(ranking, table)
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


def normalised_gain(ranking: Ranking, cutoff: None, table: Mapping[int, float] = USUAL) -> Float64:
    """Gain, less the more the list so far falls short of the best one."""
    gained = Gained(ranking, table)
    (hits, gains), (ideal, best) = gained.found, gained.ideal
    cost = Sums.of(ideal, np.maximum(best, 1.0)).before(hits.query, hits.rank + 1)
    cost += np.maximum(hits.rank + 1 - gained.counts[hits.query], 0)
    short = cost - Sums.of(hits, gains).values
    return ratio(ranking.total(hits, gains / log_2(2.0 + short), None), ranking.total(ideal, best, None))


def binary_gain(ranking: Ranking, cutoff: None) -> Float64:
    """Each relevant document counts less the more irrelevant ones stand above it."""
    hits = ranking.relevant
    return ratio(ranking.total(hits, 1.0 / log_2(3.0 + hits.rank - hits.nth), None), ranking.positives)


def ndcg_given(text: str) -> Compute:
    """The nDCG with the gains that the text names."""
    return partial(ndcg_with_gains, table=pairs(text, metric="ndcg"))


NDCG_REL = Definition(
    "nDCG-rel",
    "nDCG at the rank of each relevant document, on average (experimental in trec_eval)",
    "mean over documents with a gain of nDCG@(its rank), or of nDCG of the whole list if it was not found",
    ndcg_at_relevant,
    ("ndcg_rel", "ndcg_rel"),
    takes_cutoff=False,
    given=lambda text: partial(ndcg_at_relevant, table=pairs(text, metric="ndcg_rel")),
)
RNDCG = Definition(
    "Rndcg",
    "nDCG at the ranks where the best list goes down a grade, on average (experimental in trec_eval)",
    "mean of nDCG@n over n = number of documents with grade >= g, for each grade g, and of nDCG of a longer list",
    ndcg_at_levels,
    ("Rndcg", "Rndcg"),
    takes_cutoff=False,
    given=lambda text: partial(ndcg_at_levels, table=pairs(text, metric="Rndcg")),
)
G = Definition(
    "G",
    "normalised gain, between MAP and nDCG (experimental in trec_eval)",
    "sum over i of rel_i / log2(2 + best_i - gain_i), over the sum of all grades; both are sums down to rank i, "
    "best_i counts at least 1 a rank",
    normalised_gain,
    ("G", "G"),
    takes_cutoff=False,
    given=lambda text: partial(normalised_gain, table=pairs(text, metric="G")),
)
BING = Definition(
    "binG",
    "G of binary relevance (experimental in trec_eval)",
    "(1 / R) * sum over relevant ranks i of 1 / log2(2 + irrelevant above i)",
    binary_gain,
    ("binG", "binG"),
    takes_cutoff=False,
)
