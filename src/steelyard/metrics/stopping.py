"""Metrics that model a user who reads down the list and stops at some rank."""

from __future__ import annotations

from functools import partial

import numpy as np

from steelyard.errors import UsageError
from steelyard.metrics.definition import Compute, Definition, read_numbers
from steelyard.metrics.ranking import Ranking
from steelyard.types import Float64

PERSISTENCE = 0.8
"""The default probability that a user reads the next document, as in ir_measures."""
HIGHEST = 4
"""The highest grade of TREC's Web tracks, whose script (gdeval) defines ERR."""


def rank_biased_precision(ranking: Ranking, cutoff: None, persistence: float = PERSISTENCE) -> Float64:
    """Return the expected gain per document of a user with a fixed persistence (Moffat and Zobel, 2008)."""
    hits = ranking.relevant
    return ranking.total(hits, (1 - persistence) * np.power(persistence, hits.rank), None)


def expected_reciprocal_rank(ranking: Ranking, cutoff: int | None) -> Float64:
    """Return the expected reciprocal rank at which a user is satisfied (Chapelle, 2009)."""
    hits = ranking.gainful
    highest = max(HIGHEST, int(ranking.qrels.grades.max(initial=0)))
    satisfied = np.exp2(hits.grade - float(highest)) - 2.0**-highest
    reading = np.ones(len(ranking.run))
    weights = np.zeros(len(satisfied))
    order, sizes = np.argsort(hits.nth, kind="stable"), np.bincount(hits.nth)[1:]
    for places in np.split(order, np.cumsum(sizes)[:-1]):  # the first hit of every list, then the second of every list
        query = hits.query[places]
        weights[places] = reading[query] * satisfied[places] / (hits.rank[places] + 1)
        reading[query] *= 1 - satisfied[places]
    return ranking.total(hits, weights, cutoff)


def _with_persistence(text: str) -> Compute:
    (persistence,) = read_numbers(text, count=1, metric="rbp", example="rbp.0.95")
    if not 0 <= persistence < 1:
        raise UsageError.invalid(
            "the persistence of rbp",
            expected="at least 0 and below 1",
            found=text,
            hint="for example rbp.0.95",
            option="rbp",
        )
    return partial(rank_biased_precision, persistence=persistence)


RBP = Definition(
    "RBP",
    "rank-biased precision: the gain of a user who reads on with probability 0.8; rbp.p sets it",
    "(1 - p) * sum over relevant ranks i of p^(i - 1), p = 0.8",
    rank_biased_precision,
    ("rbp", "rbp"),
    takes_cutoff=False,
    with_parameters=_with_persistence,
)
ERR = Definition(
    "ERR",
    "expected reciprocal rank: graded; a good document makes those below it count less",
    "sum over i <= k of (1 / i) * c_i * product over j < i of (1 - c_j), "
    "where c_i = (2^rel_i - 1) / 2^max(4, top grade)",
    expected_reciprocal_rank,
    ("err", "err"),
)
