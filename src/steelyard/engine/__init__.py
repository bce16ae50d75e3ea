"""The engine joins data, models, metrics and results. `evaluate` is its entry point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import Any, TypeVar, cast

from steelyard.config import Settings
from steelyard.engine.batch import Batch, load_models
from steelyard.engine.check import check_task
from steelyard.engine.events import Listener, silent
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
from steelyard.errors import UsageError
from steelyard.metrics import Metric
from steelyard.results import Results, ResultStore
from steelyard.spec import ModelSpec
from steelyard.types.protocols import Encoder, Retriever
from steelyard.types.samples import AnyTask

__all__ = ["Results", "evaluate"]

T = TypeVar("T")
AnyModel = str | ModelSpec | Retriever
TaskLike = str | Path | AnyTask
TASKS = "for example 'NanoAlmanac/en', or several in a list"


def evaluate(
    models: AnyModel | Encoder | Iterable[AnyModel | Encoder],
    tasks: TaskLike | Iterable[TaskLike] = "builtin",
    *,
    metrics: str | Metric | Iterable[str | Metric] = (),
    top_k: int = TOP_K,
    limit: int | None = None,
    seed: int = 0,
    profile: Profile = PROFILES[0],
    candidates: str | None = None,
    depths: Sequence[int] = (),
    chunk: str | int | Sequence[str | int | None] = (),
    overlap: int = 0,
    results: str | Path | None = None,
    overwrite_strategy: OverwriteStrategy = "only-missing",
    save_runs: SaveRuns | None = None,
    progress: Listener = silent,
    settings: Settings | None = None,
) -> Results:
    """Evaluate models on tasks and return every result; a failure is one of them.

    A model is a name (`bm25`, `[bm25, dense] > rerank:ID`), a ModelSpec, any object that meets `protocols.Retriever`,
    or one that meets `protocols.Encoder`, which is searched exactly. A task is a name, a group, a path or a `Task`,
    which is checked as files are. Give several of either in a list or another iterable. The default
    metrics are always computed; `metrics` adds to them. With `results`, a folder, every result is stored as soon as it
    is ready, and stored results are not computed again. `candidates` names the lists of the tasks that a reranker
    without a first stage ranks; `depths` makes a model of each depth of a pipeline's last stage, all from one scoring
    of the pairs; `chunk` makes a model of each length of passages (`[128, 256, None]`: None is the whole document), and
    `overlap` is what neighbours share; `profile` is the mteb version of the `mteb` scores.
    `settings` are device, network, hub and cache (default: `Settings.load()`).

    >>> from steelyard.types import Task
    >>> corpus = {"nile": "The Nile is a river in Africa.", "alps": "The Alps are mountains in Europe."}
    >>> queries = {"q1": "longest river", "q2": "high mountains"}
    >>> task = Task.of("Mine/geography", corpus, queries, {"q1": {"nile": 1}, "q2": {"alps": 1}}, language="en")
    >>> print(evaluate("bm25", task))
    nDCG@10         bm25
    --------------  --------------
    Mine/geography  1.0000  ±0.421
    """
    _check_choice("overwrite_strategy", overwrite_strategy, STRATEGIES)
    _check_save_runs(save_runs, results)
    more_metrics = _metrics(metrics)
    conditions = Conditions.of(top_k=top_k, metrics=more_metrics, limit=limit, seed=seed, profile=profile)
    store = None if results is None else ResultStore(Path(results).expanduser())
    lookup = ResultLookup(store, overwrite_strategy, save_runs)
    listed: list[AnyModel | Encoder] = as_list(models)
    settings = settings or Settings.load()
    loaded = load_models(
        _with_passages([_searching(model) for model in listed], chunk, overlap),
        candidates=candidates,
        depths=depths,
        listen=progress,
        settings=settings,
    )
    if not loaded:
        raise UsageError("no model to evaluate", hint="name one, such as 'bm25', or several: ['bm25', 'dense']")
    batch = Batch(loaded, expand(as_list(tasks), settings=settings), conditions, lookup, progress, settings)
    return Results(batch.run())


def _check_save_runs(save_runs: SaveRuns | None, results: str | Path | None) -> None:
    if save_runs is None:
        return
    _check_choice("save_runs", save_runs, FORMS)
    if results is None:
        raise UsageError("save_runs needs a folder of results", hint="add results=FOLDER", option="save_runs")


def _check_choice(option: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError.invalid(option, expected=f"one of {', '.join(known)}", found=value, option=option)


def _metrics(metrics: str | Metric | Iterable[str | Metric]) -> list[str | Metric]:
    listed: list[Any] = [metrics] if metrics is None or isinstance(metrics, str | Metric) else list(metrics)
    for metric in listed:
        if not isinstance(metric, str | Metric):
            expected = "a name or a Metric, such as 'ndcg@20'"
            raise UsageError.invalid("a metric", expected=expected, found=metric, option="metrics")
    return listed


def _searching(model: AnyModel | Encoder) -> AnyModel:
    """Return the model; an encoder becomes the retriever `dense:NAME`."""
    # Looked up on the class: some encoders have to encode a text to know their dimension.
    if hasattr(model, "index") or not (hasattr(model, "name") and hasattr(type(model), "dimension")):
        return cast(AnyModel, model)
    from steelyard.retrievers.dense import DenseRetriever

    encoder = cast(Encoder, model)
    return DenseRetriever(f"dense:{encoder.name}", encoder)


def _with_passages(
    models: Sequence[AnyModel], chunk: str | int | Sequence[str | int | None], overlap: int
) -> list[AnyModel]:
    """Return every model with passages of each length."""
    from steelyard.retrievers.chunking.retriever import chunked_models

    listed = [chunk] if isinstance(chunk, str | int) else chunk
    return chunked_models(models, ",".join("none" if size is None else str(size) for size in listed), overlap)


def expand(
    tasks: Sequence[TaskLike],
    *,
    languages: Sequence[str] = (),
    type: str | None = None,
    settings: Settings | None = None,
) -> list[str | AnyTask]:
    """Replace every group, pattern and folder by the names of its tasks; tasks in memory stay as they are."""
    from steelyard.datasets import task_names

    settings = settings or Settings.load()
    expanded: list[str | AnyTask] = []
    for task in tasks:
        if isinstance(task, str | Path):
            expanded.extend(task_names([str(task)], languages=languages, type=type, settings=settings))
        elif isinstance(task, AnyTask):
            expanded.append(check_task(task))
        else:
            raise UsageError.invalid(
                "a task", expected="a name, a path or a Task", found=task.__class__.__name__, hint=TASKS, option="tasks"
            )
    if not tasks:
        raise UsageError("no task to evaluate on", hint=TASKS, option="tasks")
    if not expanded:
        raise nothing_left(tasks, languages, type)
    unique = {task if isinstance(task, str) else id(task): task for task in expanded}
    return list(unique.values())


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
