"""Geometric means over queries: a bad query costs more than a good one gains."""

from __future__ import annotations

from math import exp, log

from steelyard.metrics.definition import Definition
from steelyard.metrics.measures import average_precision, bpref
from steelyard.types import Float64

MINIMUM = 0.00001
"""The smallest score of a query, because a 0 would make the whole product 0."""


def geometric_mean(values: Float64) -> float:
    """Return the geometric mean, with every value at least `MINIMUM`; 0 without values.

    >>> import numpy as np
    >>> geometric_mean(np.array([1.0, 0.25])), geometric_mean(np.array([]))
    (0.5, 0.0)
    """
    total = 0.0
    for value in values.tolist():  # one by one with the C library's logarithm, as trec_eval does
        total += log(max(value, MINIMUM))
    return exp(total / len(values)) if len(values) else 0.0


GM_MAP = Definition(
    "GMAP",
    "geometric mean of average precision: rewards being good on every query",
    "exp(mean over queries of log(max(AP, 0.00001)))",
    average_precision,
    ("gm_map", "gm_map"),
    takes_cutoff=False,
    whole=lambda ranking, cutoff: geometric_mean(average_precision(ranking, cutoff)),
)
GM_BPREF = Definition(
    "GM-bpref",
    "geometric mean of binary preference",
    "exp(mean over queries of log(max(bpref, 0.00001)))",
    bpref,
    ("gm_bpref", "gm_bpref"),
    takes_cutoff=False,
    whole=lambda ranking, cutoff: geometric_mean(bpref(ranking, cutoff)),
)
