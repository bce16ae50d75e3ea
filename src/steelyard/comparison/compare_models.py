"""`compare`: collect results, check that they may be compared, compute every difference."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison import compute
from steelyard.comparison.checks import comparable
from steelyard.comparison.comparison import Comparison
from steelyard.comparison.compute import Method
from steelyard.comparison.inputs import Entrant, Source, collect
from steelyard.comparison.loaded_tasks import load_compared
from steelyard.comparison.model import Flag, TaskComparison, TaskScores
from steelyard.comparison.queries import changed_queries
from steelyard.comparison.slices import slice_differences
from steelyard.config import Settings
from steelyard.engine import TaskLike, as_list
from steelyard.engine.events import Listener, silent
from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.metrics import parse
from steelyard.results import Result, Results
from steelyard.results.per_query import Column, aligned, columns, is_mean
from steelyard.results.ranking import compare_rankings
from steelyard.stats.rank_overlap import RankAgreement
from steelyard.vectors.threads import single_threaded_blas

WORKERS = 8
"""Tasks that are compared at the same time, at most."""


def no_report(done: int, total: int) -> None:
    """Report nothing: the default of `on_task`."""


def compare(
    *models: Entrant,
    tasks: TaskLike | Iterable[TaskLike] = (),
    results: str | Path | None = None,
    metric: str | None = None,
    stored: bool = False,
    limit: int | None = None,
    seed: int = 0,
    alpha: float = 0.05,
    queries: int = 0,
    slices: Sequence[str] = (),
    metadata: str | Path | Mapping[str, Mapping[str, Any]] | None = None,
    agreement: str | None = None,
    progress: Listener = silent,
    on_task: Callable[[int, int], None] = no_report,
    settings: Settings | None = None,
    **options: Any,
) -> Comparison:
    """Compare two or more models on the same queries of the same tasks.

    A model is a name, a path (a folder of results, a result file, a saved run, a TREC run, a baseline), a `Result`, or
    several in a sequence such as `Results`. The difference of a pair is the later model minus the earlier one. Missing
    results of models given by name are evaluated first, and stored in the folder `results`; with `stored`, they are
    refused. `queries` lists so many queries that changed most; `slices` divides the queries by `language`, `length`,
    `positives`, `overlap`, or any column of `metadata`; `agreement`, a metric or tasks, measures whether the models
    are ranked alike by it. `on_task` is called with the number of compared tasks and their total. Further options are
    those of `steelyard.evaluate`.

    >>> from steelyard.types import Task
    >>> texts = {"nile": "The Nile is a river in Africa.", "alps": "The Alps are mountains in Europe."}
    >>> asked = {"q1": "longest river", "q2": "tall peaks"}
    >>> task = Task.of("Mine/geography", texts, asked, {"q1": {"nile": 1}, "q2": {"alps": 1}}, language="en")
    >>> compare("bm25", "bm25?k1=0.9", tasks=task).tasks[0].differences[0].p_value
    1.0
    """
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must be between 0 and 1, got {alpha}", hint="0.05 is usual")
    listed: list[TaskLike] = as_list(tasks)
    folder = None if results is None else Path(results).expanduser()
    name = None if metric is None else str(parse(metric))
    settings = settings or Settings.load()
    source = Source(listed, folder, name, stored, limit, seed, queries > 0, options, progress, settings)
    names, view = collect(models, source)
    comparison, cells = from_results(names, view, metric=name, method=Method(alpha=alpha), on_task=on_task)
    if agreement is not None:
        comparison = replace(comparison, agreement=_agreement(agreement, models, names, view, source))
    if not queries and not slices:
        return comparison
    loaded = load_compared(cells, listed, settings)
    changed = changed_queries(comparison, cells, loaded, queries) if queries else ()
    parts = slice_differences(comparison, loaded, slices, metadata) if slices else ()
    return replace(comparison, queries=changed, slices=parts)


def _agreement(
    other: str, models: Sequence[Entrant], names: Sequence[str], view: Results, source: Source
) -> RankAgreement:
    """Return the agreement of the ranking with that by another metric, or on other tasks."""
    if len(names) < 3:
        raise UsageError(
            f"the agreement of rankings needs at least 3 models, got {len(names)}", hint="name more models"
        )
    try:
        metric = str(parse(other))
    except UnknownName:
        _, second = collect(models, replace(source, tasks=[other]))
        return compare_rankings(view, second, source.metric)
    if not any(metric in result.metrics for result in view):
        _, view = collect(models, replace(source, metric=metric))
    return compare_rankings(view, view, source.metric, metric)


def from_results(
    models: Sequence[str],
    view: Results,
    *,
    metric: str | None = None,
    method: Method | None = None,
    on_task: Callable[[int, int], None] = no_report,
) -> tuple[Comparison, dict[str, list[Result]]]:
    """Compare models by their results; return the comparison and the compared results of each task.

    Errors: fewer than two models, no common task, other queries, one query, NaN, no variation at all.
    """
    method = method or Method()
    if len(models) < 2:
        raise UsageError(
            f"a comparison needs at least 2 models, got {len(models)}", hint="name another model, folder or run"
        )
    cells, flags = comparable(view, models, metric)
    if not cells:
        raise DataError(_no_common_task(models, flags), hint="evaluate all models on the same tasks and conditions")
    tested: dict[str, TaskScores] = {}
    for task, results in cells.items():
        scores = _aligned(task, metric or results[0].main_metric, models, results)
        if scores is not None:
            tested[task] = scores
    _refuse_constant(tested)

    def compare_one(task: str) -> TaskComparison:
        name = metric or cells[task][0].main_metric
        if task not in tested:
            return compute.untested_task(task, name, models, cells[task])
        return compute.compare_task(task, name, models, cells[task], tested[task], method)

    with single_threaded_blas(), ThreadPoolExecutor(min(os.cpu_count() or 1, WORKERS)) as pool:
        compared: list[TaskComparison] = []
        for one in pool.map(compare_one, cells):
            compared.append(one)
            on_task(len(compared), len(cells))
        group = compute.group_scores(tested, method) if tested else None
        overall = compute.compare_means(models, group, method) if group else None
        types = {task.task: task.type for task in compared}
        ranking = compute.ranking(models, group, types, method) if group else ()
    comparison = Comparison(
        models=tuple(models),
        tasks=compute.corrected_tasks(compared),
        overall=overall,
        ranking=ranking,
        flags=tuple(flags) + _left_out(compared, tested),
        method=method,
        scores=tested,
    )
    return comparison, cells


def _aligned(task: str, metric: str, models: Sequence[str], cells: Sequence[Result]) -> TaskScores | None:
    """Return the scores of all models by query; None if the score is not a mean over queries."""
    by_model: dict[str, Column] = {}
    for model, cell in zip(models, cells, strict=True):
        column = columns(cell, [metric]).get(metric)
        if column is None:
            return None
        if len(odd := np.flatnonzero(~np.isfinite(column.values))):
            raise DataError(
                f"{metric} of {model} must be a finite number for every query, got {column.values[odd[0]]} for query "
                f"{column.ids[odd[0]]!r}",
                where=task,
                hint="check the metric",
            )
        if not is_mean(column, cell.metrics.get(metric)):
            return None
        by_model[model] = column
    ids, scores = aligned(by_model, where=task)
    if len(ids) < 2:
        raise DataError(
            f"a paired comparison needs at least 2 queries, got {len(ids)}",
            where=task,
            hint="use a task with more queries, or a larger --limit",
        )
    return TaskScores(ids, scores)


def _refuse_constant(tested: Mapping[str, TaskScores]) -> None:
    if tested and all(np.ptp(one.scores) == 0 for one in tested.values()):
        task, one = next(iter(tested.items()))
        raise DataError(
            f"every query has the same score {one.scores[0, 0]:g} for every model: nothing can be compared",
            where=task,
            hint="choose another --metric, or harder tasks",
        )


def _left_out(compared: Sequence[TaskComparison], tested: Mapping[str, TaskScores]) -> tuple[Flag, ...]:
    return tuple(
        Flag(task.task, f"{task.metric} is not a mean over queries: not tested, and not in the mean", refused=False)
        for task in compared
        if task.task not in tested
    )


def _no_common_task(models: Sequence[str], flags: Sequence[Flag]) -> str:
    reasons = "; ".join(f"{flag.task}: {flag.reason}" for flag in flags[:3])
    more = f" and {len(flags) - 3} more tasks" if len(flags) > 3 else ""
    return f"{', '.join(models)} have no task that can be compared ({reasons}{more})"
