"""The engine joins the stages: data, models, metrics, results. `evaluate` is its front door."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import TypeVar, cast

from steelyard.config import Settings
from steelyard.engine.batch import Batch, load_models
from steelyard.engine.check import check_task
from steelyard.engine.events import Listener, silent
from steelyard.engine.plan import PROFILES, STRATEGIES, TOP_K, Conditions, OverwriteStrategy, Profile, SaveRuns, Shelf
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
TASKS = "such as 'NanoAlmanac/en', or several in a list"


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
    results: str | Path | None = None,
    overwrite_strategy: OverwriteStrategy = "only-missing",
    save_runs: SaveRuns | None = None,
    progress: Listener = silent,
    settings: Settings | None = None,
) -> Results:
    """Weigh models on tasks, and give every result; what fails is among them, as a failure.

    A model is a name (`bm25`, `[bm25, dense] > rerank:ID`), a ModelSpec, any object that meets `protocols.Retriever`,
    or one that meets `protocols.Encoder`, whose vectors are searched. A task is a name, a group, a path or a `Task`,
    which is checked as files are. Several of either come in a list, or whatever else can be gone through. The default
    metrics are always computed; `metrics` adds to them. With `results`, a folder, every result is stored when it is
    ready and what is stored already is not done again. `candidates` names the lists of the tasks that a reranker
    without a first stage ranks; `depths` makes a model of each depth of a pipeline's last stage, all from one scoring
    of the pairs; `profile` says which mteb the `mteb` figures follow. `settings` are device, network, hub and cache
    (default: `Settings.load()`).

    >>> from steelyard.types import Task
    >>> corpus = {"nile": "The Nile is a river in Africa.", "alps": "The Alps are mountains in Europe."}
    >>> queries = {"q1": "longest river", "q2": "high mountains"}
    >>> task = Task.of("Mine/geography", corpus, queries, {"q1": {"nile": 1}, "q2": {"alps": 1}}, language="en")
    >>> print(evaluate("bm25", task))
    nDCG@10         bm25
    --------------  --------------
    Mine/geography  1.0000  ±0.421
    """
    if overwrite_strategy not in STRATEGIES:
        raise UsageError(f"unknown overwrite strategy {overwrite_strategy!r}", hint=f"one of {', '.join(STRATEGIES)}")
    if save_runs not in (None, *FORMS):
        raise UsageError(f"runs are not saved as {save_runs!r}", hint=f"one of {', '.join(FORMS)}")
    if save_runs and results is None:
        raise UsageError("runs are saved beside results", hint="say where: results=FOLDER")
    asked = [metrics] if metrics is None or isinstance(metrics, str | Metric) else list(metrics)
    if odd := [metric for metric in asked if not isinstance(metric, str | Metric)]:
        raise UsageError(f"a metric is a name or a Metric, not a {type(odd[0]).__name__}", hint="such as 'ndcg@20'")
    conditions = Conditions.of(top_k=top_k, metrics=asked, limit=limit, seed=seed, profile=profile)
    store = None if results is None else ResultStore(Path(results).expanduser())
    shelf = Shelf(store, overwrite_strategy, save_runs)
    given: list[AnyModel | Encoder] = as_list(models)
    settings = settings or Settings.load()
    loaded = load_models(
        [_searching(model) for model in given],
        candidates=candidates,
        depths=depths,
        listen=progress,
        settings=settings,
    )
    if not loaded:
        raise UsageError("there is no model to weigh", hint="such as 'bm25', or ['bm25', 'dense']")
    batch = Batch(loaded, expand(as_list(tasks), settings=settings), conditions, shelf, progress, settings)
    return Results(batch.run())


def _searching(model: AnyModel | Encoder) -> AnyModel:
    """The model; an encoder with exact search behind it, as `dense:NAME`."""
    # Looked for on the class: some encoders have to encode a text to tell their dimension.
    if hasattr(model, "index") or not (hasattr(model, "name") and hasattr(type(model), "dimension")):
        return cast(AnyModel, model)
    from steelyard.retrievers.dense import DenseRetriever

    encoder = cast(Encoder, model)
    return DenseRetriever(f"dense:{encoder.name}", encoder)


def expand(
    tasks: Sequence[TaskLike],
    *,
    languages: Sequence[str] = (),
    type: str | None = None,
    settings: Settings | None = None,
) -> list[str | AnyTask]:
    """Tasks with every group, pattern and folder replaced by the names in it; tasks in memory stay as they are."""
    from steelyard.datasets import task_names

    settings = settings or Settings.load()
    expanded: list[str | AnyTask] = []
    for task in tasks:
        if isinstance(task, str | Path):
            expanded.extend(task_names([str(task)], languages=languages, type=type, settings=settings))
        elif isinstance(task, AnyTask):
            expanded.append(check_task(task))
        else:
            raise UsageError(f"a task is a name, a path or a Task, not a {task.__class__.__name__}", hint=TASKS)
    if not tasks:
        raise UsageError("there is no task to weigh on", hint=TASKS)
    if not expanded:
        raise nothing_left(tasks, languages, type)
    unique = {task if isinstance(task, str) else id(task): task for task in expanded}
    return list(unique.values())


def nothing_left(tasks: Sequence[TaskLike], languages: Sequence[str], type: str | None) -> UsageError:
    """The error that says which filter left none of the tasks.

    >>> str(nothing_left(["NanoAlmanac/en"], ["xx"], "sts"))
    'no task is left of NanoAlmanac/en (none is in xx and of type sts)'
    """
    filters = [f"in {' or '.join(languages)}"] if languages else []
    filters += [f"of type {type}"] if type else []
    hint = f"none is {' and '.join(filters)}" if filters else "name one: steelyard list tasks"
    return UsageError(f"no task is left of {', '.join(map(str, tasks))}", hint=hint)


def as_list(value: T | Iterable[T]) -> list[T]:
    """One thing or many as a list; a set is none of them, since results come in the order of what was given.

    >>> as_list("bm25"), as_list(("bm25", "dense")), as_list(name for name in ["bm25"])
    (['bm25'], ['bm25', 'dense'], ['bm25'])
    """
    one = isinstance(value, str | Path | AnyTask | ModelSpec | Set) or hasattr(value, "name")
    return [cast(T, value)] if one or not isinstance(value, Iterable) else list(value)
