"""The threshold of the semantic level, calibrated so that its rate of false positives is known.

An evaluation text has one best candidate in the training data, and many others. The others are pairs of texts that do
not repeat each other, so the number of them above a threshold shows how often chance alone passes it. From the mean
number c of others above a threshold follows the mean number m of chance pairs above it: of a text that is in the
training data, the best candidate is no chance pair; of any other text it is the highest of the chance pairs. With a
share s of texts that are in the training data, c = m - (1 - s) (1 - exp(-m)), and a text passes by chance with a
probability of 1 - exp(-m). The share s follows from what passes, so both are computed in turns; s is the least that
the number of texts that pass allows (a 99.9% bound), so that chance does not confirm itself.

Random pairs of an evaluation text and a training text give a second estimate, which uses no candidate at all: the share
of random pairs above the threshold, times the number of training texts, is how many of them pass for a text by chance.
The higher of the two rates is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, expm1, log
from typing import Any

import numpy as np

from steelyard.stats.proportions import wilson
from steelyard.types import Float64

FALSE_POSITIVES = 0.01
"""The rate of false positives that the threshold is chosen for."""
TAIL = 10
"""Others above a threshold that are needed to count them; beyond that their tail is taken as exponential."""
ROUNDS = 50
LEAST_PAIRS = 1000
"""Random pairs that an estimate needs."""
CERTAIN = 0.999
"""The level of the bound on the share of texts that leak."""


@dataclass(frozen=True)
class Calibration:
    """A threshold, and how many texts pass it by chance."""

    threshold: float
    false_positives: float
    """The estimated share of texts that pass although no training text repeats them."""
    flagged: float
    """The share of texts that pass."""
    random_pairs: float | None = None
    """The share of texts that pass by chance as estimated from random pairs; None if there were too few pairs."""

    @property
    def estimate(self) -> float:
        """The estimated share of texts that are in the training data, without false positives."""
        chance = self.false_positives
        return max(0.0, (self.flagged - chance) / (1 - chance)) if chance < 1 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name."""
        return {
            "threshold": self.threshold,
            "false_positive_rate": self.false_positives,
            "random_pairs_rate": self.random_pairs,
            "flagged": self.flagged,
            "estimate": self.estimate,
        }


def calibrate(best: Float64, others: Float64, rate: float = FALSE_POSITIVES) -> Calibration:
    """Return the lowest threshold at which chance passes at most `rate` of the texts.

    `best` holds the score of the best candidate of each text, `others` those of all other candidates.

    >>> rng = np.random.default_rng(0)
    >>> chance = np.sort(rng.exponential(size=(1000, 50)), axis=1)
    >>> alone = calibrate(chance[:, -1], chance[:, -6:-1].ravel())
    >>> best = np.concatenate((np.full(500, 30.0), chance[500:, -1]))
    >>> half = calibrate(best, np.concatenate((chance[:500, -5:], chance[500:, -6:-1])).ravel())
    >>> alone.estimate < 0.02, abs(half.estimate - 0.5) < 0.02
    (True, True)
    """
    tail = _Tail(others, len(best))
    share = 0.0
    result = Calibration(float("inf"), 0.0, 0.0)
    for _ in range(ROUNDS):
        threshold = tail.level(_others_above(-log(1 - rate), share))
        flagged = float((best >= threshold).mean()) if len(best) else 0.0
        result = Calibration(threshold, rate, flagged)
        certain = least_share(round(flagged * len(best)), len(best), rate)
        if abs(certain - share) < 1e-4:
            break
        share = certain
    return result


def with_random_pairs(calibration: Calibration, margins: Float64, training_texts: int) -> Calibration:
    """Return the calibration with the estimate from the margins of random pairs; the higher rate is reported.

    >>> margins = np.random.default_rng(0).exponential(size=50_000)
    >>> found = with_random_pairs(Calibration(13.8, 0.001, 0.02), margins, training_texts=10_000)
    >>> 0.004 < found.false_positives < 0.025  # the chance of a value above 13.8 is 1e-6
    True
    """
    if len(margins) < LEAST_PAIRS or not training_texts:
        return calibration
    tail = _Tail(margins, 1)
    chance = 1 - exp(-tail.above(calibration.threshold) / len(margins) * training_texts)
    rate = max(calibration.false_positives, chance)
    return replace(calibration, false_positives=rate, random_pairs=chance)


def least_share(count: int, total: int, chance: float) -> float:
    """Return the share of texts that leak at least, if `count` of `total` pass and some pass by chance.

    >>> least_share(12, 1000, 0.01), round(least_share(500, 1000, 0.01), 2)
    (0.0, 0.44)
    """
    low = wilson(count, total, CERTAIN).low if total else 0.0
    return max(0.0, (low - chance) / (1 - chance))


def _others_above(chance: float, share: float) -> float:
    """Return how many others a text has above a threshold, given the number of chance pairs above it."""
    return chance + (1 - share) * expm1(-chance)


class _Tail:
    """How many other candidates a text has above a threshold, on average, and the inverse of that."""

    def __init__(self, others: Float64, texts: int) -> None:
        self.ordered = np.sort(others)[::-1]
        self.texts = max(1, texts)
        top = self.ordered[: max(TAIL, min(texts, len(others)) // 10, len(others) // 200 if texts == 1 else 0)]
        excess = float(top.mean() - top[-1]) if len(top) else 0.0
        self.scale = max(excess, 1e-6)

    def level(self, count: float) -> float:
        """Return the threshold above which a text has `count` others on average."""
        place = count * self.texts
        if not len(self.ordered):
            return float("inf") if self.texts < TAIL else 0.0
        if place >= TAIL:
            return float(self.ordered[min(int(place), len(self.ordered) - 1)])
        start = self.ordered[min(TAIL, len(self.ordered)) - 1]
        return float(start + self.scale * log(TAIL / max(place, exp(-50))))

    def above(self, threshold: float) -> float:
        """Return how many values are above a threshold: counted, or by the exponential tail where few are left."""
        count = int(np.searchsorted(-self.ordered, -threshold, side="right"))
        start = float(self.ordered[min(TAIL, len(self.ordered)) - 1])
        return float(count) if count >= TAIL or threshold <= start else TAIL * exp(-(threshold - start) / self.scale)
