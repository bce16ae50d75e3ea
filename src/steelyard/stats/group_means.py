"""Means over several tasks: their paired tests, and their uncertainty over queries and over tasks.

A group mean is the mean of the task means: every task counts alike, however many queries it has. All functions take
one (models, queries) matrix of scores for each task, with the same models in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.stats.intervals import DRAWS
from steelyard.stats.pairs import (
    LEVEL,
    Pair,
    PairStatistics,
    checked_scores,
    resampled_means,
    statistics_of_tasks,
)
from steelyard.stats.randomisation import FLIPS, count_pairs, difference_sums, p_values, pair_tests
from steelyard.types import Float64

WINDOW = 1 << 19
"""Bootstrap means that are in memory at a time: of 131 tasks with two models, of four tasks with 55."""


def task_seed(seed: int, task: str) -> tuple[int, int]:
    """Return a seed of its own for each task, so that tasks are resampled independently.

    It depends on the name alone: the p-value of a task is the same in every comparison.

    >>> task_seed(0, "NanoX/en") == task_seed(0, "NanoX/en") != task_seed(0, "NanoX/zh")
    True
    """
    return seed, crc32(task.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Per-query scores of the same models on several tasks.

    >>> group = GroupScores(("T/a", "T/b"), (np.array([[1.0, 0.5], [0.5, 0.0]]), np.array([[0.2, 0.4], [0.1, 0.1]])))
    >>> group.means.round(4).tolist()
    [0.525, 0.175]
    """

    tasks: tuple[str, ...]
    scores: tuple[Float64, ...]
    """One (models, queries) matrix for each task."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.tasks or len(self.tasks) != len(self.scores):
            raise DataError(
                f"a group mean needs one score matrix for each task, got {len(self.scores)} for {len(self.tasks)}",
                hint="compare models on at least one common task",
            )
        for task, values in zip(self.tasks, self.scores, strict=True):
            if checked_scores(values).shape[0] != self.scores[0].shape[0]:
                raise DataError(f"every task must have scores of the same models, got others on {task}", hint="align")

    @property
    def models(self) -> int:
        """The number of models."""
        return len(self.scores[0])

    @cached_property
    def task_means(self) -> Float64:
        """The mean of each model on each task: (models, tasks)."""
        return np.stack([values.mean(axis=1) for values in self.scores], axis=1)

    @property
    def means(self) -> Float64:
        """The mean of the task means of each model."""
        return np.asarray(self.task_means.mean(axis=1))

    def pair_p_values(self, flips: int = FLIPS) -> Float64:
        """Return the p-value of every pair's difference of group means: (models, models).

        Signs are flipped query by query within each task, so the tasks are taken as given: the test answers whether
        the difference on these tasks could come from their sample of queries.
        """
        if flips not in self._sums:
            sums = np.zeros((self.models - 1, flips))
            for task, values in zip(self.tasks, self.scores, strict=True):
                drawn = difference_sums(values, flips, task_seed(self.seed, task))
                sums += np.divide(drawn, values.shape[1] * len(self.tasks), out=drawn)
            self._sums[flips] = sums
        sums = self._sums[flips]
        gaps = np.abs(self.means[:, None] - self.means[None, :])
        counts = count_pairs(sums, gaps * (1 - 1e-9) - 1e-12)
        p_values = (counts + 1) / (flips + 1)
        np.fill_diagonal(p_values, 1.0)
        return np.asarray(p_values)

    def resampled_means(self, draws: int = DRAWS, *, over_tasks: bool = True) -> Float64:
        """Return bootstrap group means, (models, draws): queries drawn within each task, and the tasks themselves.

        A task that is drawn several times has other queries each time. Without `over_tasks` the tasks are fixed.
        """
        if draws not in self._resampled:
            mixer = _Mixer(self, draws)
            for window in self._windows(draws):
                mixer.add(self._resample(window, draws))
            self._resampled[draws] = mixer.means()
        return self._resampled[draws][int(over_tasks and len(self.tasks) > 1)]

    def task_statistics(
        self, pairs: Sequence[Pair], *, level: float = LEVEL, flips: int = FLIPS, draws: int = DRAWS
    ) -> Iterator[PairStatistics]:
        """Yield the statistics of pairs on every task. What is drawn for them serves the group mean as well."""
        sums, mixer = np.zeros((self.models - 1, flips)), _Mixer(self, draws)
        for window in self._windows(draws):
            tests = {}
            for place in window:
                values, seed = self.scores[place], task_seed(self.seed, self.tasks[place])
                tests[place], drawn = pair_tests(values, flips, seed)
                sums += np.divide(drawn, values.shape[1] * len(self.tasks), out=drawn)
            resampled = self._resample(window, draws)
            statistics: dict[int, PairStatistics] = {}
            for places, scores in self._batches(window):
                means = resampled if len(places) == len(window) else resampled[:, _within(window, places)]
                several = statistics_of_tasks(scores, means, [tests[place] for place in places], tuple(pairs), level)
                statistics |= zip(places, several, strict=True)
            mixer.add(resampled)
            yield from (statistics[place] for place in window)
        self._sums[flips], self._resampled[draws] = sums, mixer.means()

    def _windows(self, draws: int) -> Iterator[range]:
        """Yield the places of tasks that are computed together."""
        step = max(WINDOW // (self.models * draws), 1)
        for start in range(0, len(self.tasks), step):
            yield range(start, min(start + step, len(self.tasks)))

    def _batches(self, window: range) -> Iterator[tuple[list[int], Float64]]:
        """Yield the places of tasks with as many queries, and their scores: (models, tasks, queries)."""
        by_size: dict[int, list[int]] = {}
        for place in window:
            by_size.setdefault(self.scores[place].shape[1], []).append(place)
        for places in by_size.values():
            yield places, np.stack([self.scores[place] for place in places], axis=1)

    def _resample(self, window: range, draws: int) -> Float64:
        """Return the bootstrap means of tasks: (models, tasks, draws)."""
        means = np.empty((self.models, len(window), draws))
        for places, scores in self._batches(window):
            resampled = resampled_means(scores.reshape(-1, scores.shape[2]), draws, self.seed)
            resampled = resampled.reshape(self.models, -1, draws)
            if len(places) == len(window):
                return resampled
            means[:, _within(window, places)] = resampled
        return means

    @cached_property
    def _sums(self) -> dict[int, Float64]:
        """Flipped sums of the group means, as differences from the last model, by the number of flips."""
        return {}

    @cached_property
    def _resampled(self) -> dict[int, tuple[Float64, Float64]]:
        """Means with fixed and with drawn tasks, by the number of draws: both from the same resamples of queries."""
        return {}


def _within(window: range, places: Sequence[int]) -> list[int]:
    return [place - window.start for place in places]


class _Mixer:
    """Bootstrap means of a group from those of its tasks, which are given in order.

    Tasks with as many queries share their resamples (`bootstrap_means`), so each task's are mixed by a permutation of
    its own: a resample of the group then has other queries drawn in every task. For the same reason the resamples of a
    task are moved to its mean: a chance deviation that tasks share would not average out.
    """

    def __init__(self, group: GroupScores, draws: int) -> None:
        self.task_means, self.draws = group.task_means, draws
        self.generator = np.random.default_rng([group.seed, 7])
        tasks = len(group.tasks)
        chosen = self.generator.integers(0, tasks, draws * tasks).astype(np.min_scalar_type(tasks))
        self.resamples = np.argsort(chosen, kind="stable") // tasks
        """The resamples of the group that have drawn the first task, then those that have drawn the second one ..."""
        self.ends = [0, *np.cumsum(np.bincount(chosen, minlength=tasks)).tolist()]
        self.fixed, self.drawn = np.zeros((group.models, draws)), np.zeros((group.models, draws))
        self.added = 0

    def add(self, means: Float64) -> None:
        """Add the bootstrap means of the next tasks: (models, tasks, draws). They are moved to their means in place."""
        first, last = self.added, self.added + means.shape[1]
        means += (self.task_means[:, first:last] - means.mean(axis=2))[:, :, None]
        for place in range(first, last):  # one task at a time: its values stay in the cache of the CPU
            order = self.generator.permutation(self.draws)
            resamples = self.resamples[self.ends[place] : self.ends[place + 1]]
            columns = self.generator.integers(0, self.draws, len(resamples))
            for fixed, drawn, values in zip(self.fixed, self.drawn, means[:, place - first], strict=True):
                fixed += values.take(order)
                drawn += np.bincount(resamples, values.take(columns), minlength=self.draws)
        self.added = last

    def means(self) -> tuple[Float64, Float64]:
        """Return the means with fixed and with drawn tasks."""
        return self.fixed / self.added, self.drawn / self.added


def task_pair_p_values(task_means: npt.ArrayLike, flips: int = FLIPS, seed: int = 0) -> Float64:
    """Return the p-value of every pair with tasks as the unit, from means (models, tasks).

    For groups with tasks whose score is not a mean over queries. Fewer than six tasks can never give p < 0.05.

    >>> task_pair_p_values([[0.5, 0.6, 0.7], [0.4, 0.5, 0.6]]).tolist()
    [[1.0, 0.25], [0.25, 1.0]]
    """
    means = np.asarray(task_means, dtype=np.float64)
    count = len(means)
    matrix = np.ones((count, count))
    upper = np.triu_indices(count, 1)
    if len(upper[0]):
        matrix[upper] = p_values(means[upper[0]] - means[upper[1]], flips, seed)
        matrix.T[upper] = matrix[upper]
    return matrix
