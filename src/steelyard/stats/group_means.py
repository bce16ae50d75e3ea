"""Means over several tasks: their paired tests, and their uncertainty over queries and over tasks.

A group mean is the mean of the task means: every task counts alike, however many queries it has. All functions take
one (models, queries) matrix of scores for each task, with the same models in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

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
from steelyard.stats.randomisation import FLIPS, count_pairs, difference_sums, p_values, pair_tests, sign_changes
from steelyard.types import Float64

Integers = npt.NDArray[np.int64]
WINDOW = 1 << 21
"""Numbers that are drawn at a time: for 104 tasks with two models, for three tasks with 55."""


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
            changes, group = sign_changes(flips, self.seed), _GroupSums(self, flips)
            for window in self._windows(flips):
                for place, sums in zip(window, difference_sums(self._scores(window), changes), strict=True):
                    group.add(place, sums)
            self._sums[flips] = group.sums
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
        changes, group, mixer = sign_changes(flips, self.seed), _GroupSums(self, flips), _Mixer(self, draws)
        for window in self._windows(max(flips, draws)):
            results, drawn = pair_tests(self._scores(window), changes)
            tests = dict(zip(window, results, strict=True))
            for place, sums in zip(window, drawn, strict=True):
                group.add(place, sums)
            resampled = self._resample(window, draws)
            statistics: dict[int, PairStatistics] = {}
            for places, scores in self._batches(window):
                means = resampled if len(places) == len(window) else resampled[:, _within(window, places)]
                several = statistics_of_tasks(scores, means, [tests[place] for place in places], tuple(pairs), level)
                statistics |= zip(places, several, strict=True)
            mixer.add(resampled)
            yield from (statistics[place] for place in window)
        self._sums[flips], self._resampled[draws] = group.sums, mixer.means()

    def _windows(self, columns: int) -> Iterator[range]:
        """Yield the places of tasks that are computed together, with so many columns of each model."""
        step = max(WINDOW // (self.models * columns), 1)
        for start in range(0, len(self.tasks), step):
            yield range(start, min(start + step, len(self.tasks)))

    def _scores(self, window: range) -> tuple[Float64, ...]:
        return self.scores[window.start : window.stop]

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


def _offsets(generator: np.random.Generator, tasks: int, draws: int) -> Integers:
    """Return by how many columns the draws of each task are moved: no two tasks alike, if there are enough draws."""
    return generator.permutation(draws)[:tasks] if tasks <= draws else generator.integers(0, draws, tasks)


def _add_moved(total: Float64, values: Float64, offset: int) -> None:
    """Add values whose last axis is moved by so many places, in a circle."""
    total[..., offset:] += values[..., : values.shape[-1] - offset]
    total[..., :offset] += values[..., values.shape[-1] - offset :]


def _within(window: range, places: Sequence[int]) -> list[int]:
    return [place - window.start for place in places]


class _GroupSums:
    """Sums of a group mean after random sign changes, from those of its tasks.

    Tasks share their sign changes, so in the n-th draw of the group every task has another one of them, and all its
    signs are reversed or not at random: in each draw the signs of all queries are independent. Two draws have the sign
    change of some task in common with another task, which makes them correlated by less than 1 / flips.
    """

    def __init__(self, group: GroupScores, flips: int) -> None:
        self.group, self.sums = group, np.zeros((group.models - 1, flips))
        generator, tasks = np.random.default_rng([group.seed, 11]), len(group.tasks)
        by_name = np.argsort(sorted(range(tasks), key=group.tasks.__getitem__))  # the order of tasks does not matter
        self.offsets = _offsets(generator, tasks, flips)[by_name]
        self.reversals = np.frombuffer(generator.bytes(tasks * -(-flips // 8)), np.uint8).reshape(tasks, -1)[by_name]

    def add(self, place: int, sums: Float64) -> None:
        """Add the sums of the task at this place: (models - 1, flips). They are changed in place."""
        weight = 1 / (self.group.scores[place].shape[1] * len(self.group.tasks))
        sums *= np.array([weight, -weight]).take(np.unpackbits(self.reversals[place], count=sums.shape[1]))
        _add_moved(self.sums, sums, self.offsets[place])


class _Mixer:
    """Bootstrap means of a group from those of its tasks, which are given in order.

    Tasks with as many queries share their resamples (`bootstrap_means`), so in the n-th one of the group every task has
    another one of them: a resample of the group has other queries drawn in every task. For the same reason the means of
    a task are moved to its mean: a chance deviation that tasks share would not average out.
    """

    def __init__(self, group: GroupScores, draws: int) -> None:
        self.task_means, self.draws = group.task_means, draws
        self.resamples, self.columns, self.ends, self.offsets = _drawn_tasks(len(group.tasks), draws, group.seed)
        self.fixed, self.drawn = np.zeros((group.models, draws)), np.zeros((group.models, draws))
        self.added = 0

    def add(self, means: Float64) -> None:
        """Add the bootstrap means of the next tasks: (models, tasks, draws). They are moved to their means in place."""
        first, last = self.added, self.added + means.shape[1]
        means += (self.task_means[:, first:last] - means.mean(axis=2))[:, :, None]
        chosen = slice(self.ends[first], self.ends[last])
        columns = self.columns[chosen] - first * self.draws
        for fixed, drawn, values in zip(self.fixed, self.drawn, means, strict=True):
            for offset, one in zip(self.offsets[first:last], values, strict=True):
                _add_moved(fixed, one, offset)
            drawn += np.bincount(self.resamples[chosen], values.ravel().take(columns), minlength=self.draws)
        self.added = last

    def means(self) -> tuple[Float64, Float64]:
        """Return the means with fixed and with drawn tasks."""
        return self.fixed / self.added, self.drawn / self.added


@lru_cache(maxsize=1)  # the same for all comparisons on as many tasks
def _drawn_tasks(tasks: int, draws: int, seed: int) -> tuple[Integers, Integers, list[int], Integers]:
    """Draw `tasks` tasks for every resample of the group, and one of the resamples of each task that was drawn.

    They are ordered by task: the number of the group's resample, the task's resample (as a place among those of all
    tasks), and where each task begins. Last, the offset of each task, for resamples that have every task once.
    """
    generator = np.random.default_rng([seed, 7])
    chosen = generator.integers(0, tasks, draws * tasks).astype(np.min_scalar_type(tasks))
    order = np.argsort(chosen, kind="stable")
    columns = generator.integers(0, draws, draws * tasks) + chosen[order].astype(np.int64) * draws
    ends = [0, *np.cumsum(np.bincount(chosen, minlength=tasks)).tolist()]
    return order // tasks, columns, ends, _offsets(generator, tasks, draws)


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
