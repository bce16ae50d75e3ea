"""Metrics of a reader who goes down the list and stops somewhere: out of patience, or because enough was found."""

from __future__ import annotations

from functools import partial

import numpy as np

from steelyard.errors import UsageError
from steelyard.metrics.definition import Compute, Definition
from steelyard.metrics.numbers import numbers
from steelyard.metrics.ranking import Ranking
from steelyard.types import Float64

PATIENCE = 0.8
"""The chance that a reader goes on to the next document, unless told; that of ir_measures."""
HIGHEST = 4
"""The highest grade of TREC's Web tracks, whose script (gdeval) everyone's ERR comes from."""


def rank_biased_precision(ranking: Ranking, cutoff: None, patience: float = PATIENCE) -> Float64:
    """What a reader gains a document, who goes on to the next one with a fixed chance (Moffat and Zobel, 2008)."""
    hits = ranking.relevant
    return ranking.total(hits, (1 - patience) * np.power(patience, hits.rank), None)


def expected_reciprocal_rank(ranking: Ranking, cutoff: int | None) -> Float64:
    """One over the rank at which a reader is content, who is so the sooner the higher the grades (Chapelle, 2009)."""
    hits = ranking.gainful
    highest = max(HIGHEST, int(ranking.qrels.grades.max(initial=0)))
    content = np.exp2(hits.grade - float(highest)) - 2.0**-highest
    reading = np.ones(len(ranking.run))
    weights = np.zeros(len(content))
    order, sizes = np.argsort(hits.nth, kind="stable"), np.bincount(hits.nth)[1:]
    for places in np.split(order, np.cumsum(sizes)[:-1]):  # the first hit of every list, then the second of each
        query = hits.query[places]
        weights[places] = reading[query] * content[places] / (hits.rank[places] + 1)
        reading[query] *= 1 - content[places]
    return ranking.total(hits, weights, cutoff)


def _patient(text: str) -> Compute:
    (patience,) = numbers(text, count=1, metric="rbp", example="rbp.0.95")
    if not 0 <= patience < 1:
        raise UsageError(f"a patience of {text}", hint="write the chance to go on, below 1, such as rbp.0.95")
    return partial(rank_biased_precision, patience=patience)


RBP = Definition(
    "RBP",
    "rank-biased precision: what a reader gains who goes on with a chance of 0.8; rbp.p sets it",
    "(1 - p) * sum over relevant ranks i of p^(i - 1), p = 0.8",
    rank_biased_precision,
    ("rbp", "rbp"),
    takes_cutoff=False,
    given=_patient,
)
ERR = Definition(
    "ERR",
    "expected reciprocal rank: graded, a good document makes those below it matter less",
    "sum over i <= k of (1 / i) * c_i * product over j < i of (1 - c_j), "
    "where c_i = (2^rel_i - 1) / 2^max(4, top grade)",
    expected_reciprocal_rank,
    ("err", "err"),
)
