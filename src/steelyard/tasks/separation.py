"""Pair classification: how well a threshold on the scores separates matching pairs from others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from steelyard.tasks.correlation import OWN
from steelyard.tasks.resampling import Counts, interval_of, resampled_counts
from steelyard.types import Float64, Int64, Interval

METRICS = ("accuracy", "f1", "precision", "recall", "ap")
RESAMPLED = ("accuracy", "f1", "ap")


@dataclass(frozen=True, eq=False)
class Sorted:
    """Pairs from the highest score to the lowest, equal scores in their order; sorted once for all metrics."""

    scores: Float64
    labels: Int64
    order: npt.NDArray[np.intp]

    @classmethod
    def of(cls, scores: Float64, labels: npt.ArrayLike) -> Sorted:
        """Sort pairs by scores (higher is more similar) with labels of 0 and 1."""
        order = np.argsort(-scores, kind="stable")
        return cls(scores[order], np.asarray(labels, dtype=np.int64)[order], order)

    @property
    def ends(self) -> npt.NDArray[np.intp]:
        """Return the last place of every group of equal scores: the possible thresholds, and the end."""
        return np.append(np.flatnonzero(self.scores[1:] != self.scores[:-1]), len(self.scores) - 1)

    def metrics(self, *, split_ties: bool = False) -> dict[str, float]:
        """Return the best accuracy and F1 of any threshold, precision and recall at the latter, average precision.

        A threshold is between two pairs, never after the last. mteb before 2.21.8 also put thresholds between equal
        scores (`split_ties`), where the order of the rows decides. `*_threshold` is the middle of the neighbours.

        >>> metrics = Sorted.of(np.array([0.9, 0.8, 0.3, 0.1]), [1, 0, 1, 0]).metrics()
        >>> metrics["accuracy"], round(metrics["f1"], 4), round(metrics["ap"], 4)
        (0.75, 0.8, 0.8333)
        """
        pairs, positives = len(self.labels), int(self.labels.sum())
        hits = np.cumsum(self.labels)
        ends = np.arange(pairs - 1) if split_ties else self.ends[:-1]
        taken = ends + 1
        correct = (hits[ends] + (pairs - positives) - (taken - hits[ends])) / pairs
        metrics = {"accuracy": 0.0, "accuracy_threshold": -1.0}
        if len(ends) and correct.max() > 0:
            best = int(correct.argmax())
            metrics = {"accuracy": float(correct[best]), "accuracy_threshold": self._between(ends[best])}
        metrics |= {"f1": 0.0, "f1_threshold": 0.0, "precision": 0.0, "recall": 0.0}
        some = hits[ends] > 0
        if some.any():
            precision, recall = hits[ends][some] / taken[some], hits[ends][some] / positives
            f1 = 2 * precision * recall / (precision + recall)
            best = int(f1.argmax())
            metrics |= {"f1": float(f1[best]), "f1_threshold": self._between(ends[some][best])}
            metrics |= {"precision": float(precision[best]), "recall": float(recall[best])}
        return {**metrics, "ap": self.average_precision}

    @property
    def average_precision(self) -> float:
        """Return the mean precision at each positive; equal scores count together."""
        hits = np.cumsum(self.labels)[self.ends]
        if not hits[-1]:
            return 0.0
        precision, recall = hits / (self.ends + 1), hits / hits[-1]
        # Summed from the last to the first, as scikit-learn does, for the same last bit.
        steps = np.diff(np.append(recall[::-1], 0.0)) * precision[::-1]
        return float(max(0.0, -np.sum(steps)))

    def _between(self, end: int) -> float:
        # In single precision, like the scores.
        return float(self.scores[end : end + 2].astype(np.float32).sum() / np.float32(2))

    @cached_property
    def _useful_ends(self) -> npt.NDArray[np.intp]:
        """Return the first of `ends` and those of groups with a match: no other threshold improves a metric."""
        ends = self.ends
        matches = np.diff(np.cumsum(self.labels)[ends], prepend=0)
        matches[0] = 1
        return np.asarray(ends[matches > 0])

    def resampled(self, counts: Counts) -> Float64:
        """Return the metrics of `RESAMPLED` of resampled pairs: (draws, pairs) to (draws, metrics)."""
        last, places = len(self.labels) - 1, self._useful_ends
        drawn = counts.take(self.order, axis=1)
        taken = np.cumsum(drawn, axis=1, dtype=np.int32)
        pairs = taken[:, -1]
        drawn *= self.labels.astype(drawn.dtype)
        hits = np.cumsum(drawn, axis=1, dtype=np.int32)
        positives = hits[:, -1]
        if len(places) <= last:
            taken, hits = taken.take(places, axis=1), hits.take(places, axis=1)
        inner = slice(None, -1 if places[-1] == last else None)  # never after the last pair
        correct = (2 * hits - taken)[:, inner]
        # Without a place for a threshold, nothing is correct.
        best = correct.max(axis=1) + pairs - positives if correct.shape[1] else np.zeros(len(counts))
        f1 = (hits / np.maximum(taken + positives[:, None], 1))[:, inner].max(axis=1, initial=0)
        gains = hits / np.maximum(taken, 1)
        gains[:, 1:] *= np.diff(hits, axis=1)
        gains[:, 0] *= hits[:, 0]
        precision = gains.sum(axis=1) / np.maximum(positives, 1)
        return np.column_stack([best / pairs, 2 * f1, precision])


def separations(
    labels: npt.ArrayLike, scores: Mapping[str, Float64], *, split_ties: bool = False, own: str | None = None
) -> tuple[dict[str, float], dict[str, Interval]]:
    """Return `<score>_<metric>` of every kind of score, `max_<metric>` over them, and the intervals of the main ones.

    `own` is the kind of score that the model declares (`similarity`): both have the same intervals.
    """
    pairs = {name: Sorted.of(values, labels) for name, values in scores.items()}
    by_score = {name: line.metrics(split_ties=split_ties) for name, line in pairs.items()}
    metrics = {f"{name}_{metric}": value for name, values in by_score.items() for metric, value in values.items()}
    metrics |= {f"max_{metric}": max(values[metric] for values in by_score.values()) for metric in METRICS}
    intervals = {}
    for name, drawn in _resampled({name: line for name, line in pairs.items() if own is None or name != OWN}):
        for metric, column in zip(RESAMPLED, drawn.T, strict=True):
            if (interval := interval_of(column, metrics[f"{name}_{metric}"])) is not None:
                intervals[f"{name}_{metric}"] = interval
                if name == own:
                    intervals[f"{OWN}_{metric}"] = interval
    return metrics, intervals


def _resampled(lines: Mapping[str, Sorted]) -> Iterator[tuple[str, Float64]]:
    """Yield the metrics of every kind of score in every resample, then the best of them; from the same resamples."""
    pairs = len(next(iter(lines.values())).labels)
    if pairs < 2:
        return
    blocks: dict[str, list[Float64]] = {name: [] for name in lines}
    for counts in resampled_counts(pairs):
        for name, line in lines.items():
            blocks[name].append(line.resampled(counts))
    drawn = {name: np.concatenate(parts) for name, parts in blocks.items()}
    yield from drawn.items()
    yield "max", np.max(list(drawn.values()), axis=0)
