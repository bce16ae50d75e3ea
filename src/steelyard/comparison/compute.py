"""Statistics of aligned per-query scores: per task, overall, and the ranking of all models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan, sqrt

import numpy as np

from steelyard.comparison.model import Difference, Overall, Score, TaskComparison, TaskScores
from steelyard.results import Result
from steelyard.results.ranking import RankedModel, ranked
from steelyard.stats.corrections import benjamini_hochberg, holm
from steelyard.stats.group_means import GroupScores
from steelyard.stats.intervals import DRAWS
from steelyard.stats.pairs import PairStatistics
from steelyard.stats.power import detectable_difference
from steelyard.stats.randomisation import FLIPS
from steelyard.types import Float64


@dataclass(frozen=True)
class Method:
    """How differences are tested; recorded in every output."""

    alpha: float = 0.05
    level: float = 0.95
    flips: int = FLIPS
    draws: int = DRAWS
    seed: int = 0


def model_pairs(count: int) -> list[tuple[int, int]]:
    """Return every pair as (model, baseline): a model is compared with those that were named before it."""
    return [(later, earlier) for earlier, later in combinations(range(count), 2)]


def compared_task(
    task: str,
    metric: str,
    models: Sequence[str],
    cells: Sequence[Result],
    tested: tuple[TaskScores, PairStatistics] | None,
) -> TaskComparison:
    """Return the comparison of one task; `tested` is None if its score is not a mean over queries."""
    scores = _scores(models, cells, metric)
    facts = cells[0].facts
    notes: tuple[str, ...] = ()
    if tested is None:
        differences = tuple(
            Difference(models[a], models[b], scores[models[a]].value - scores[models[b]].value)
            for a, b in model_pairs(len(models))
        )
        queries = facts.queries or facts.samples or 0
        notes = (f"{metric} is not a mean over queries: its difference is not tested",)
    else:
        by_query, statistics = tested
        differences = differences_of(models, statistics)
        queries = len(by_query.ids)
        if np.ptp(by_query.scores) == 0:
            notes = (f"every query has the score {by_query.scores[0, 0]:g} for every model",)
    return TaskComparison(task, metric, facts.type, facts.language, queries, scores, differences, notes)


def _scores(models: Sequence[str], cells: Sequence[Result], metric: str) -> dict[str, Score]:
    scores = {}
    for model, cell in zip(models, cells, strict=True):
        interval = cell.intervals.get(metric)
        value = cell.metrics.get(metric)
        assert value is not None, "tasks without the metric are refused before"
        scores[model] = Score(value, *((interval.low, interval.high) if interval else ()))
    return scores


def differences_of(models: Sequence[str], statistics: PairStatistics) -> tuple[Difference, ...]:
    """Return the statistics of pairs as values; corrections follow once all tests are known."""
    differences = []
    for place, (model, baseline) in enumerate(statistics.pairs):
        effect = float(statistics.effect_size[place])
        differences.append(
            Difference(
                model=models[model],
                baseline=models[baseline],
                difference=float(statistics.difference[place]),
                low=float(statistics.low[place]),
                high=float(statistics.high[place]),
                p_value=float(statistics.p_value[place]),
                effect_size=None if isnan(effect) else effect,
                probability_better=float(statistics.probability[place]),
                wins=int(statistics.wins[place]),
                ties=int(statistics.ties[place]),
                losses=int(statistics.losses[place]),
                detectable=float(statistics.detectable[place]),
            )
        )
    return tuple(differences)


def corrected(differences: Sequence[Difference]) -> list[Difference]:
    """Return the same with p-values corrected over all that were tested."""
    tested = [place for place, one in enumerate(differences) if one.p_value is not None]
    raw = [differences[place].p_value or 0.0 for place in tested]
    adjusted = list(differences)
    for place, by_holm, by_bh in zip(tested, holm(raw).tolist(), benjamini_hochberg(raw).tolist(), strict=True):
        adjusted[place] = replace(differences[place], p_holm=by_holm, p_bh=by_bh)
    return adjusted


def corrected_tasks(tasks: Sequence[TaskComparison]) -> tuple[TaskComparison, ...]:
    """Return the tasks with p-values corrected over all tasks and pairs."""
    every = iter(corrected([one for task in tasks for one in task.differences]))
    return tuple(replace(task, differences=tuple(next(every) for _ in task.differences)) for task in tasks)


def group_scores(by_task: Mapping[str, TaskScores], method: Method) -> GroupScores:
    """Return the scores of all tasks; means and ranks come from the same resamples of its queries."""
    return GroupScores(tuple(by_task), tuple(one.scores for one in by_task.values()), method.seed)


def task_statistics(group: GroupScores, method: Method) -> Iterator[PairStatistics]:
    """Yield the statistics of all pairs of models on every task."""
    pairs = model_pairs(group.models)
    return group.task_statistics(pairs, level=method.level, flips=method.flips, draws=method.draws)


def compare_means(models: Sequence[str], group: GroupScores, method: Method) -> Overall:
    """Return the differences of the means over tasks: tests by query, intervals over queries and over tasks."""
    p_values = group.pair_p_values(method.flips)
    fixed = group.resampled_means(method.draws, over_tasks=False)
    drawn = group.resampled_means(method.draws, over_tasks=True)
    ends = [(1 - method.level) / 2, (1 + method.level) / 2]
    means, task_means = group.means, group.task_means
    group_queries = sum(one.shape[1] for one in group.scores)
    scale = detectable_difference(1.0, group_queries, alpha=1 - method.level) * sqrt(group_queries)
    summaries = []
    for a, b in model_pairs(len(models)):
        gap, by = fixed[a] - fixed[b], task_means[a] - task_means[b]
        low, high = np.quantile(gap, ends).tolist()
        far_low, far_high = np.quantile(drawn[a] - drawn[b], ends).tolist()
        spread = float(by.std(ddof=1)) if len(by) > 1 else 0.0
        summaries.append(
            Difference(
                model=models[a],
                baseline=models[b],
                difference=float(means[a] - means[b]),
                low=low,
                high=high,
                p_value=float(p_values[a, b]),
                effect_size=float(by.mean() / spread) if spread > 1e-15 else None,
                probability_better=_share_above(gap),
                wins=int((by > 1e-12).sum()),
                ties=int((np.abs(by) <= 1e-12).sum()),
                losses=int((by < -1e-12).sum()),
                detectable=float(gap.std()) * scale,
                low_over_tasks=far_low,
                high_over_tasks=far_high,
            )
        )
    bounds = np.quantile(fixed, ends, axis=1)
    scores = {model: Score(float(means[i]), float(bounds[0, i]), float(bounds[1, i])) for i, model in enumerate(models)}
    return Overall(group.tasks, group_queries, scores, tuple(corrected(summaries)))


def _share_above(values: Float64) -> float:
    rounded = values.round(12)
    return float(((rounded > 0).sum() + (rounded == 0).sum() / 2) / len(values))


def ranking(
    models: Sequence[str], group: GroupScores, types: Mapping[str, str], method: Method
) -> tuple[RankedModel, ...]:
    """Return all models by their mean over tasks, with rank intervals and tie groups."""
    kinds = [types[task] for task in group.tasks]
    return ranked(models, group, kinds, level=method.level, alpha=method.alpha, draws=method.draws)
