"""Which model leads, and which others cannot be distinguished from it statistically.

A paired randomisation test compares every model with the one that has the highest score, on the same queries; p-values
are corrected by Holm's method over the models. A model with p >= 0.05 is tied with the leader. Scores that are not
means over queries are compared by their intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import hypot

import numpy as np

from steelyard.errors import DataError
from steelyard.results.per_query import Column, aligned
from steelyard.stats.corrections import holm
from steelyard.stats.group_means import GroupScores, task_pair_p_values, task_seed
from steelyard.stats.intervals import NORMAL
from steelyard.stats.randomisation import p_values
from steelyard.types import Float64, Interval

ALPHA = 0.05


@dataclass(frozen=True)
class Leaders:
    """The model with the highest score and those that are tied with it.

    >>> Leaders("dense", 0.8, tied=("bm25",), p_values={"bm25": 0.4}).best
    ('dense', 'bm25')
    """

    model: str
    score: float
    tied: tuple[str, ...] = ()
    """The other models that cannot be distinguished from the first, the highest score first."""
    p_values: Mapping[str, float] = field(default_factory=dict)
    """Of every model that was tested against the first, corrected by Holm's method; empty if no test was possible."""

    @property
    def best(self) -> tuple[str, ...]:
        """All models that may be the best: the leader and the tied ones."""
        return (self.model, *self.tied)


def task_leaders(
    task: str,
    scores: Mapping[str, float],
    queries: Mapping[str, Column],
    intervals: Mapping[str, Interval] | None = None,
) -> Leaders | None:
    """Return the leaders of one task from its scores and, where models have them, per-query scores.

    A score without per-query scores of which it is the mean (a correlation, an average precision over pairs) is tested
    by the intervals of both models, taken as independent, which finds less than a paired test. A model without an
    interval is tied only if its score equals the highest one.
    """
    if not scores:
        return None
    ranked = sorted(scores, key=lambda model: -scores[model])
    first, *others = ranked
    raw: dict[str, float] = {}
    tested = [model for model in others if model in queries] if first in queries else []
    if tested:
        with suppress(DataError):  # other queries under the same data: nothing to test
            _, rows = aligned({model: queries[model] for model in (first, *tested)})
            p = p_values(rows[0] - rows[1:], seed=task_seed(0, task))
            raw = dict(zip(tested, p.tolist(), strict=True))
    known = intervals or {}
    for model in others:
        if model not in raw and model in known and first in known:
            raw[model] = _independent(scores[first] - scores[model], known[first], known[model])
    adjusted = dict(zip(raw, holm(list(raw.values())).tolist(), strict=True))
    return _leaders(ranked, scores, adjusted)


def _independent(difference: float, first: Interval, second: Interval) -> float:
    """Return the two-sided p-value of a difference of two scores whose intervals are those of normal variables.

    >>> round(_independent(0.1, Interval(0.45, 0.55), Interval(0.35, 0.45)), 4)
    0.0056
    """
    errors = [(one.high - one.low) / (2 * NORMAL.inv_cdf((1 + one.level) / 2)) for one in (first, second)]
    error = hypot(*errors)
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return 2 * (1 - NORMAL.cdf(abs(difference) / error))


def group_leaders(tasks: Sequence[str], scores: Mapping[str, Sequence[float]], queries: Sequence[Float64]) -> Leaders:
    """Return the leaders of the mean over tasks.

    `scores` has one score of each task for every model. `queries` has one (models, queries) matrix for each task, in
    the order of `scores`; if it is empty, tasks instead of queries are the unit of the test.
    """
    models = list(scores)
    table = np.array([scores[model] for model in models], dtype=np.float64)
    means = dict(zip(models, table.mean(axis=1).tolist(), strict=True))
    ranked = sorted(models, key=lambda model: -means[model])
    if len(models) < 2:
        return Leaders(ranked[0], means[ranked[0]])
    matrix = GroupScores(tuple(tasks), tuple(queries)).pair_p_values() if queries else task_pair_p_values(table)
    row = matrix[models.index(ranked[0])]
    raw = [float(row[models.index(model)]) for model in ranked[1:]]
    return _leaders(ranked, means, dict(zip(ranked[1:], holm(raw).tolist(), strict=True)))


def _leaders(ranked: Sequence[str], scores: Mapping[str, float], adjusted: Mapping[str, float]) -> Leaders:
    first = ranked[0]
    tied = [m for m in ranked[1:] if adjusted.get(m, 0.0) >= ALPHA or scores[m] == scores[first]]
    return Leaders(first, scores[first], tuple(tied), dict(adjusted))
