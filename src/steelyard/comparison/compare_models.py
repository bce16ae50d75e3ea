"""`compare`: collect results, check that they may be compared, compute every difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison import compute
from steelyard.comparison.changed_queries import changed_queries
from steelyard.comparison.comparison import Comparison
from steelyard.comparison.compute import Method
from steelyard.comparison.inputs import Entrant, Source, collect, divided
from steelyard.comparison.loaded_tasks import load_compared
from steelyard.comparison.model import Flag, TaskComparison, TaskScores
from steelyard.comparison.slices import slice_differences
from steelyard.config import Settings
from steelyard.engine import TaskLike, as_list
from steelyard.engine.events import Listener, silent
from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.files import with_home
from steelyard.metrics import parse
from steelyard.results import Result, Results
from steelyard.results.keys import result_key
from steelyard.results.per_query import Column, aligned, columns, is_mean
from steelyard.results.ranking import compare_rankings
from steelyard.retrievers.objects.entrants import Passages, passage_lengths
from steelyard.stats.pairs import PairStatistics
from steelyard.stats.rank_overlap import RankAgreement


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
    chunk: Passages = (),
    overlap: int = 0,
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
    refused. `chunk` makes a model of each length of passages, as in `evaluate`. `queries` lists so many queries
    that changed most; `slices` divides the queries by `language`, `length`, `positives`, `overlap`, or any column
    of `metadata`; `agreement`, a metric or tasks, measures whether the models are ranked alike by it. `on_task` is
    called with the number of compared tasks and their total. Further options are those of `steelyard.evaluate`.

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
    folder = None if results is None else with_home(results)
    name = None if metric is None else str(parse(metric))
    settings = settings or Settings.load()
    source = Source(listed, folder, name, stored, limit, seed, queries > 0, options, progress, settings)
    models = tuple(divided(models, passage_lengths(chunk), overlap))
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

    statistics: dict[str, tuple[TaskScores, PairStatistics]] = {}
    group = compute.group_scores(tested, method) if tested else None
    drawn = compute.task_statistics(group, method) if group else ()
    for task, one in zip(tested, drawn, strict=True):
        statistics[task] = tested[task], one
        on_task(len(statistics), len(tested))
    compared = [
        compute.compared_task(task, metric or results[0].main_metric, models, results, statistics.get(task))
        for task, results in cells.items()
    ]
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
        if is_mean(column, cell.metrics.get(metric)):
            by_model[model] = column
            continue
        if not np.isfinite(column.values).all():
            odd = np.flatnonzero(~np.isfinite(column.values))
            raise DataError(
                f"{metric} of {model} must be a finite number for every query, got {column.values[odd[0]]} for query "
                f"{column.ids[odd[0]]!r}",
                where=task,
                hint="check the metric",
            )
        return None
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


USUAL_PROFILE = "mteb-2.26"


def comparable(view: Results, models: Sequence[str], metric: str | None) -> tuple[dict[str, list[Result]], list[Flag]]:
    """Return the comparable tasks with one result of each model, and a flag for everything else.

    A task that some models do not have, or have on other data, with another limit, metric or mteb profile, is refused
    by name. A difference that does not change the score, such as the depth of lists beyond the cut-off, is flagged.
    """
    tasks: dict[str, list[Result]] = {}
    flags: list[Flag] = []
    labels_of: dict[str, dict[str, None]] = {}
    for result in view:
        labels_of.setdefault(result.task, {})[view.label_of(result)] = None
    for name, labels in labels_of.items():
        whole = [label for label in labels if all(_finished(view, label, model) for model in models)]
        if not whole:
            flags.append(Flag(name, _why_missing(view, name, labels, models), refused=True))
        for label in whole:
            cells = [cell for model in models if (cell := view.cell(label, model)) is not None]
            if reason := _conflict(cells, models, metric):
                flags.append(Flag(label, reason, refused=True))
            else:
                tasks[label] = cells
                flags.extend(Flag(label, remark, refused=False) for remark in _remarks(cells, models))
    return tasks, flags


def _finished(view: Results, label: str, model: str) -> bool:
    cell = view.cell(label, model)
    return cell is not None and cell.done


def _why_missing(view: Results, name: str, labels: Iterable[str], models: Sequence[str]) -> str:
    """Return why no data under this name has a result of every model."""
    cells = {
        model: [cell for label in labels if (cell := view.cell(label, model)) is not None and cell.done]
        for model in models
    }
    missing = [model for model, stored in cells.items() if not stored]
    if missing:
        return f"no finished result of {', '.join(missing)}"
    limits = {model: stored[-1].facts.limit for model, stored in cells.items()}
    if len(set(limits.values())) > 1:
        return f"other limit of queries: {_listed(limits)}"
    seeds = {model: stored[-1].settings.get("seed") for model, stored in cells.items()}
    if len(set(seeds.values())) > 1:
        return f"other seed of the sample of queries: {_listed(seeds)}"
    revisions = {model: stored[-1].facts.revision for model, stored in cells.items()}
    if len(set(revisions.values())) > 1:
        return f"other revision of the data: {_listed(revisions)}"
    hashes = {model: (stored[-1].facts.data_hash or "unknown")[:8] for model, stored in cells.items()}
    return f"other data under the same name (content hash): {_listed(hashes)}"


def _conflict(cells: Sequence[Result], models: Sequence[str], metric: str | None) -> str | None:
    """Return the difference in conditions that forbids to compare these results."""
    profiles = {m: cell.settings.get("profile", USUAL_PROFILE) for m, cell in zip(models, cells, strict=True)}
    if len(set(profiles.values())) > 1:
        return f"other mteb profile: {_listed(profiles)}"
    if metric is None:
        mains = {m: cell.main_metric for m, cell in zip(models, cells, strict=True)}
        if len(set(mains.values())) > 1:
            return f"other main metric: {_listed(mains)}"
    name = metric or cells[0].main_metric
    without = [m for m, cell in zip(models, cells, strict=True) if cell.metrics.get(name) is None]
    if without:
        return f"no {name} in the results of {', '.join(without)}"
    own = {m: cell.facts.ignore_identical_ids for m, cell in zip(models, cells, strict=True)}
    if len(set(own.values())) > 1:
        return f"other handling of documents with the id of the query: {_listed(own)}"
    if older := _scored_otherwise(cells, models):
        return f"other definition of the metrics: {', '.join(older)} was scored by another version of Steelyard"
    lists = {m: _candidates(cell) for m, cell in zip(models, cells, strict=True)}
    named = {value for value in lists.values() if value is not None}
    if len(named) > 1:
        return f"other candidate list: {_listed(lists)}"
    return None


def _scored_otherwise(cells: Sequence[Result], models: Sequence[str]) -> list[str]:
    """Return the models whose key has another version of the scoring than the present one, if not all have."""
    first = cells[0]
    if all((cell.key, cell.settings, cell.facts) == (first.key, first.settings, first.facts) for cell in cells):
        return []
    keys = [result_key(cell.settings, cell.task, cell.facts) for cell in cells]
    older = [model for model, cell, key in zip(models, cells, keys, strict=True) if cell.key != key]
    return older if len(older) < len(cells) else []


def _remarks(cells: Sequence[Result], models: Sequence[str]) -> list[str]:
    """Return the differences in conditions that a reader should know of."""
    remarks = []
    depths = {m: cell.settings.get("top_k") for m, cell in zip(models, cells, strict=True)}
    if len({depth for depth in depths.values() if depth is not None}) > 1:
        remarks.append(f"other depth of lists (top_k): {_listed(depths)}")
    lists = {m: _candidates(cell) for m, cell in zip(models, cells, strict=True)}
    if len(set(lists.values())) > 1:
        remarks.append(f"only some models rank a candidate list: {_listed(lists)}")
    if any(cell.partial for cell in cells):
        remarks.append(f"partial: a sample of {cells[0].facts.queries} of {cells[0].facts.queries_in_full} queries")
    return remarks


def _candidates(cell: Result) -> str | None:
    """Return the name of the candidate list that a reranker without a first stage ranked."""
    return _find(cell.settings.get("model_settings"), "candidates")


def _find(settings: Any, name: str) -> str | None:
    if isinstance(settings, Mapping):
        if isinstance(settings.get(name), str):
            return str(settings[name])
        parts: Sequence[Any] = list(settings.values())
    elif isinstance(settings, list | tuple):
        parts = settings
    else:
        return None
    return next((value for part in parts if (value := _find(part, name)) is not None), None)


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{model} {'none' if value is None else value}" for model, value in values.items())
