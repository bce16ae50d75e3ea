"""New metrics for saved runs: no model is loaded, nothing is searched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from steelyard.config import Settings
from steelyard.engine.batch import Failed, attempt
from steelyard.engine.events import Finished, Listener, Loading, Planned, silent
from steelyard.engine.limit import limited
from steelyard.engine.plan import PROFILES, Conditions, Evaluation, Model, OverwriteStrategy, Shelf, known_info
from steelyard.engine.runs import has_run, saved_run
from steelyard.engine.task import scored_result
from steelyard.errors import ResultError
from steelyard.results import Result, ResultStore
from steelyard.results.keys import digest, result_key
from steelyard.results.store import Report, warn
from steelyard.types import Task
from steelyard.types.protocols import ModelSettings
from steelyard.types.samples import AnyTask

NAMED = 3
"""Saved runs that are named where none is as it was asked for."""


def rescore(
    store: ResultStore,
    tasks: Sequence[str | AnyTask],
    conditions: Conditions,
    models: Sequence[str] = (),
    listen: Listener = silent,
    report: Report = warn,
    *,
    made: Mapping[str, Any] | None = None,
    strategy: OverwriteStrategy = "only-missing",
    settings: Settings | None = None,
) -> Iterator[Result]:
    """Score the saved runs of these tasks (and models, if any are named) with the metrics of `conditions`; store them.

    Everything but the metrics stays as it was; with `made`, only runs count whose settings have these values, such as
    a `top_k`. A run counts if it was made from the data that the task has now, and `report` is told of one that was
    not. What cannot be read is a failure, which is not stored, and the others go on.
    """
    names = [_name(reference) for reference in tasks]
    runs = [run for run in _distinct(saved(store, report)) if run.task in names or None in names]
    runs = [run for run in runs if (not models or run.model in models) and _is_so(run.settings, made or {})]
    bench = _Rescoring(Shelf(store, strategy), conditions, report, settings or Settings.load())
    listen(Planned(len({run.model for run in runs}), len(tasks), stored=0, runs=len(runs)))
    done = 0
    for name, reference in zip(names, tasks, strict=True):
        listen(Loading(name or str(reference)))
        for result, stored in bench.task(name, reference, runs):
            listen(Finished(result, stored))
            done += 1
            yield result
    if not done:
        so = "".join(f" with {name} {value}" for name, value in (made or {}).items())
        others = dict.fromkeys(f"{run.model} on {run.task}" for run in saved(store, lambda damaged: None))
        there = f"; saved are those of {', '.join(islice(others, NAMED))}" if others else ""
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        raise ResultError(
            f"{store.folder} has no saved run of these models and tasks, made{so} from the data they have now",
            hint=f"evaluate with --save-runs parquet first{there}{more}",
        )


def saved(store: ResultStore, report: Report = warn) -> list[Result]:
    """The results of the store that a run was kept of."""
    return [result for result in store.all(report) if result.done and result.path and has_run(result.path)]


def _name(reference: str | AnyTask) -> str | None:
    """The name that the task's results go by; None where only its data tells."""
    info = known_info(reference)
    return info.name if info else None


def _distinct(results: Iterable[Result]) -> list[Result]:
    """Each run once: results that differ in their metrics alone may have it, too."""
    found: dict[str, Result] = {}
    for result in results:
        same = {name: value for name, value in result.settings.items() if name != "metrics"}
        found.setdefault(digest([result.task, result.facts.data_hash, same]), result)
    return list(found.values())


def _is_so(settings: ModelSettings, made: Mapping[str, Any]) -> bool:
    whole = {"profile": PROFILES[0], **settings}
    return all(whole.get(name) == value for name, value in made.items())


@dataclass(frozen=True)
class _Rescoring:
    """Saved runs, task by task."""

    shelf: Shelf
    conditions: Conditions
    report: Report
    settings: Settings

    def task(self, name: str | None, reference: str | AnyTask, runs: Sequence[Result]) -> Iterator[tuple[Result, bool]]:
        """Every run of the task scored again, and whether that was stored already."""
        from steelyard.datasets import load_any

        task = attempt(lambda: load_any(reference, settings=self.settings) if isinstance(reference, str) else reference)
        if isinstance(task, Failed):
            spoilt = [old for old in runs if old.task == name]
            for old in spoilt:
                yield self._failed(old, task), False
            if not spoilt:
                hint = "its runs are not scored again until it can"
                self.report(ResultError(f"{name or reference} cannot be read: {task.failure}", hint=hint))
        elif isinstance(task, Task):  # of another type nothing was searched, so nothing was saved
            for old in runs:
                if old.task == task.name:
                    yield from self._run(old, task)

    def _run(self, old: Result, task: Task) -> Iterator[tuple[Result, bool]]:
        part, evaluation = _part(task, old.settings), self._evaluation(old)
        if part.content_hash != old.facts.data_hash:
            hint = "evaluate again with --save-runs"
            self.report(ResultError(f"{old.path} was made from other data than {task.name} has now", hint=hint))
        elif evaluation.stored is not None:
            yield evaluation.stored, True
        else:
            again = attempt(lambda: self._again(evaluation, old, part))
            yield (self._failed(old, again) if isinstance(again, Failed) else again), False

    def _evaluation(self, old: Result) -> Evaluation:
        settings = {**old.settings, "metrics": self.conditions.settings["metrics"]}
        key = result_key(settings, old.task, old.facts)
        return self.shelf.look_up(Evaluation(Model(old.model), old.task, settings, old.facts, key))

    def _again(self, evaluation: Evaluation, old: Result, task: Task) -> Result:
        run = saved_run(old.path, task) if old.path is not None else None
        assert run is not None and self.shelf.store is not None, "only what is saved in a store is scored again"
        before = {phase: old.timings[phase] for phase in ("load", "index", "search") if phase in old.timings}
        asked = replace(self.conditions, profile=old.settings.get("profile", PROFILES[0]))
        scored = scored_result(evaluation, run, task, asked, before)
        again = replace(
            scored,
            index_bytes=old.index_bytes,
            peak_memory_bytes=old.peak_memory_bytes,
            notes={**old.notes, "rescored_from": old.key},
        )
        return self.shelf.store.put(again)

    def _failed(self, old: Result, failed: Failed) -> Result:
        return self._evaluation(old).result(status="failed", main_metric=old.main_metric, error=failed.failure)


def _part(task: Task, settings: ModelSettings) -> Task:
    """What of the task a result with these settings was made on."""
    if (limit := settings.get("limit")) is None:
        return task
    part = limited(task, limit, settings["seed"], documents=settings.get("limit_documents", False))
    assert isinstance(part, Task)
    return part
