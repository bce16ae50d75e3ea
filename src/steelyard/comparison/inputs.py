"""What is compared: models by name, folders of results, saved runs, TREC runs, results in memory, baselines.

Everything becomes `Result` values, one for each model and task, under the names that the comparison shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard import errors
from steelyard.comparison.baseline import is_baseline, read_baseline
from steelyard.config import Settings
from steelyard.engine import AnyModel, TaskLike, evaluate, expand
from steelyard.engine.events import Listener, silent
from steelyard.engine.plan import Conditions, Evaluation, Model, facts_of
from steelyard.engine.runs import FORMS, read_run_file
from steelyard.engine.task_evaluator import scored_result
from steelyard.errors import DataError, MissingPart, ModelError, ResultError, UsageError
from steelyard.files import with_home
from steelyard.results import Result, Results, ResultStore
from steelyard.results.display.model_labels import marked_by_weights
from steelyard.results.keys import result_key
from steelyard.retrievers.chunking.retriever import chunked_models
from steelyard.spec import ModelSpec, parse
from steelyard.types import Task

TWICE = "name two different models, or a model and a folder of results"

Entrant = AnyModel | Path | Result | Sequence[Result]
"""One side of a comparison: a model, a path, or results in memory."""


@dataclass(frozen=True)
class Source:
    """Where missing results come from, and which of the stored ones count."""

    tasks: Sequence[TaskLike] = ()
    folder: Path | None = None
    """The folder of results of models that are given by name."""
    metric: str | None = None
    stored: bool = False
    """Refuse what is not stored instead of evaluating it."""
    limit: int | None = None
    seed: int = 0
    save_runs: bool = False
    """Keep ranked lists, which show how the ranks of relevant documents changed."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `steelyard.evaluate`."""
    progress: Listener = silent
    settings: Settings = field(default_factory=Settings.load)


def collect(entrants: Sequence[Entrant], source: Source) -> tuple[list[str], Results]:
    """Return the names of what is compared, in the order given, and all their results."""
    groups: list[tuple[str | None, list[Result]]] = []
    named: dict[int, AnyModel] = {}
    for entrant in entrants:
        path = _path(entrant)
        if path is not None:
            results = _read(path, source)
            groups.append(("baseline" if path.suffix == ".json" and is_baseline(path) else _label(path), results))
        elif isinstance(entrant, Result):
            groups.append((None, [entrant]))
        elif isinstance(entrant, Sequence) and not isinstance(entrant, str):
            groups.append((None, list(entrant)))
        else:
            named[len(groups)] = entrant  # type: ignore[assignment]
            groups.append((None, []))
    if named:
        evaluated = _evaluated(list(named.values()), _tasks(source, groups), source)
        for (place, _), results in zip(named.items(), evaluated, strict=True):
            groups[place] = (None, results)
    return _distinct(groups)


def divided(entrants: Sequence[Entrant], chunk: str, overlap: int) -> list[Entrant]:
    """Return the models with passages of each size; what is stored elsewhere cannot be divided any more."""
    if not chunk and not overlap:
        return list(entrants)
    models: list[Any] = []
    for entrant in entrants:
        if _path(entrant) is not None or (isinstance(entrant, Sequence | Result) and not isinstance(entrant, str)):
            raise UsageError(
                "chunk must be used with models that are evaluated here, got results or a run",
                hint="remove --chunk, or name a model such as dense:ID",
                option="--chunk",
            )
        models.append(entrant)
    return [*chunked_models(models, chunk, overlap)]


def _path(entrant: Entrant) -> Path | None:
    """Return the path of a folder of results, a result, a run or a baseline; None for a model or results."""
    if isinstance(entrant, Path):
        if not entrant.exists():
            raise UsageError(
                f"the path does not exist: {entrant}", hint="name a folder of results, a run or a baseline"
            )
        return with_home(entrant)
    if not isinstance(entrant, str):
        return None
    path = with_home(entrant)
    if path.is_dir():
        return path if next(path.glob("*/*/*@*.json"), None) or path.suffix or "/" in entrant else None
    if path.is_file():
        return path
    if path.suffix in (".json", ".trec", ".run", ".txt", ".parquet") and ":" not in entrant:
        raise UsageError(f"the file does not exist: {path}", hint="name a result, a run file, a baseline or a model")
    return None


def _label(path: Path) -> str:
    name = path.resolve().name
    for ending in (".json", ".run.parquet", ".run.trec", ".trec", ".run", ".txt"):
        name = name.removesuffix(ending)
    return name


def _read(path: Path, source: Source) -> list[Result]:
    if path.is_dir():
        results = Results(marked_by_weights(ResultStore(path).all())).select(
            tasks=_names(source.tasks, source.settings)
        )
        if not results:
            raise ResultError(
                f"the folder has no results of these tasks: {path}", hint="steelyard list results shows all"
            )
        return [result for result in results if result.facts.limit == source.limit or source.limit is None]
    if path.suffix == ".json":
        if is_baseline(path):
            return read_baseline(path)
        return [Result.from_json(path.read_bytes(), path)]
    for form in FORMS:  # a run beside its result
        if path.name.endswith(f".run.{form}"):
            result = path.with_name(path.name.removesuffix(f".run.{form}") + ".json")
            if result.exists():
                return [Result.from_json(result.read_bytes(), result)]
    return [_scored(path, source)]


def _names(tasks: Sequence[TaskLike], settings: Settings) -> list[str] | None:
    if not tasks:
        return None
    return [task if isinstance(task, str) else task.name for task in expand(tasks, settings=settings)]


def _scored(path: Path, source: Source) -> Result:
    """Return the scores of a run file on the one task that has its queries."""
    from steelyard.datasets import load_any

    if not source.tasks:
        raise UsageError(f"a run file needs the task with its judgements: {path}", hint="name the task with -t")
    errors = []
    for reference in expand(source.tasks, settings=source.settings):
        task = load_any(reference, settings=source.settings) if isinstance(reference, str) else reference
        if not isinstance(task, Task):
            continue
        try:
            run = read_run_file(path, task)
        except ResultError as error:
            errors.append(error)
            continue
        conditions = Conditions.of(metrics=[source.metric] if source.metric else [])
        facts = facts_of(task, conditions, task)
        settings = {"model": path.name, "model_settings": None, **conditions.settings}
        key = result_key(settings, task.name, facts)
        evaluation = Evaluation(Model(path.name), task.name, settings, facts, key)
        return scored_result(evaluation, run, task, conditions, {})
    raise errors[0] if errors else UsageError(f"no retrieval task for the run {path}", hint="name one with -t")


def _tasks(source: Source, groups: Sequence[tuple[str | None, list[Result]]]) -> list[TaskLike]:
    """Return the tasks to evaluate named models on: those asked for, else those of the other sides."""
    if source.tasks:
        return list(source.tasks)
    return list(dict.fromkeys(result.task for _, results in groups for result in results if result.done))


def _evaluated(models: Sequence[AnyModel], tasks: Sequence[TaskLike], source: Source) -> list[list[Result]]:
    """Return the results of each model given by name: the stored ones, and what is missing evaluated now."""
    names = [_result_name(model) for model in models]
    spelled = [str(model) for model in models if isinstance(model, str | ModelSpec)]
    if twice := [name for name in spelled if spelled.count(name) > 1]:
        raise UsageError(f"the models must be different, got {twice[0]} twice", hint=TWICE)
    if source.stored:
        return _stored(names, tasks, source)
    if from_store := [place for place, model in enumerate(models) if _is_name_of_results(model)]:
        # The name of a folder without its path, as tables show it: its results are read, the others are evaluated.
        rest = [model for place, model in enumerate(models) if place not in from_store]
        read = iter(_stored([names[place] for place in from_store], tasks, source))
        own = list(dict.fromkeys(tasks)) if tasks else []
        new = iter(_evaluated(rest, own, source) if rest else [])
        return [next(read) if place in from_store else next(new) for place in range(len(models))]
    if not tasks:
        stored = _every(source)
        done = {name: [r.task for r in stored.filter(model=name) if r.done] for name in names}
        if all(done.values()):
            return _stored(names, [], source)
        tasks = list(dict.fromkeys(task for done_tasks in done.values() for task in done_tasks))
        if from_files := [task for task in tasks if str(task).startswith("local/")]:
            missing = next(name for name in names if not done[name])
            raise MissingPart(
                f"{source.folder} has no result of {missing} on {from_files[0]}, which was read from files",
                hint="name the files of the tasks with -t, so that it can be evaluated",
            )
    if not tasks:
        raise UsageError("a comparison needs at least one task, got none", hint="add -t NanoAlmanac")
    results = evaluate(
        models,
        tasks,
        warn=False,
        metrics=[source.metric] if source.metric else [],
        results=source.folder,
        limit=source.limit,
        seed=source.seed,
        save_runs="parquet" if source.save_runs and source.folder is not None else None,
        progress=source.progress,
        settings=source.settings,
        **source.options,
    )
    if len(results.models) < len(models):
        raise UsageError(f"the models must be different, got the same one twice: {', '.join(names)}", hint=TWICE)
    if failures := results.failures:
        first = failures[0]
        reason = first.error.message if first.error else "unknown reason"
        hint = first.error.hint if first.error and first.error.hint else "steelyard run shows all failures"
        kind = getattr(errors, first.error.type, ResultError) if first.error else ResultError
        if kind not in (UsageError, DataError, MissingPart, ModelError):
            kind = ResultError
        raise kind(f"{first.model} failed on {first.task}: {reason}", hint=hint)
    return [list(results.filter(model=name)) for name in results.models]


def _every(source: Source) -> Results:
    """Return all stored results of the folder."""
    folder = source.folder
    return Results(ResultStore(folder).all()) if folder is not None and folder.is_dir() else Results([])


def _stored(names: Sequence[str], tasks: Sequence[TaskLike], source: Source) -> list[list[Result]]:
    """Return the stored results of each model; a missing one raises a MissingPart with the command that makes it."""
    every, task_names = _every(source), _names(tasks, source.settings)
    matches = [
        [
            r
            for r in every.filter(model=name)
            if r.facts.limit == source.limit and (task_names is None or r.task in task_names)
        ]
        for name in names
    ]
    for name, results in zip(names, matches, strict=True):
        missing = sorted(set(task_names or []) - {result.task for result in results if result.done})
        if missing or not results:
            place = f" on {missing[0]}" if missing else ""
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            target = f" -t {' '.join(map(str, missing))}" if missing else ""
            raise MissingPart(
                f"{source.folder} has no result of {name}{place}{more}",
                hint=f"steelyard run '{name}'{target} -o {source.folder}, or leave out --stored",
            )
    return matches


def _is_name_of_results(model: AnyModel) -> bool:
    """Return whether a name has the form of a local model in results, and no folder has it here."""
    from steelyard.encoders.load import ENCODERS, is_explicit_id
    from steelyard.retrievers.model_names import LOCAL_FAMILIES, canonical

    if not isinstance(model, str | ModelSpec):
        return False
    spec = canonical(model)
    return spec.family in LOCAL_FAMILIES and bool(spec.id) and spec.id not in ENCODERS and not is_explicit_id(spec.id)


def _result_name(model: AnyModel) -> str:
    from steelyard.retrievers.model_names import result_name

    if isinstance(model, str | ModelSpec):
        return result_name(parse(model) if isinstance(model, str) else model)
    return str(getattr(model, "name", type(model).__name__))


def _distinct(groups: Sequence[tuple[str | None, list[Result]]]) -> tuple[list[str], Results]:
    """Return unique names for all sides, and their results under these names."""
    sides: list[tuple[str, str | None, list[Result]]] = []
    for label, results in groups:
        for model in dict.fromkeys(result.model for result in results):
            sides.append((model, label, [result for result in results if result.model == model]))
    models = [model for model, _, _ in sides]
    names: list[str] = []
    for model, label, _ in sides:
        name = model
        if models.count(model) > 1 and label is not None:
            alone = sum(own == label for _, own, _ in sides) == 1
            name = label if alone else f"{label}: {model}"
        number = 2
        while name in names:
            name, number = f"{model} ({number})", number + 1
        names.append(name)
    renamed: Iterable[Result] = (
        replace(result, model=name) for name, (_, _, results) in zip(names, sides, strict=True) for result in results
    )
    return names, Results(renamed)
