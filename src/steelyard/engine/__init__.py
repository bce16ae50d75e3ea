"""The engine joins data, models, metrics and results. `evaluate` is its entry point."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, TypeVar, cast

from steelyard.config import Settings
from steelyard.datasets.options import Generation, LoadOptions
from steelyard.engine.batch import Batch, load_models
from steelyard.engine.check import check_task
from steelyard.engine.events import Listener, silent
from steelyard.engine.executors import LOCAL, run_batch
from steelyard.engine.plan import (
    PROFILES,
    STRATEGIES,
    TOP_K,
    Conditions,
    OverwriteStrategy,
    Profile,
    ResultLookup,
    SaveRuns,
)
from steelyard.engine.runs import FORMS
from steelyard.errors import EvaluationWarning, UsageError
from steelyard.files import with_home
from steelyard.metrics import Metric
from steelyard.metrics.function_metric import MetricFunction, metric_of
from steelyard.results import Results, ResultStore
from steelyard.results.display.text_table import failure_lines
from steelyard.retrievers.objects.entrants import Numbers, Passages, collect_entrants, passage_lengths
from steelyard.spec import ModelSpec
from steelyard.types.protocols import Retriever
from steelyard.types.samples import AnyTask

__all__ = ["Results", "evaluate"]

T = TypeVar("T")
AnyModel = str | ModelSpec | Retriever
AnyMetric = str | Metric | MetricFunction
TaskLike = str | Path | AnyTask | Any
TASKS = "for example 'NanoAlmanac/en', or several in a list"


def evaluate(
    models: Any,
    tasks: TaskLike | Iterable[TaskLike] = "builtin",
    *,
    metrics: AnyMetric | Iterable[AnyMetric] = (),
    top_k: int = TOP_K,
    limit: int | None = None,
    seed: int = 0,
    profile: Profile = PROFILES[0],
    eval_splits: Sequence[str] = (),
    candidates: str | None = None,
    depths: Sequence[int] = (),
    chunk: Passages = (),
    overlap: int = 0,
    truncate_dim: Numbers | None = None,
    precision: Numbers | None = None,
    rescore: Numbers | None = None,
    results: str | Path | None = None,
    overwrite_strategy: OverwriteStrategy = "only-missing",
    save_runs: SaveRuns | None = None,
    warn: bool = True,
    progress: Listener = silent,
    executor: str = LOCAL,
    settings: Settings | None = None,
) -> Results:
    """Evaluate models on tasks and return every result; a failure is one of them, and an EvaluationWarning with `warn`.

    A model is a name (`bm25`, `[bm25, dense] > rerank:ID`); a SentenceTransformer, SparseEncoder, MultiVectorEncoder or
    CrossEncoder (after BM25, or as `("dense:ID", cross_encoder)`); an embeddings object of LangChain or LlamaIndex; a
    function of texts; a run `{query: {document: score}}`; the path of saved vectors, or `{"documents": {id: vector},
    "queries": {id: vector}}`; or any object that meets `protocols.Retriever` or `protocols.Encoder`. A dictionary gives
    names of one's own: `{"mini": MODEL, "base": MODEL}`. A task is a name, a group, a path or a `Task`, which is
    checked as files are. Give several of either in a list. The default metrics are always computed; `metrics` adds to
    them, by name or as a function of the grades of a list and of all grades of the query. `truncate_dim`, `precision`
    and `rescore` also evaluate dense models in these variants. With `results`, a folder, every result is stored as soon
    as it is ready, and stored results are not computed again. `candidates` names the lists of the tasks that a reranker
    without a first stage ranks; `depths` makes a model of each depth of a pipeline's last stage, all from one scoring
    of the pairs; `chunk` makes a model of each length of passages (`[128, 256, None]`: None is the whole document), and
    `overlap` is what neighbours share; `profile` is the mteb version of the `mteb` scores.
    Tasks of C-MTEB and mteb are evaluated on every split that mteb evaluates, or on `eval_splits`. `executor` is where:
    `local`, `processes`, `ray` or `slurm`. `settings` are device, network, hub and cache (default: `Settings.load()`).

    >>> from steelyard.types import Task
    >>> corpus = {"nile": "The Nile is a river in Africa.", "alps": "The Alps are mountains in Europe."}
    >>> task = Task.of("Mine/geography", corpus, {"q1": "longest river"}, {"q1": {"nile": 1}}, language="en")
    >>> print(evaluate("bm25", task))
    nDCG@10         bm25
    --------------  --------------
    Mine/geography  1.0000  ±0.500
    """
    conditions = conditions_of(metrics, top_k=top_k, limit=limit, seed=seed, profile=profile)
    lookup = lookup_of(results, overwrite_strategy, save_runs)
    variants = {"truncate_dim": truncate_dim, "precision": precision, "rescore": rescore}
    chosen = candidates, depths, variants, (chunk, overlap), eval_splits
    batch = batch_of(models, tasks, conditions, lookup, chosen, progress, settings)
    collected = Results(run_batch(batch, executor))
    for line in failure_lines(collected) if warn else ():
        warnings.warn(line, EvaluationWarning, stacklevel=2)
    return collected


def batch_of(
    models: Any,
    tasks: TaskLike | Iterable[TaskLike],
    conditions: Conditions,
    lookup: ResultLookup,
    chosen: tuple[str | None, Sequence[int], Mapping[str, Numbers | None], tuple[Passages, int], Sequence[str]],
    progress: Listener,
    settings: Settings | None,
) -> Batch:
    """Load the models and return the batch; `chosen` are candidates, depths, variants, passages and splits."""
    candidates, depths, variants, passages, eval_splits = chosen
    settings, lengths = settings or Settings.load(), (passage_lengths(passages[0]), passages[1])
    entrants = collect_entrants(models, candidates, depths, options=variants, passages=lengths, settings=settings)
    loaded = load_models(
        entrants.models, offered=entrants.offered, labels=entrants.labels, listen=progress, settings=settings
    )
    named = expand(task_list(tasks), eval_splits=eval_splits, generation=conditions.generation, settings=settings)
    return Batch(loaded, named, conditions, lookup, progress, settings)


def conditions_of(metrics: AnyMetric | Iterable[AnyMetric], **conditions: Any) -> Conditions:
    """Return checked conditions; metrics by name, as a Metric or as a function."""
    return Conditions.of(metrics=_metrics(metrics), **conditions)


def lookup_of(results: str | Path | None, strategy: OverwriteStrategy, save_runs: SaveRuns | None) -> ResultLookup:
    """Return the look-up of stored results in a folder; None: nothing is stored."""
    _check_choice("overwrite_strategy", strategy, STRATEGIES)
    if save_runs is not None:
        _check_choice("save_runs", save_runs, FORMS)
    if save_runs and results is None:
        raise UsageError("save_runs needs a folder of results", hint="add results=FOLDER", option="save_runs")
    return ResultLookup(None if results is None else ResultStore(with_home(results)), strategy, save_runs)


def _check_choice(option: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError.invalid(option, expected=f"one of {', '.join(known)}", found=value, option=option)


def _metrics(metrics: AnyMetric | Iterable[AnyMetric]) -> list[str | Metric]:
    one = metrics is None or isinstance(metrics, str | Metric) or callable(metrics)
    listed: list[Any] = [metrics] if one else list(cast(Iterable[AnyMetric], metrics))
    for place, metric in enumerate(listed):
        if callable(metric) and not isinstance(metric, Metric):
            listed[place] = metric_of(metric)
        elif not isinstance(metric, str | Metric):
            expected = "a name, a Metric such as 'ndcg@20', or a function"
            raise UsageError.invalid("a metric", expected=expected, found=metric, option="metrics")
    return listed


def expand(
    tasks: Sequence[TaskLike],
    *,
    languages: Sequence[str] = (),
    type: str | None = None,
    eval_splits: Sequence[str] | None = None,
    generation: Generation | None = None,
    settings: Settings | None = None,
) -> list[str | AnyTask]:
    """Replace every group, pattern and folder by the names of its tasks; tasks in memory stay as they are.

    With `eval_splits` tasks are on every split that mteb evaluates, or on those that are named.
    """
    from steelyard.datasets import evaluated_names, task_names, with_type
    from steelyard.datasets.names import matching_names
    from steelyard.datasets.references import path_exists

    settings = settings or Settings.load()
    expanded: list[str | AnyTask] = []
    for task in tasks:
        if isinstance(task, str | Path):
            names = [str(task)]
            if eval_splits is not None and not isinstance(task, Path):
                typed = [with_type(task, type)]
                names = evaluated_names(typed, splits=eval_splits, generation=generation, settings=settings)
            if len(names) > 1 and path_exists(str(task)):  # the tasks of a set, which are not looked up again
                expanded.extend(matching_names(names, languages, type, LoadOptions(settings=settings)))
            else:
                expanded.extend(task_names(names, languages=languages, type=type, settings=settings))
        elif isinstance(task, AnyTask):
            expanded.append(check_task(task))
        else:
            expanded.append(_task_of_data(task, len(expanded)))
    if not tasks:
        raise UsageError("an evaluation needs at least one task, got none", hint=TASKS, option="tasks")
    if not expanded:
        raise nothing_left(tasks, languages, type)
    unique = {task if isinstance(task, str) else id(task): task for task in expanded}
    return list(unique.values())


def task_list(tasks: TaskLike | Iterable[TaskLike]) -> list[TaskLike]:
    """Return one task or many as a list. Data in memory is one task: a table, a dictionary, a list of rows.

    >>> len(task_list([("a question", "its context"), ("another", "a text")])), task_list(["NanoAlmanac/en"])
    (1, ['NanoAlmanac/en'])
    """
    simple = str | Path | AnyTask
    if isinstance(tasks, simple) or (isinstance(tasks, list | tuple) and all(isinstance(t, simple) for t in tasks)):
        return as_list(tasks)
    from steelyard.datasets.in_memory import is_data, is_table

    several = isinstance(tasks, list) and all(isinstance(task, simple) or is_table(task) for task in tasks)
    return [tasks] if is_data(tasks) and not several else as_list(tasks)


def _task_of_data(data: Any, place: int) -> AnyTask:
    """Return the task of Python objects; those without a name are numbered."""
    from steelyard.datasets.in_memory import is_data, load_data

    if not is_data(data):
        expected = "a name, a path, a Task or data"
        raise UsageError.invalid("a task", expected=expected, found=type(data).__name__, hint=TASKS, option="tasks")
    return load_data(data, name=f"local/data{place + 1}" if place else "local/data")


def nothing_left(tasks: Sequence[TaskLike], languages: Sequence[str], type: str | None) -> UsageError:
    """Return the error for filters that no task matches.

    >>> str(nothing_left(["NanoAlmanac/en"], ["xx"], "sts"))
    'no task of NanoAlmanac/en matches the filters (none is in xx and of type sts)'
    """
    filters = [f"in {' or '.join(languages)}"] if languages else []
    filters += [f"of type {type}"] if type else []
    hint = f"none is {' and '.join(filters)}" if filters else "name one: steelyard list tasks"
    return UsageError(f"no task of {', '.join(map(str, tasks))} matches the filters", hint=hint)


def as_list(value: T | Iterable[T]) -> list[T]:
    """Return one item or many as a list; a set is one item, since results are in the order of the input.

    >>> as_list("bm25"), as_list(("bm25", "dense")), as_list(name for name in ["bm25"])
    (['bm25'], ['bm25', 'dense'], ['bm25'])
    """
    one = isinstance(value, str | Path | AnyTask | ModelSpec | Set) or hasattr(value, "name")
    return [cast(T, value)] if one or not isinstance(value, Iterable) else list(value)
