"""STS: correlation of the scores of pairs with human similarity judgements, by Pearson and Spearman."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from steelyard.tasks.resampling import interval_of, resampled_counts
from steelyard.types import Float64, Interval
from steelyard.vectors.threads import single_threaded_blas

OWN = "similarity"
"""The similarity that the model declares."""


def average_ranks(values: npt.NDArray[np.floating]) -> Float64:
    """Return ranks from 1; equal values get the mean of their ranks.

    >>> average_ranks(np.array([0.5, 0.1, 0.5, 0.9])).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place], dtype=np.float64)


def correlation(first: Float64, second: Float64) -> float | None:
    """Return Pearson's r; None if one side is constant, or there are fewer than two pairs.

    >>> round(correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 5.0])), 6)
    0.981981
    """
    if len(first) < 2 or first.min() == first.max() or second.min() == second.max():
        return None
    # Divided by their norms first, as scipy does: squares of tiny differences do not underflow.
    one, other = first - first.mean(), second - second.mean()
    r = float(np.dot(one / np.linalg.norm(one), other / np.linalg.norm(other)))
    return max(-1.0, min(1.0, r))


def correlations(
    gold: Float64, scores: Mapping[str, Float64], own: str | None = None
) -> tuple[dict[str, float | None], dict[str, Interval]]:
    """Return `<score>_pearson` and `<score>_spearman` of every kind of score, and their intervals.

    Spearman's correlation is Pearson's of the ranks; gold values and every kind of score are ranked once, and resamples
    keep these ranks. `own` is the kind of score that the model declares (`similarity`): both have the same intervals.
    """
    kinds: dict[str, tuple[Float64, dict[str, Float64]]] = {
        "pearson": (gold, dict(scores)),
        "spearman": (average_ranks(gold), {name: average_ranks(values) for name, values in scores.items()}),
    }
    metrics = {f"{name}_{kind}": correlation(kinds[kind][0], kinds[kind][1][name]) for name in scores for kind in kinds}
    known = {OWN: own} if own is not None and own in scores else {}
    drawn = _resampled({kind: (one, _without(others, known)) for kind, (one, others) in kinds.items()})
    intervals = {}
    for name in metrics:
        score, _, kind = name.rpartition("_")
        values = drawn.get(f"{known.get(score, score)}_{kind}")
        interval = interval_of(values, metrics[name], (-1.0, 1.0)) if values is not None else None
        if interval is not None:
            intervals[name] = interval
    return metrics, intervals


def _without(series: dict[str, Float64], known: Mapping[str, str]) -> dict[str, Float64]:
    return {name: values for name, values in series.items() if name not in known}


def _resampled(kinds: Mapping[str, tuple[Float64, Mapping[str, Float64]]]) -> dict[str, Float64]:
    """Return the correlation in every resample, by products with the counts of how often each pair was drawn."""
    pairs = len(next(iter(kinds.values()))[0])
    if pairs < 2:
        return {}
    # Single precision is enough for the spread of resamples, which is a thousand times wider than its rounding.
    columns = np.column_stack([column for kind in kinds.values() for column in _moments(*kind)]).astype(np.float32)
    with single_threaded_blas():  # small products, between which threads of BLAS would spin
        sums = np.concatenate([counts.astype(np.float32) @ columns for counts in resampled_counts(pairs)]) / pairs
    values: dict[str, Float64] = {}
    at = iter(sums.T.astype(np.float64))
    for kind, (_, others) in kinds.items():
        x, xx = next(at), next(at)
        for name in others:
            y, yy, xy = next(at), next(at), next(at)
            with np.errstate(divide="ignore", invalid="ignore"):  # a constant resample has no correlation
                values[f"{name}_{kind}"] = (xy - x * y) / np.sqrt((xx - x * x) * (yy - y * y))
    return values


def _moments(one: Float64, others: Mapping[str, Float64]) -> Iterator[Float64]:
    """Yield centred and scaled moments, so that differences of sums of squares stay accurate."""
    first = _standard(one)
    yield from (first, first * first)
    for values in others.values():
        other = _standard(values)
        yield from (other, other * other, first * other)


def _standard(values: Float64) -> Float64:
    spread = values.std()
    return np.asarray((values - values.mean()) / spread) if spread > 0 else np.zeros(len(values))
