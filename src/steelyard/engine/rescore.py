"""New metrics for saved runs: no model is loaded, nothing is searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from steelyard.engine.events import Finished, Listener, Loading, Planned, silent
from steelyard.engine.limit import limited
from steelyard.engine.plan import PROFILES, Conditions, Evaluation, Model
from steelyard.engine.runs import has_run, saved_run
from steelyard.engine.task import scored_result
from steelyard.errors import ResultError
from steelyard.protocols import Settings
from steelyard.results import Result, ResultStore
from steelyard.results.keys import result_key
from steelyard.results.store import Report, warn
from steelyard.samples import AnyTask
from steelyard.types import Run, Task


def rescore(
    store: ResultStore,
    tasks: Sequence[str | AnyTask],
    conditions: Conditions,
    models: Sequence[str] = (),
    listen: Listener = silent,
    report: Report = warn,
) -> Iterator[Result]:
    """Score the saved runs of these tasks (and models, if any are named) with the metrics of `conditions`; store them.

    A run counts if it was made from the data that the task has now. Everything but the metrics stays as it was.
    """
    from steelyard.datasets import load_any

    kept = [result for result in store.all(report) if _may_serve(result, models)]
    listen(Planned(len({result.model for result in kept}), len(tasks), stored=0))
    done = 0
    for reference in tasks:
        listen(Loading(reference if isinstance(reference, str) else reference.name))
        task = load_any(reference) if isinstance(reference, str) else reference
        if not isinstance(task, Task):  # nothing was searched, so nothing was saved
            continue
        for old, part, run in _saved(kept, task):
            again = store.put(_again(old, part, run, conditions))
            listen(Finished(again, stored=False))
            done += 1
            yield again
    if not done:
        raise ResultError(
            f"{store.folder} has no saved run of these models and tasks, made from the data they have now",
            hint="evaluate with --save-runs parquet first",
        )


def _may_serve(result: Result, models: Sequence[str]) -> bool:
    named = not models or result.model in models
    return named and result.done and result.path is not None and has_run(result.path)


def _saved(kept: Sequence[Result], task: Task) -> Iterator[tuple[Result, Task, Run]]:
    """Each run of the task once, with the part of the task that it was made on."""
    seen = set()
    for old in kept:
        if old.task != task.name or old.path is None:
            continue
        part = _part(task, old.settings)
        same = {name: value for name, value in old.settings.items() if name != "metrics"}
        key = result_key(same, task.name, old.facts)
        if part.content_hash != old.facts.data_hash or key in seen:
            continue
        if (run := saved_run(old.path, part)) is not None:
            seen.add(key)
            yield old, part, run


def _part(task: Task, settings: Settings) -> Task:
    """What of the task a result with these settings was made on."""
    if (limit := settings.get("limit")) is None:
        return task
    part = limited(task, limit, settings["seed"], documents=settings.get("limit_documents", False))
    assert isinstance(part, Task)
    return part


def _again(old: Result, task: Task, run: Run, conditions: Conditions) -> Result:
    settings = {**old.settings, "metrics": ["default", *conditions.metrics]}
    key = result_key(settings, task.name, old.facts)
    evaluation = Evaluation(Model(old.model), task.name, settings, old.facts, key)
    before = {phase: old.timings[phase] for phase in ("load", "index", "search") if phase in old.timings}
    asked = replace(conditions, profile=old.settings.get("profile", PROFILES[0]))
    scored = scored_result(evaluation, run, task, asked, before)
    return replace(
        scored,
        index_bytes=old.index_bytes,
        peak_memory_bytes=old.peak_memory_bytes,
        notes={**old.notes, "rescored_from": old.key},
    )
