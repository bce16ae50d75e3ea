"""Means over several tasks: their paired tests, and their uncertainty over queries and over tasks.

A group mean is the mean of the task means: every task counts alike, however many queries it has. All functions take
one (models, queries) matrix of scores for each task, with the same models in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.stats.intervals import DRAWS
from steelyard.stats.pairs import checked_scores
from steelyard.stats.randomisation import FLIPS, count_pairs, flipped_sums, p_values
from steelyard.types import Float64


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
        if flips not in self._p_values:
            self._p_values[flips] = self._test_pairs(flips)
        return self._p_values[flips]

    @cached_property
    def _p_values(self) -> dict[int, Float64]:
        return {}

    def _test_pairs(self, flips: int) -> Float64:
        sums = np.zeros((self.models, flips))
        for task, values in zip(self.tasks, self.scores, strict=True):
            sums += flipped_sums(values / (values.shape[1] * len(self.tasks)), flips, task_seed(self.seed, task))
        gaps = np.abs(self.means[:, None] - self.means[None, :])
        counts = count_pairs(sums, gaps * (1 - 1e-9) - 1e-12)
        found = (counts + 1) / (flips + 1)
        np.fill_diagonal(found, 1.0)
        return np.asarray(found)

    def resampled_tasks(self, draws: int = DRAWS) -> Iterator[Float64]:
        """Yield the bootstrap means of every task over its queries: one (models, draws) matrix for each task."""
        for task, values in zip(self.tasks, self.scores, strict=True):
            generator = np.random.default_rng(task_seed(self.seed + 1, task))
            yield values @ query_weights(generator, values.shape[1], draws)

    def resampled_means(self, draws: int = DRAWS, *, over_tasks: bool = True) -> Float64:
        """Return bootstrap group means, (models, draws): queries drawn within each task, and the tasks themselves.

        A task that is drawn several times has new queries each time. Without `over_tasks` the tasks are fixed.
        """
        if draws not in self._resampled:
            self._resampled[draws] = self._resample(draws)
        return self._resampled[draws][int(over_tasks and len(self.tasks) > 1)]

    @cached_property
    def _resampled(self) -> dict[int, tuple[Float64, Float64]]:
        """Means with fixed and with drawn tasks by draws: both from the same resamples of the queries."""
        return {}

    def _resample(self, draws: int) -> tuple[Float64, Float64]:
        tasks = len(self.tasks)
        chosen = np.random.default_rng([self.seed, 7]).integers(0, tasks, (draws, tasks))
        counts = np.zeros((draws, tasks), dtype=np.int64)
        np.add.at(counts, (np.arange(draws)[:, None], chosen), 1)
        fixed, drawn = np.zeros((self.models, draws)), np.zeros((self.models, draws))
        for place, means in enumerate(self.resampled_tasks(draws)):
            fixed += means
            for repeat in range(int(counts[:, place].max())):  # another resample of the queries for each repeat
                drawn += np.roll(means, 101 * repeat, axis=1) * (counts[:, place] > repeat)
        return fixed / tasks, drawn / tasks


def query_weights(generator: np.random.Generator, queries: int, draws: int) -> Float64:
    """Return how often each query was drawn, divided by their number: (queries, draws)."""
    picks = generator.integers(0, queries, (draws, queries)) + np.arange(draws)[:, None] * queries
    counts = np.bincount(picks.ravel(), minlength=draws * queries).reshape(draws, queries)
    return np.ascontiguousarray(counts.T / queries)


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
