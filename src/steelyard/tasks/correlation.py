"""STS: do the scores of pairs go with how alike people found them? Pearson's and Spearman's correlation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from steelyard.tasks.resampling import interval_of, resampled_counts
from steelyard.types import Float64, Interval


def average_ranks(values: npt.NDArray[np.floating]) -> Float64:
    """Ranks from 1; equal values share the mean of their places.

    >>> average_ranks(np.array([0.5, 0.1, 0.5, 0.9])).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place], dtype=np.float64)


def correlation(first: Float64, second: Float64) -> float | None:
    """Pearson's r; None where one side never varies, or there are fewer than two pairs.

    >>> round(correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 5.0])), 6)
    0.981981
    """
    if len(first) < 2 or first.min() == first.max() or second.min() == second.max():
        return None
    # Divided by their lengths first, as scipy does: squares of tiny differences do not vanish.
    one, other = first - first.mean(), second - second.mean()
    r = float(np.dot(one / np.linalg.norm(one), other / np.linalg.norm(other)))
    return max(-1.0, min(1.0, r))


def correlations(gold: Float64, scores: Mapping[str, Float64]) -> tuple[dict[str, float | None], dict[str, Interval]]:
    """`<score>_pearson` and `<score>_spearman` of every kind of score, and the interval of each.

    The gold values are ranked once, each kind of score once; Spearman's is Pearson's of the ranks. Resamples keep the
    ranks that all pairs together gave: what is resampled are pairs of ranks.
    """
    gold_ranks = average_ranks(gold)
    series: dict[str, tuple[Float64, Float64]] = {}
    for name, values in scores.items():
        series[f"{name}_pearson"] = gold, values
        series[f"{name}_spearman"] = gold_ranks, average_ranks(values)
    figures = {name: correlation(*pair) for name, pair in series.items()}
    intervals = {}
    for name, values in _resampled(series).items():
        if (interval := interval_of(values, figures[name], (-1.0, 1.0))) is not None:
            intervals[name] = interval
    return figures, intervals


def _resampled(series: Mapping[str, tuple[Float64, Float64]]) -> dict[str, Float64]:
    """The correlation of each series in every resample, by matrix products with how often each pair was drawn."""
    pairs = len(next(iter(series.values()))[0])
    if pairs < 2:
        return {}
    columns = np.column_stack([column for pair in series.values() for column in _moments(*pair)])
    sums = np.concatenate([counts.astype(np.float64) @ columns for counts in resampled_counts(pairs)]) / pairs
    x, y, xx, yy, xy = np.moveaxis(sums.reshape(len(sums), len(series), 5), 2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample without any spread has no correlation
        found = (xy - x * y) / np.sqrt((xx - x * x) * (yy - y * y))
    return dict(zip(series, found.T, strict=True))


def _moments(first: Float64, second: Float64) -> tuple[Float64, ...]:
    """Centred and scaled, so that differences of sums of squares stay exact enough."""
    one, other = (_standard(column) for column in (first, second))
    return one, other, one * one, other * other, one * other


def _standard(values: Float64) -> Float64:
    spread = values.std()
    return np.asarray((values - values.mean()) / spread) if spread > 0 else np.zeros(len(values))
