"""Do two rankings of the same models agree? Spearman, Kendall and rank-biased overlap, each with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError, UsageError
from steelyard.stats.agreement import agreement
from steelyard.types import Float64, Interval

PERSISTENCE = 0.9
"""The default p of rank-biased overlap: the first ten ranks carry 86 % of the weight."""


@dataclass(frozen=True)
class RankAgreement:
    """How well two rankings of the same models agree, with the interval of each measure if there were resamples."""

    spearman: float
    kendall: float
    rbo: float
    intervals: dict[str, Interval]
    models: int


def rank_agreement(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    resampled: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    persistence: float = PERSISTENCE,
    level: float = 0.95,
) -> RankAgreement:
    """Compare the rankings by two lists of scores of the same models.

    `resampled` are bootstrap means of both, (models, draws), as `GroupScores.resampled_means` returns them; intervals
    are the middle `level` of the measures over the draws.

    >>> rank_agreement([0.9, 0.5, 0.1], [0.8, 0.2, 0.4]).spearman
    0.5
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape or one.ndim != 1 or len(one) < 2:
        raise DataError(
            f"two rankings must be of the same two or more models, got {one.shape} and {other.shape}",
            hint="select the models that both results have",
        )
    values = _measures(one, other, persistence)
    intervals = {}
    if resampled is not None:
        draws = [
            _measures(a, b, persistence)
            for a, b in zip(np.asarray(resampled[0]).T, np.asarray(resampled[1]).T, strict=True)
        ]
        for name in values:
            low, high = np.quantile([draw[name] for draw in draws], [(1 - level) / 2, (1 + level) / 2])
            intervals[name] = Interval(float(low), float(high), level)
    return RankAgreement(**values, intervals=intervals, models=len(one))


def _measures(one: Float64, other: Float64, persistence: float) -> dict[str, float]:
    if np.ptp(one) == 0 or np.ptp(other) == 0:  # all models tie: no order that anything could agree with
        return {"spearman": 0.0, "kendall": 0.0, "rbo": _rbo_of_scores(one, other, persistence)}
    measured = agreement(one, other)
    return {
        "spearman": float(measured.spearman[0]),
        "kendall": float(measured.kendall[0]),
        "rbo": _rbo_of_scores(one, other, persistence),
    }


def _rbo_of_scores(one: Float64, other: Float64, persistence: float) -> float:
    orders = (np.argsort(-values.round(12), kind="stable").tolist() for values in (one, other))
    return rank_biased_overlap(*orders, persistence=persistence)


def rank_biased_overlap(
    first: Sequence[object], second: Sequence[object], *, persistence: float = PERSISTENCE
) -> float:
    """Return the extrapolated rank-biased overlap of two rankings without ties, from 0 to 1.

    Webber, Moffat and Zobel (2010), equation 32: agreement at every depth, weighted by `persistence` to the power of
    the depth, so that disagreement at the top counts most.

    >>> rank_biased_overlap("abc", "abc"), round(rank_biased_overlap("abc", "acb"), 4)
    (1.0, 0.955)
    """
    if not 0 < persistence < 1:
        raise UsageError(f"persistence must be between 0 and 1, got {persistence}", hint="0.9 is usual")
    short, long = sorted((list(first), list(second)), key=len)
    if not short:
        raise DataError("a ranking must have at least one entry, got none", hint="rank two or more models")
    total, shared = 0.0, 0
    overlap: list[int] = []
    seen_short: set[object] = set()
    seen_long: set[object] = set()
    for depth in range(1, len(long) + 1):
        entry = long[depth - 1]
        seen_long.add(entry)
        shared += entry in seen_short
        if depth <= len(short):
            other = short[depth - 1]
            seen_short.add(other)
            shared += other in seen_long
        overlap.append(shared)
        total += shared / depth * persistence**depth
    s, size = len(short), len(long)
    at_short = overlap[s - 1]
    beyond = sum(at_short * (d - s) / (s * d) * persistence**d for d in range(s + 1, size + 1))
    tail = ((overlap[-1] - at_short) / size + at_short / s) * persistence**size
    return (1 - persistence) / persistence * (total + beyond) + tail
