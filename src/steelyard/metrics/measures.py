"""The common metrics, each a few lines over the hits of a `Ranking`; and those for incomplete judgements, in which an
unjudged document does not count as irrelevant.
"""

from __future__ import annotations

import numpy as np

from steelyard.metrics.definition import Definition
from steelyard.metrics.graded import ndcg_with_parameters
from steelyard.metrics.ranking import Ranking, ratio
from steelyard.types import Float64, Int64


def ndcg(ranking: Ranking, cutoff: int | None) -> Float64:
    """Return the discounted cumulative gain divided by that of the ideal list."""
    gained = ranking.total(ranking.gainful, ranking.gains, cutoff)
    return ratio(gained, ranking.total(ranking.ideal, ranking.ideal_gains, cutoff))


def ndcg_exponential(ranking: Ranking, cutoff: int | None) -> Float64:
    """Return nDCG with the gain 2^grade - 1."""
    gained = ranking.total(ranking.gainful, ranking.discounted(ranking.gainful, "exponential"), cutoff)
    return ratio(gained, ranking.total(ranking.ideal, ranking.discounted(ranking.ideal, "exponential"), cutoff))


def average_precision(ranking: Ranking, cutoff: int | None) -> Float64:
    """Return the sum of precision at the rank of each relevant document, divided by R."""
    hits = ranking.relevant
    return ratio(ranking.total(hits, hits.nth / (hits.rank + 1), cutoff), ranking.positives)


def reciprocal_rank(ranking: Ranking, cutoff: int | None) -> Float64:
    """Return one divided by the rank of the first relevant document."""
    first = ranking.relevant.where(ranking.relevant.nth == 1)
    return ranking.total(first, 1 / (first.rank + 1), cutoff)


def recall(ranking: Ranking, cutoff: int | None) -> Float64:
    """Return the fraction of the relevant documents that was retrieved."""
    return ratio(ranking.total(ranking.relevant, None, cutoff), ranking.positives)


def precision(ranking: Ranking, cutoff: int | None) -> Float64:
    """Return the fraction of the first ranks that is relevant; a short list is divided by the cutoff, too."""
    relevant = ranking.total(ranking.relevant, None, cutoff)
    return relevant / cutoff if cutoff else ratio(relevant, ranking.lengths)


def hit_rate(ranking: Ranking, cutoff: int | None) -> Float64:
    """Return 1 if at least one relevant document was retrieved, else 0."""
    return (ranking.total(ranking.relevant, None, cutoff) > 0).astype(np.float64)


def r_precision(ranking: Ranking, cutoff: int | None) -> Float64:
    """Return the precision at rank R."""
    hits = ranking.relevant
    within = hits.where(hits.rank < ranking.positives[hits.query])
    return ratio(ranking.total(within, None, None), ranking.positives)


def judged(ranking: Ranking, cutoff: int | None) -> Float64:
    """Return the fraction of the first ranks that was judged, with any grade."""
    judged_documents = ranking.total(ranking.hits, None, cutoff)
    return judged_documents / cutoff if cutoff else ratio(judged_documents, ranking.lengths)


def pooled_recall(ranking: Ranking, cutoff: float | None) -> float | None:
    """Return the recall of all queries together; None without a relevant document.

    HAKARI-Bench's tables call this Recall. A query with many relevant documents counts more.
    """
    positives = int(ranking.positives.sum())
    retrieved = float(ranking.total(ranking.relevant, None, cutoff).sum())
    return retrieved / positives if positives else None


NDCG = Definition(
    "nDCG",
    "normalised discounted cumulative gain: graded, rewards good documents near the top",
    "DCG@k / IDCG@k, where DCG@k = sum over i <= k of rel_i / log2(i + 1)",
    ndcg,
    ("ndcg", "ndcg_cut"),
    with_parameters=ndcg_with_parameters,
)
NDCG_EXP = Definition(
    "nDCG-exp",
    "nDCG with exponential gain: high grades count much more",
    "as nDCG with 2^rel_i - 1 in the place of rel_i",
    ndcg_exponential,
    ("ndcg_exp", "ndcg_exp_cut"),
)
MAP = Definition(
    "MAP",
    "mean average precision: rewards every relevant document, earlier ones more",
    "(1 / R) * sum over relevant ranks i <= k of (relevant in the first i) / i",
    average_precision,
    ("map", "map_cut"),
)
MRR = Definition(
    "MRR",
    "mean reciprocal rank: how early the first relevant document is",
    "1 / (rank of the first relevant document), 0 if it is below k",
    reciprocal_rank,
    ("recip_rank", "recip_rank_cut"),
)
RECALL = Definition(
    "recall",
    "the fraction of the relevant documents that was retrieved",
    "(relevant in the first k) / R",
    recall,
    ("set_recall", "recall"),
)
PRECISION = Definition(
    "P",
    "the fraction of the first k documents that is relevant",
    "(relevant in the first k) / k",
    precision,
    ("set_P", "P"),
)
HIT_RATE = Definition(
    "hit",
    "whether at least one relevant document was retrieved (trec_eval's success)",
    "1 if (relevant in the first k) > 0, else 0",
    hit_rate,
    ("success", "success"),
)
R_PRECISION = Definition(
    "R-precision",
    "precision at rank R, the number of relevant documents",
    "(relevant in the first R) / R",
    r_precision,
    ("Rprec", "Rprec"),
    takes_cutoff=False,
)
JUDGED = Definition(
    "judged",
    "the fraction of the first k documents that was judged: how far the other scores can be trusted",
    "(judged in the first k) / k",
    judged,
    ("judged", "judged"),
)
POOLED_RECALL = Definition(
    "pooled recall",
    "recall of all queries together: HAKARI-Bench's Recall",
    "(relevant in the first k of all lists) / (sum of R over queries)",
    recall,
    ("pooled_recall", "pooled_recall"),
    whole=pooled_recall,
)


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
