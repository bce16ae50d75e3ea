"""Confusion counts of labels, and the scores computed from them; for one set of texts or for many resamples at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.tasks.resampling import Counts
from steelyard.types import Float64, Int64
from steelyard.types.samples import Label, Levels


def label_codes(labels: Sequence[Label | Levels]) -> tuple[Int64, npt.NDArray[Any]]:
    """Return labels as numbers from 0, in the order of the labels, and the labels by number.

    >>> codes, names = label_codes(["b", "a", "b"])
    >>> codes.tolist(), names.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    names, codes = np.unique(np.array(labels), return_inverse=True)
    return codes.astype(np.int64), names


@dataclass(frozen=True, eq=False)
class Confusion:
    """Counts of texts for each label: predicted correctly, with that label, and predicted as that label.

    The last axis of the arrays is labels; an axis of resamples may precede it.
    """

    correct: Float64
    true: Float64
    predicted: Float64

    @classmethod
    def of(cls, gold: Int64, predicted: Int64, labels: int) -> Confusion:
        """Count labels that are numbered from 0."""
        hits = gold[gold == predicted]
        columns = (np.bincount(column, minlength=labels).astype(np.float64) for column in (hits, gold, predicted))
        return cls(*columns)

    @classmethod
    def resampled(cls, counts: Counts, gold: Int64, predicted: Int64, labels: int) -> Confusion:
        """Count every resample: `counts` (draws, texts) is how often each text was drawn."""
        known = np.arange(labels)
        true, as_predicted = (gold[:, None] == known), (predicted[:, None] == known)
        weights = counts.astype(np.float32)  # exact for such small counts, and fast to multiply
        columns = (weights @ column.astype(np.float32) for column in (true & as_predicted, true, as_predicted))
        return cls(*(column.astype(np.float64) for column in columns))

    def scores(self) -> dict[str, npt.NDArray[np.float64]]:
        """Return accuracy, and F1, precision and recall as plain means over labels and weighted by label frequency.

        Labels that occur neither in texts nor in predictions do not count; a division by 0 gives 0.

        >>> scores = Confusion.of(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 2).scores()
        >>> {name: round(float(value), 4) for name, value in scores.items()}["f1"]
        0.7333
        """
        texts = self.true.sum(axis=-1)
        present = (self.true + self.predicted) > 0
        by_label = {
            "f1": _share(2 * self.correct, self.true + self.predicted),
            "precision": _share(self.correct, self.predicted),
            "recall": _share(self.correct, self.true),
        }
        scores = {"accuracy": np.asarray(self.correct.sum(axis=-1) / texts)}
        for name, values in by_label.items():
            scores[name] = np.asarray(values.sum(axis=-1) / present.sum(axis=-1))
            scores[f"{name}_weighted"] = np.asarray((values * self.true).sum(axis=-1) / texts)
        return scores


def _share(part: Float64, whole: Float64) -> Float64:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def average_precision_of_labels(gold: Int64, predicted: Int64, names: npt.NDArray[Any]) -> float | None:
    """Return the average precision of two labels with the predicted label as the score; None for more or fewer labels.

    As in mteb, the positive label is 1 if it is one of the two, and otherwise the greater one.

    >>> average_precision_of_labels(np.array([0, 1, 1]), np.array([0, 1, 0]), np.array([0, 1]))
    0.8333333333333333
    """
    present = np.unique(gold)
    if len(present) != 2:
        return None
    numbers = np.issubdtype(names.dtype, np.number)
    positive = next((code for code in present.tolist() if numbers and names[code] == 1), int(present[-1]))
    from steelyard.tasks.separation import Sorted

    scores = (names[predicted] if numbers else predicted).astype(np.float64)
    return Sorted.of(scores, gold == positive).average_precision
