"""`recommend`: evaluate every choice from one encoding, measure its costs, and name the one to ship."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.engine import as_list, evaluate, expand
from steelyard.engine.batch import load_models
from steelyard.engine.events import Listener, silent
from steelyard.engine.plan import Model
from steelyard.errors import DataError, UsageError
from steelyard.recommendation.constraints import Choice, Constraints
from steelyard.recommendation.costs import Costs
from steelyard.recommendation.expansion import Grid, choices, installed_models
from steelyard.recommendation.latency import Sampling
from steelyard.recommendation.measure_models import Report, largest_task, measure_models
from steelyard.recommendation.recommendations import Cheapest, Recommendation, check_rule
from steelyard.results import Results
from steelyard.retrievers.model_variants import with_chunks
from steelyard.retrievers.objects.entrants import Passages, passage_lengths
from steelyard.spec import ModelSpec
from steelyard.stats.group_means import GroupScores
from steelyard.types import Float64, Interval, Task

LEVEL = 0.95


def recommend(
    models: str | ModelSpec | Iterable[str | ModelSpec] | None = None,
    tasks: str | Path | Task | Iterable[str | Path | Task] = "builtin",
    *,
    grid: Grid | None = None,
    constraints: Constraints | None = None,
    cheapest: Cheapest = "balanced",
    max_loss: float | None = None,
    metric: str | None = None,
    limit: int | None = None,
    chunk: Passages = (),
    overlap: int = 0,
    sampling: Sampling | None = None,
    remeasure: bool = False,
    results: str | Path | None = None,
    progress: Listener = silent,
    report: Report = lambda line: None,
    settings: Settings | None = None,
) -> Recommendation:
    """Evaluate models with their dimensions, precisions, fusions and rerank depths, and recommend one of them.

    Without `models`, those that can run on this machine are taken. Latency, sizes and prices are measured on the task
    with the largest corpus, once on each machine: `remeasure` measures them again. `chunk` makes a model of each length
    of passages, as in `evaluate`. Quality is the mean over the tasks; which choices are as good as the best is decided
    by paired randomisation tests, or, with `max_loss`, by the 95 % interval of their difference to the best, which must
    exclude a larger loss. `report` gets one line for each step that takes time.
    """
    check_rule(cheapest, max_loss)
    listed: list[str | ModelSpec] = [*installed_models()] if models is None else as_list(models)
    named = with_chunks(listed, passage_lengths(chunk), overlap) if chunk or overlap else listed
    settings = settings or Settings.load()
    references = expand(as_list(tasks), settings=settings)
    every, offered = choices(named, grid)
    loaded = load_models(
        every,
        offered=offered,
        leave_out=lambda unfit: report(f"left out: {unfit.message}"),
        listen=progress,
        settings=settings,
    )
    ready, failed = _ready(loaded)
    _check_queries(largest_task(references, limit, settings))
    evaluated = evaluate(
        [model.retriever for model in ready if model.retriever is not None],
        references,
        warn=False,
        metrics=metric or (),
        limit=limit,
        results=results,
        progress=progress,
        settings=settings,
    )
    failed |= {
        result.model: str(result.error) for result in evaluated.failures if result.facts.type in ("retrieval", "")
    }
    complete = Results(result for result in evaluated if result.model not in failed)
    measuring: dict[str, Any] = {"sampling": sampling, "reuse": not remeasure, "report": report, "settings": settings}
    costs = measure_models(ready, references, limit, failed=failed, **measuring)
    ranked = _ranked(complete, costs, metric)
    return Recommendation(ranked, complete, constraints or Constraints(), cheapest, metric, failed, max_loss)


def _ready(loaded: Sequence[Model]) -> tuple[list[Model], dict[str, str]]:
    """Return the models that were loaded, and why others were not; none at all is an error."""
    failed = {model.name: str(model.failure) for model in loaded if model.failure is not None}
    ready = [model for model in loaded if model.retriever is not None]
    if not ready:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        raise UsageError(f"no model could be loaded: {reasons}", hint="name one that is installed, such as bm25")
    return ready, failed


def _check_queries(task: Task) -> None:
    """Raise an error for a task on which no two choices can be distinguished, before anything is evaluated."""
    if len(task.queries) < 2:
        raise DataError.invalid(
            f"the number of queries of {task.name}",
            expected="at least 2",
            found=len(task.queries),
            hint="use a task with more queries, or a larger --limit",
        )


def _ranked(results: Results, costs: dict[str, Costs], metric: str | None) -> tuple[Choice, ...]:
    """Return the choices with quality, interval and costs, the highest quality first."""
    means = results.means(metric)
    if not means:
        raise DataError("the choices have no common task with scores", hint="see the failures: steelyard list results")
    labels = results.common_tasks(metric)
    models = list(means)
    matrices = []
    for label in labels:
        columns = results.query_columns(label, metric)
        if all(model in columns for model in models):
            matrices.append(np.stack([columns[model].values for model in models]))
    resampled: dict[str, Float64] = {}
    if len(matrices) == len(labels):  # a score that is not a mean over queries has no interval here
        group = GroupScores(tuple(labels), tuple(matrices))
        resampled = dict(zip(models, group.resampled_means(over_tasks=False), strict=True))
    ranked = []
    for model in costs:
        if model in means:
            low, high = np.quantile(resampled.get(model, means[model]), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            interval = Interval(float(low), float(high), LEVEL)
            ranked.append(Choice(model, means[model], interval, costs[model], resampled.get(model)))
    return tuple(sorted(ranked, key=lambda choice: (-choice.quality, choice.model)))
