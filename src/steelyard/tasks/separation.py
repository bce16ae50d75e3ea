"""Pair classification: how well does a threshold on the scores tell pairs that match from those that do not?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from steelyard.tasks.correlation import OWN
from steelyard.tasks.resampling import Counts, interval_of, resampled_counts
from steelyard.types import Float64, Int64, Interval

FIGURES = ("accuracy", "f1", "precision", "recall", "ap")
RESAMPLED = ("accuracy", "f1", "ap")


@dataclass(frozen=True, eq=False)
class Sorted:
    """Pairs from the highest score to the lowest, equal ones in their own order: sorted once for every figure."""

    scores: Float64
    labels: Int64
    order: npt.NDArray[np.intp]

    @classmethod
    def of(cls, scores: Float64, labels: npt.ArrayLike) -> Sorted:
        """Scores of which the higher means alike; labels of 0 and 1."""
        order = np.argsort(-scores, kind="stable")
        return cls(scores[order], np.asarray(labels, dtype=np.int64)[order], order)

    @property
    def ends(self) -> npt.NDArray[np.intp]:
        """The last place of every group of equal scores: where a threshold can lie, and the end."""
        return np.append(np.flatnonzero(self.scores[1:] != self.scores[:-1]), len(self.scores) - 1)

    def figures(self, *, split_ties: bool = False) -> dict[str, float]:
        """The best accuracy and F1 that any threshold gives, precision and recall at the latter, average precision.

        A threshold lies between two pairs, so never after the last. mteb before 2.21.8 also cut between equal scores
        (`split_ties`), where only the order of the rows decides. `*_threshold` is the middle of the neighbours.

        >>> found = Sorted.of(np.array([0.9, 0.8, 0.3, 0.1]), [1, 0, 1, 0]).figures()
        >>> found["accuracy"], round(found["f1"], 4), round(found["ap"], 4)
        (0.75, 0.8, 0.8333)
        """
        pairs, positives = len(self.labels), int(self.labels.sum())
        hits = np.cumsum(self.labels)
        cuts = np.arange(pairs - 1) if split_ties else self.ends[:-1]
        taken = cuts + 1
        right = (hits[cuts] + (pairs - positives) - (taken - hits[cuts])) / pairs
        found = {"accuracy": 0.0, "accuracy_threshold": -1.0}
        if len(cuts) and right.max() > 0:
            best = int(right.argmax())
            found = {"accuracy": float(right[best]), "accuracy_threshold": self._between(cuts[best])}
        found |= {"f1": 0.0, "f1_threshold": 0.0, "precision": 0.0, "recall": 0.0}
        some = hits[cuts] > 0
        if some.any():
            precision, recall = hits[cuts][some] / taken[some], hits[cuts][some] / positives
            f1 = 2 * precision * recall / (precision + recall)
            best = int(f1.argmax())
            found |= {"f1": float(f1[best]), "f1_threshold": self._between(cuts[some][best])}
            found |= {"precision": float(precision[best]), "recall": float(recall[best])}
        return {**found, "ap": self.average_precision}

    @property
    def average_precision(self) -> float:
        """Precision where each further positive is found, over all of them; equal scores count together."""
        hits = np.cumsum(self.labels)[self.ends]
        if not hits[-1]:
            return 0.0
        precision, recall = hits / (self.ends + 1), hits / hits[-1]
        # Summed from the last to the first, as scikit-learn does: the last bit is the same.
        steps = np.diff(np.append(recall[::-1], 0.0)) * precision[::-1]
        return float(max(0.0, -np.sum(steps)))

    def _between(self, cut: int) -> float:
        # In single precision, of which the scores are.
        return float(self.scores[cut : cut + 2].astype(np.float32).sum() / np.float32(2))

    @cached_property
    def _telling(self) -> npt.NDArray[np.intp]:
        """Of `ends`, the first and those of groups with a match: after any other, no figure is better than before."""
        ends = self.ends
        matches = np.diff(np.cumsum(self.labels)[ends], prepend=0)
        matches[0] = 1
        return np.asarray(ends[matches > 0])

    def resampled(self, counts: Counts) -> Float64:
        """`RESAMPLED` of the pairs as often as they were drawn: (draws, pairs) to (draws, figures)."""
        last, places = len(self.labels) - 1, self._telling
        drawn = counts.take(self.order, axis=1)
        taken = np.cumsum(drawn, axis=1, dtype=np.int32)
        pairs = taken[:, -1]
        drawn *= self.labels.astype(drawn.dtype)
        hits = np.cumsum(drawn, axis=1, dtype=np.int32)
        positives = hits[:, -1]
        if len(places) <= last:
            taken, hits = taken.take(places, axis=1), hits.take(places, axis=1)
        cuts = slice(None, -1 if places[-1] == last else None)  # never after the last pair
        right = (2 * hits - taken)[:, cuts]
        # Without a place to cut there is no threshold, and nothing is right.
        best = right.max(axis=1) + pairs - positives if right.shape[1] else np.zeros(len(counts))
        f1 = (hits / np.maximum(taken + positives[:, None], 1))[:, cuts].max(axis=1, initial=0)
        hits_there = hits / np.maximum(taken, 1)
        hits_there[:, 1:] *= np.diff(hits, axis=1)
        hits_there[:, 0] *= hits[:, 0]
        precision = hits_there.sum(axis=1) / np.maximum(positives, 1)
        return np.column_stack([best / pairs, 2 * f1, precision])


def separations(
    labels: npt.ArrayLike, scores: Mapping[str, Float64], *, split_ties: bool = False, own: str | None = None
) -> tuple[dict[str, float], dict[str, Interval]]:
    """`<score>_<figure>` of every kind of score, `max_<figure>` over them, and the intervals of the main ones.

    `own` is the kind of score that `similarity`, the model's own, is: pairs stand in the same order by both, and the
    intervals of one are those of the other.
    """
    lines = {name: Sorted.of(values, labels) for name, values in scores.items()}
    by_score = {name: line.figures(split_ties=split_ties) for name, line in lines.items()}
    figures = {f"{name}_{figure}": value for name, found in by_score.items() for figure, value in found.items()}
    figures |= {f"max_{figure}": max(found[figure] for found in by_score.values()) for figure in FIGURES}
    intervals = {}
    for name, values in _resampled({name: line for name, line in lines.items() if own is None or name != OWN}):
        for figure, column in zip(RESAMPLED, values.T, strict=True):
            if (interval := interval_of(column, figures[f"{name}_{figure}"])) is not None:
                intervals[f"{name}_{figure}"] = interval
                if name == own:
                    intervals[f"{OWN}_{figure}"] = interval
    return figures, intervals


def _resampled(lines: Mapping[str, Sorted]) -> Iterator[tuple[str, Float64]]:
    """The figures of every kind of score in every resample, then the best of them; all from the same resamples."""
    pairs = len(next(iter(lines.values())).labels)
    if pairs < 2:
        return
    blocks: dict[str, list[Float64]] = {name: [] for name in lines}
    for counts in resampled_counts(pairs):
        for name, line in lines.items():
            blocks[name].append(line.resampled(counts))
    found = {name: np.concatenate(parts) for name, parts in blocks.items()}
    yield from found.items()
    yield "max", np.max(list(found.values()), axis=0)
