"""Which label was taken for which, and the figures made of that; of one set of texts, or of many resamples at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.tasks.resampling import Counts
from steelyard.types import Float64, Int64
from steelyard.types.samples import Label


def label_codes(labels: Sequence[Label]) -> tuple[Int64, npt.NDArray[Any]]:
    """Labels as numbers from 0, in the order of the labels, and the labels by number.

    >>> codes, names = label_codes(["b", "a", "b"])
    >>> codes.tolist(), names.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    names, codes = np.unique(np.array(labels), return_inverse=True)
    return codes.astype(np.int64), names


@dataclass(frozen=True, eq=False)
class Confusion:
    """For each label: texts that were given it and have it (`right`), that have it, that were given it.

    Arrays end in an axis of labels; before it there may be one of resamples.
    """

    right: Float64
    true: Float64
    given: Float64

    @classmethod
    def of(cls, gold: Int64, predicted: Int64, labels: int) -> Confusion:
        """Of labels from 0."""
        hits = gold[gold == predicted]
        columns = (np.bincount(column, minlength=labels).astype(np.float64) for column in (hits, gold, predicted))
        return cls(*columns)

    @classmethod
    def resampled(cls, counts: Counts, gold: Int64, predicted: Int64, labels: int) -> Confusion:
        """Of every resample: `counts` (draws, texts) says how often each text was drawn."""
        known = np.arange(labels)
        true, given = (gold[:, None] == known), (predicted[:, None] == known)
        weights = counts.astype(np.float32)  # counts this small are exact, and products of them fast
        columns = (weights @ column.astype(np.float32) for column in (true & given, true, given))
        return cls(*(column.astype(np.float64) for column in columns))

    def figures(self) -> dict[str, npt.NDArray[np.float64]]:
        """Accuracy, and F1, precision and recall as plain means over labels and weighted by how many have the label.

        Labels that no text has nor was given do not count; what would be divided by 0 is 0.

        >>> found = Confusion.of(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 2).figures()
        >>> {name: round(float(value), 4) for name, value in found.items()}["f1"]
        0.7333
        """
        texts = self.true.sum(axis=-1)
        present = (self.true + self.given) > 0
        by_label = {
            "f1": _share(2 * self.right, self.true + self.given),
            "precision": _share(self.right, self.given),
            "recall": _share(self.right, self.true),
        }
        found = {"accuracy": np.asarray(self.right.sum(axis=-1) / texts)}
        for name, values in by_label.items():
            found[name] = np.asarray(values.sum(axis=-1) / present.sum(axis=-1))
            found[f"{name}_weighted"] = np.asarray((values * self.true).sum(axis=-1) / texts)
        return found


def _share(part: Float64, whole: Float64) -> Float64:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def average_precision_of_labels(gold: Int64, predicted: Int64, names: npt.NDArray[Any]) -> float | None:
    """Of two labels: average precision with the predicted label as the score; None for any other number of labels.

    As in mteb the label 1 is what is looked for, wherever it is one of the two; else the greater one.

    >>> average_precision_of_labels(np.array([0, 1, 1]), np.array([0, 1, 0]), np.array([0, 1]))
    0.8333333333333333
    """
    there = np.unique(gold)
    if len(there) != 2:
        return None
    numbers = np.issubdtype(names.dtype, np.number)
    wanted = next((code for code in there.tolist() if numbers and names[code] == 1), int(there[-1]))
    from steelyard.tasks.separation import Sorted

    scores = (names[predicted] if numbers else predicted).astype(np.float64)
    return Sorted.of(scores, gold == wanted).average_precision
