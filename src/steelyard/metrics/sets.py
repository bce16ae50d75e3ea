"""Metrics of how many relevant documents a list has, and how many it could have, whatever their order in it."""

from __future__ import annotations

from functools import partial
from math import inf

import numpy as np

from steelyard.errors import UsageError
from steelyard.metrics.definition import Compute, Definition
from steelyard.metrics.numbers import numbers
from steelyard.metrics.ranking import Ranking, ratio
from steelyard.types import Float64


def precision_at_multiple(ranking: Ranking, multiple: float) -> Float64:
    """Precision at a multiple of R, rounded as trec_eval does it: nine tenths more, then cut off."""
    rank = np.trunc(multiple * ranking.positives + 0.9).astype(np.int64)
    hits = ranking.relevant
    return ratio(ranking.total(hits.where(hits.rank < rank[hits.query]), None, None), rank)


def relative_precision(ranking: Ranking, cutoff: int | None) -> Float64:
    """Precision over the best that a list of this length can have."""
    most = ranking.lengths if cutoff is None else cutoff
    return ratio(ranking.total(ranking.relevant, None, cutoff), np.minimum(most, ranking.positives))


def f_measure(ranking: Ranking, cutoff: None, weight: float = 1.0) -> Float64:
    """Precision and recall of the whole list in one figure."""
    found = ranking.total(ranking.relevant, None, None)
    precision, recall = ratio(found, ranking.lengths), ratio(found, ranking.positives)
    return ratio((weight + 1.0) * precision * recall, weight * precision + recall)


def set_average_precision(ranking: Ranking, cutoff: None) -> Float64:
    """Precision times recall of the whole list."""
    found = ranking.total(ranking.relevant, None, None)
    return ratio(found * found, ranking.lengths * ranking.positives.astype(np.float64))


def utility(ranking: Ranking, cutoff: None, worth: tuple[float, ...] = (1.0, -1.0, 0.0, 0.0)) -> Float64:
    """What the list is worth, if every kind of document has its price."""
    found, returned = ranking.total(ranking.relevant, None, None), ranking.lengths
    missed = ranking.positives - found
    return np.asarray(
        worth[0] * found
        + worth[1] * (returned - found)
        + worth[2] * missed
        + worth[3] * (ranking.documents + found - returned - ranking.positives)
    )


def _weighted(text: str) -> Compute:
    (weight,) = numbers(text, count=1, metric="set_F", example="set_F.0.5")
    if weight < 0:
        raise UsageError(f"set_F cannot weigh recall {text} times", hint="write a weight from 0 on, such as set_F.0.5")
    return partial(f_measure, weight=weight)


def _of_worth(text: str) -> Compute:
    return partial(utility, worth=numbers(text, count=4, metric="utility", example="utility.1,-1,0,0"))


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
    "precision over the best that is possible: few relevant documents are no fault of the list",
    "(relevant in the first k) / min(k, R)",
    relative_precision,
    ("set_relative_P", "relative_P"),
)
SET_F = Definition(
    "F",
    "precision and recall of the whole list in one figure; set_F.x weighs recall x times",
    "(x + 1) P r / (x P + r), where P is precision and r recall of the whole list, x = 1",
    f_measure,
    ("set_F", "set_F"),
    takes_cutoff=False,
    given=_weighted,
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
    "what a list is worth if each kind of document has a price; utility.a,b,c,d sets them",
    "a (relevant found) + b (others found) + c (relevant missed) + d (others left out); a, b, c, d = 1, -1, 0, 0",
    utility,
    ("utility", "utility"),
    takes_cutoff=False,
    given=_of_worth,
    bounds=(-inf, inf),
)
