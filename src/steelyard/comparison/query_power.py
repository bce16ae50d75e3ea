"""How small a difference the queries of a task can detect, and how many queries smaller ones need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import isnan

import numpy as np

from steelyard.results.per_query import Column, aligned, columns
from steelyard.results.schema import Result
from steelyard.stats.power import TYPICAL_DEVIATION, detectable_difference, queries_needed

METRIC = "ndcg_at_10"
DIFFERENCES = (0.05, 0.02, 0.01)
"""Differences for which the number of queries is computed."""


@dataclass(frozen=True)
class QueryPower:
    """What a paired comparison of two models on a task can detect: level 0.05, power 0.8."""

    queries: int
    deviation: float
    """The standard deviation of the per-query differences of two models."""
    models: int
    """The number of stored models that it was measured with; 0: `TYPICAL_DEVIATION`."""
    detectable_difference: float | None
    """None with fewer than two queries."""
    queries_needed: Mapping[float, int]
    metric: str = METRIC

    def to_dict(self) -> dict[str, object]:
        """Return the values, JSON-ready."""
        needed = {f"{difference:g}": count for difference, count in self.queries_needed.items()}
        return {**vars(self), "queries_needed": needed}


def query_power(queries: int, results: Iterable[Result] = (), *, metric: str = METRIC) -> QueryPower:
    """Return what that many queries can detect, from the stored results of a task if at least two models have them.

    The deviation is the median over pairs of models; identical pairs are left out.

    >>> power = query_power(200)
    >>> round(power.detectable_difference, 3), power.queries_needed[0.05]
    (0.05, 199)
    """
    stored: dict[str, Column] = {}
    for result in results:
        if result.done and (column := columns(result, [metric]).get(metric)) is not None:
            stored[result.model] = column
    ids = next(iter(stored.values())).ids if stored else ()
    same = {model: column for model, column in stored.items() if set(column.ids) == set(ids)}
    deviations = []
    if len(same) > 1 and len(ids) > 1:
        _, scores = aligned(same)
        pairs = (float((scores[a] - scores[b]).std(ddof=1)) for a, b in combinations(range(len(scores)), 2))
        deviations = [deviation for deviation in pairs if deviation > 0]
    deviation = float(np.median(deviations)) if deviations else TYPICAL_DEVIATION
    smallest = detectable_difference(deviation, queries)
    return QueryPower(
        queries,
        deviation,
        len(same) if deviations else 0,
        None if isnan(smallest) else smallest,
        {difference: queries_needed(deviation, difference) for difference in DIFFERENCES},
        metric,
    )
