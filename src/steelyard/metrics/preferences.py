"""Metrics for incomplete judgements: an unjudged document does not count as irrelevant.

A grade below 0 means that a document was in the pool but not judged, as in trec_eval.
"""

from __future__ import annotations

import numpy as np

from steelyard.metrics.definition import Definition
from steelyard.metrics.ranking import Ranking, ratio
from steelyard.types import Float64, Int64

EPSILON = 0.00001
"""Added to both sides by inferred average precision, to avoid a division by 0."""


def bpref(ranking: Ranking, cutoff: None) -> Float64:
    """Return how many of the first R documents judged irrelevant are below each relevant one, as a mean over R."""
    hits, before = ranking.relevant, ranking.nonrelevant_before
    wrong = ratio(
        np.minimum(before, ranking.positives[hits.query]),
        np.minimum(ranking.judged_nonrelevant, ranking.positives)[hits.query],
    )
    return ratio(ranking.total(hits, 1.0 - wrong, None), ranking.positives)


def inferred_average_precision(ranking: Ranking, cutoff: None) -> Float64:
    """Return the average precision that is expected from a random sample of the pool."""
    hits, nonrelevant = ranking.relevant, ranking.nonrelevant_before
    relevant = hits.nth - 1
    judged = relevant + nonrelevant
    above = np.maximum(hits.rank, 1)
    expected = 1.0 / (hits.rank + 1.0) + (hits.rank / (hits.rank + 1.0)) * (
        (judged + _unjudged_before(ranking)) / above
    ) * ((relevant + EPSILON) / (judged + 2 * EPSILON))
    return ratio(ranking.total(hits, np.where(hits.rank == 0, 1.0, expected), None), ranking.positives)


def _unjudged_before(ranking: Ranking) -> Int64:
    """Return the number of pooled but unjudged documents above each relevant one."""
    return ranking.count_above(ranking.hits.where(ranking.hits.grade < 0), ranking.relevant)


BPREF = Definition(
    "bpref",
    "binary preference: relevant before judged irrelevant; for incomplete judgements",
    "(1 / R) * sum over relevant found of 1 - min(n, R) / min(N, R); n of all N judged irrelevant are above it",
    bpref,
    ("bpref", "bpref"),
    takes_cutoff=False,
)
INFAP = Definition(
    "infAP",
    "inferred average precision: for a pool of which a random sample was judged",
    "(1 / R) * sum over relevant ranks i of 1 / i + (pooled above / i) * (relevant + e) / (judged + 2 e), e = 0.00001",
    inferred_average_precision,
    ("infAP", "infAP"),
    takes_cutoff=False,
)
