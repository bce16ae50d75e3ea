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
from steelyard.engine.plan import PROFILES, Conditions, Evaluation, Model, OverwriteStrategy, ResultLookup, known_info
from steelyard.engine.runs import has_run, saved_run
from steelyard.engine.task_evaluator import scored_result
from steelyard.errors import ResultError
from steelyard.results import Result, ResultStore
from steelyard.results.keys import digest, result_key
from steelyard.results.store import Report, warn
from steelyard.types import Task
from steelyard.types.protocols import ModelSettings
from steelyard.types.samples import AnyTask

NAMED = 3
"""Saved runs that the error lists if none matches."""


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

    Only the metrics change. With `made`, only runs whose settings have these values count, such as a `top_k`. A run of
    other data than the task has now is reported and skipped. A task that cannot be loaded is a failure, which is not
    stored, and the others go on.
    """
    names = [_name(reference) for reference in tasks]
    known = set(names)
    runs = [run for run in _distinct(saved(store, report)) if run.task in known or None in known]
    runs = [run for run in runs if (not models or run.model in models) and _matches(run.settings, made or {})]
    by_task: dict[str, list[Result]] = {}
    for run in runs:
        by_task.setdefault(run.task, []).append(run)
    rescoring = _Rescoring(ResultLookup(store, strategy), conditions, report, settings or Settings.load())
    listen(Planned(len({run.model for run in runs}), len(tasks), stored=0, runs=len(runs)))
    done = 0
    for name, reference in zip(names, tasks, strict=True):
        listen(Loading(name or str(reference)))
        for result, stored in rescoring.task(name, reference, by_task):
            listen(Finished(result, stored))
            done += 1
            yield result
    if not done:
        conditions_text = "".join(f" with {name} {value}" for name, value in (made or {}).items())
        others = dict.fromkeys(f"{run.model} on {run.task}" for run in saved(store, lambda damaged: None))
        saved_text = f"; saved: {', '.join(islice(others, NAMED))}" if others else ""
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        raise ResultError(
            f"{store.folder} has no saved run of these models on the current data of these tasks{conditions_text}",
            hint=f"evaluate with --save-runs parquet first{saved_text}{more}",
            path=store.folder,
        )


def saved(store: ResultStore, report: Report = warn) -> list[Result]:
    """Return the results of the store that have a saved run."""
    return [result for result in store.all(report) if result.done and result.path and has_run(result.path)]


def _name(reference: str | AnyTask) -> str | None:
    """Return the name of the task in results; None if it has to be loaded first."""
    info = known_info(reference)
    return info.name if info else None


def _distinct(results: Iterable[Result]) -> list[Result]:
    """Return each run once: results that differ only in their metrics share a run."""
    distinct: dict[str, Result] = {}
    for result in results:
        same = {name: value for name, value in result.settings.items() if name != "metrics"}
        distinct.setdefault(digest([result.task, result.facts.data_hash, same]), result)
    return list(distinct.values())


def _matches(settings: ModelSettings, conditions: Mapping[str, Any]) -> bool:
    whole = {"profile": PROFILES[0], **settings}
    return all(whole.get(name) == value for name, value in conditions.items())


@dataclass(frozen=True)
class _Rescoring:
    """Saved runs, task by task."""

    lookup: ResultLookup
    conditions: Conditions
    report: Report
    settings: Settings

    def task(
        self, name: str | None, reference: str | AnyTask, runs: Mapping[str, Sequence[Result]]
    ) -> Iterator[tuple[Result, bool]]:
        """Yield every run of the task with its new scores, and whether these were stored already."""
        from steelyard.datasets import load_any

        task = attempt(lambda: load_any(reference, settings=self.settings) if isinstance(reference, str) else reference)
        if isinstance(task, Failed):
            affected = runs.get(name, ()) if name else ()
            for old in affected:
                yield self._failed(old, task), False
            if not affected:
                hint = "its runs are skipped"
                self.report(ResultError(f"{name or reference} cannot be loaded: {task.failure}", hint=hint))
        elif isinstance(task, Task):  # other types have no runs
            for old in runs.get(task.name, ()):
                yield from self._run(old, task)

    def _run(self, old: Result, task: Task) -> Iterator[tuple[Result, bool]]:
        part, evaluation = _part(task, old.settings), self._evaluation(old)
        if part.content_hash != old.facts.data_hash:
            hint = "evaluate again with --save-runs"
            self.report(
                ResultError(
                    f"{old.path} was evaluated on other data than {task.name} has now", hint=hint, path=old.path
                )
            )
        elif evaluation.stored is not None:
            yield evaluation.stored, True
        else:
            rescored = attempt(lambda: self._rescored(evaluation, old, part))
            yield (self._failed(old, rescored) if isinstance(rescored, Failed) else rescored), False

    def _evaluation(self, old: Result) -> Evaluation:
        settings = {**old.settings, "metrics": self.conditions.settings["metrics"]}
        key = result_key(settings, old.task, old.facts)
        return self.lookup.look_up(Evaluation(Model(old.model), old.task, settings, old.facts, key))

    def _rescored(self, evaluation: Evaluation, old: Result, task: Task) -> Result:
        run = saved_run(old.path, task) if old.path is not None else None
        assert run is not None and self.lookup.store is not None, "only runs in a store are scored again"
        before = {phase: old.timings[phase] for phase in ("load", "index", "search") if phase in old.timings}
        conditions = replace(self.conditions, profile=old.settings.get("profile", PROFILES[0]))
        scored = scored_result(evaluation, run, task, conditions, before)
        rescored = replace(
            scored,
            index_bytes=old.index_bytes,
            peak_memory_bytes=old.peak_memory_bytes,
            notes={**old.notes, "rescored_from": old.key},
        )
        return self.lookup.store.put(rescored)

    def _failed(self, old: Result, failed: Failed) -> Result:
        return self._evaluation(old).result(status="failed", main_metric=old.main_metric, error=failed.failure)


def _part(task: Task, settings: ModelSettings) -> Task:
    """Return the part of the task that a result with these settings was evaluated on."""
    if (limit := settings.get("limit")) is None:
        return task
    part = limited(task, limit, settings["seed"], documents=settings.get("limit_documents", False))
    assert isinstance(part, Task)
    return part
