"""Which models cannot be the best any more, decided after every round without spending the risk of error twice.

For each ordered pair of models, capital is bet on the first being better (Waudby-Smith and Ramdas 2024). A query with
the difference d of their scores multiplies it by 1 + b w d / 2, where b is a bet made before the round and w the weight
of the query. Every round gives each task the same total weight, and the queries of a round are independent. If the
first model is not better on the mean of the tasks, the expected product of a round is at most 1, whatever the single
tasks are like:

    E prod(1 + b w d / 2) = prod(1 + b w E[d] / 2) <= (1 + b mean(w E[d]) / 2) ^ n <= 1

by the inequality of arithmetic and geometric means. So the capital is a supermartingale from round to round, and by
Ville's inequality it ever exceeds 1 / a with a probability of at most a, however often one looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError, UsageError
from steelyard.types import Float64

LARGEST_BET = 1.0
"""At 1 a query multiplies the capital by 0.5 to 1.5."""
PRIOR_QUERIES, PRIOR_GAIN, PRIOR_VARIANCE = 50.0, 0.005, 0.03
"""What the first bets assume of d / 2, and how many queries that counts for."""


@dataclass(frozen=True)
class Drop:
    """A model that was dropped: in which round, and by which models it was beaten."""

    model: int
    round: int
    beaten_by: tuple[int, ...]


class Elimination:
    """Models in a race for the best `keep` places, with a risk of at most `alpha` that one of those is dropped.

    >>> race = Elimination(3, alpha=0.05)
    >>> for seed in range(20):
    ...     noise = np.random.default_rng(seed).random(40) * 0.2
    ...     _ = race.observe({"T/a": np.stack([0.7 + noise, 0.3 + noise, 0.69 + noise])})
    >>> race.active.tolist()
    [0, 2]
    """

    def __init__(self, models: int, *, keep: int = 1, alpha: float = 0.05) -> None:
        if not 1 <= keep < models:
            raise UsageError.invalid("best", expected=f"from 1 to {models - 1}", found=keep, option="--best")
        if not 0 < alpha < 1:
            raise UsageError.invalid("alpha", expected="between 0 and 1", found=alpha, option="--alpha")
        self.models, self.keep, self.alpha = models, keep, alpha
        self.threshold = log(keep * (models - 1) / alpha)
        """Logarithm of the capital at which one model counts as better: a union bound over the pairs that could err."""
        self.capital = np.zeros((models, models))
        self.rounds = 0
        self.drops: list[Drop] = []
        self._in = np.ones(models, dtype=bool)
        self._gain = np.zeros((models, models))
        self._square = np.zeros((models, models))
        self._queries = 0.0

    @property
    def active(self) -> npt.NDArray[np.intp]:
        """The models that are still in the race."""
        return np.flatnonzero(self._in)

    @property
    def finished(self) -> bool:
        """Whether only as many models are left as places."""
        return len(self.active) <= self.keep

    def observe(self, scores: Mapping[str, npt.ArrayLike]) -> list[Drop]:
        """Add one round, (models, queries) in [0, 1] for each task, and return the models that are dropped by it.

        Every task counts the same, however many queries it has. Rows of models that were dropped before are not read.
        """
        values = {task: self._checked(task, np.asarray(table, dtype=np.float64)) for task, table in scores.items()}
        if not values:
            raise DataError("a round needs the scores of at least one task, got none", hint="pass one matrix per task")
        fewest = min(table.shape[1] for table in values.values())
        bet = self._bets()
        for table in values.values():
            self._add(table, fewest / table.shape[1], bet)
        self.rounds += 1
        return self._drop()

    def _checked(self, task: str, table: Float64) -> Float64:
        if table.ndim != 2 or table.shape[0] != self.models or not table.shape[1]:
            raise DataError(
                f"scores of {task} must be a ({self.models}, queries) matrix, got shape {table.shape}",
                hint="pass one row for each model",
            )
        rows = table[self.active]
        if not (np.isfinite(rows).all() and (rows >= -1e-9).all() and (rows <= 1 + 1e-9).all()):
            raise DataError(f"scores of {task} must be numbers from 0 to 1", hint="race by a metric such as nDCG@10")
        return np.where(self._in[:, None], np.clip(table, 0, 1), 0.0)

    def _bets(self) -> Float64:
        """Return the bet of every pair, from earlier rounds only: what would have let its capital grow fastest."""
        count = self._queries + PRIOR_QUERIES
        gain = (self._gain + PRIOR_QUERIES * PRIOR_GAIN) / count
        square = (self._square + PRIOR_QUERIES * PRIOR_VARIANCE) / count
        bets: Float64 = np.clip(gain / square, 0.0, LARGEST_BET)
        return bets

    def _add(self, table: Float64, weight: float, bet: Float64) -> None:
        halves = (table[:, None, :] - table[None, :, :]) / 2
        self.capital += np.log1p(weight * bet[:, :, None] * halves).sum(axis=2)
        self._gain += weight * halves.sum(axis=2)
        self._square += weight * np.square(halves).sum(axis=2)
        self._queries += weight * table.shape[1]

    def _drop(self) -> list[Drop]:
        """Drop every model that enough others have beaten; those must be in the race themselves."""
        better = (self.capital >= self.threshold) & self._in[:, None] & self._in[None, :]
        dropped = [
            Drop(int(model), self.rounds, tuple(np.flatnonzero(better[:, model]).tolist()))
            for model in self.active
            if better[:, model].sum() >= self.keep
        ]
        for drop in dropped:
            self._in[drop.model] = False
        self.drops += dropped
        return dropped
