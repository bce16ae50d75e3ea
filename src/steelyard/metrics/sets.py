"""Metrics of the set of retrieved documents, without regard to their order."""

from __future__ import annotations

from functools import partial
from math import inf

import numpy as np

from steelyard.errors import UsageError
from steelyard.metrics.definition import Compute, Definition, read_numbers
from steelyard.metrics.ranking import Ranking, ratio
from steelyard.types import Float64


def precision_at_multiple(ranking: Ranking, multiple: float) -> Float64:
    """Return the precision at a multiple of R, rounded as in trec_eval: trunc(x + 0.9)."""
    rank = np.trunc(multiple * ranking.positives + 0.9).astype(np.int64)
    hits = ranking.relevant
    return ratio(ranking.total(hits.where(hits.rank < rank[hits.query]), None, None), rank)


def relative_precision(ranking: Ranking, cutoff: int | None) -> Float64:
    """Return the precision divided by the best precision of a list of this length."""
    length = ranking.lengths if cutoff is None else cutoff
    return ratio(ranking.total(ranking.relevant, None, cutoff), np.minimum(length, ranking.positives))


def f_measure(ranking: Ranking, cutoff: None, weight: float = 1.0) -> Float64:
    """Return the F measure of the whole list."""
    relevant = ranking.total(ranking.relevant, None, None)
    precision, recall = ratio(relevant, ranking.lengths), ratio(relevant, ranking.positives)
    return ratio((weight + 1.0) * precision * recall, weight * precision + recall)


def set_average_precision(ranking: Ranking, cutoff: None) -> Float64:
    """Return precision times recall of the whole list."""
    relevant = ranking.total(ranking.relevant, None, None)
    return ratio(relevant * relevant, ranking.lengths * ranking.positives.astype(np.float64))


def utility(ranking: Ranking, cutoff: None, values: tuple[float, ...] = (1.0, -1.0, 0.0, 0.0)) -> Float64:
    """Return the value of the list, if every kind of document has a value."""
    relevant, returned = ranking.total(ranking.relevant, None, None), ranking.lengths
    missed = ranking.positives - relevant
    return np.asarray(
        values[0] * relevant
        + values[1] * (returned - relevant)
        + values[2] * missed
        + values[3] * (ranking.documents + relevant - returned - ranking.positives)
    )


def _weighted(text: str) -> Compute:
    (weight,) = read_numbers(text, count=1, metric="set_F", example="set_F.0.5")
    if weight < 0:
        raise UsageError.invalid(
            "the weight of recall in set_F",
            expected="at least 0",
            found=text,
            hint="for example set_F.0.5",
            option="set_F",
        )
    return partial(f_measure, weight=weight)


def _with_values(text: str) -> Compute:
    return partial(utility, values=read_numbers(text, count=4, metric="utility", example="utility.1,-1,0,0"))


RPREC_MULT = Definition(
    "Rprec-mult",
    "precision at multiples of R, the number of relevant documents",
    "(relevant in the first n) / n, where n = trunc(k R + 0.9)",
    precision_at_multiple,
    ("Rprec_mult", "Rprec_mult"),
    shares=(0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
)
RELATIVE_P = Definition(
    "relative P",
    "precision divided by the best possible precision, so that few relevant documents do not count against a list",
    "(relevant in the first k) / min(k, R)",
    relative_precision,
    ("set_relative_P", "relative_P"),
)
SET_F = Definition(
    "F",
    "precision and recall of the whole list combined; set_F.x counts recall x times",
    "(x + 1) P r / (x P + r), where P is precision and r recall of the whole list, x = 1",
    f_measure,
    ("set_F", "set_F"),
    takes_cutoff=False,
    with_parameters=_weighted,
)
SET_MAP = Definition(
    "set MAP",
    "precision times recall of the whole list",
    "(relevant in the list)^2 / (length of the list * R)",
    set_average_precision,
    ("set_map", "set_map"),
    takes_cutoff=False,
)
UTILITY = Definition(
    "utility",
    "the value of a list if each kind of document has a value; utility.a,b,c,d sets them",
    "a (relevant found) + b (others found) + c (relevant missed) + d (others left out); a, b, c, d = 1, -1, 0, 0",
    utility,
    ("utility", "utility"),
    takes_cutoff=False,
    with_parameters=_with_values,
    bounds=(-inf, inf),
)
