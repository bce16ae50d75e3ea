"""The data of compared tasks: texts of queries, judgements, and the ranked lists of each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.config import Settings
from steelyard.engine import TaskLike, expand
from steelyard.engine.limit import limited
from steelyard.engine.runs import saved_run
from steelyard.errors import SteelyardError
from steelyard.results import Result
from steelyard.types import Run, Task


@dataclass(frozen=True, eq=False)
class LoadedTask:
    """A task with the run of each model; None where no run was saved."""

    task: Task
    runs: tuple[Run | None, ...]


def load_compared(
    cells: Mapping[str, Sequence[Result]], extra_tasks: Sequence[TaskLike], settings: Settings
) -> dict[str, LoadedTask]:
    """Load the retrieval tasks that can still be read, on the data that the results were made from.

    A task by another name than its results (a path) is found among those that were given.
    """
    known: dict[str, Task] = {}
    tasks = {}
    references: list[str | Task] = []
    for reference in expand(extra_tasks, settings=settings) if extra_tasks else []:
        if isinstance(reference, Task):
            known[reference.name] = reference
        elif isinstance(reference, str):
            references.append(reference)
    for label, results in cells.items():
        name = results[0].task
        if name not in known:
            known |= _load([name], settings) or _load(references, settings)
        task = known.get(name)
        part = None if task is None else _same_data(task, results[0])
        if part is not None:
            runs = tuple(saved_run(one.path, part) if one.path is not None else None for one in results)
            tasks[label] = LoadedTask(part, runs)
    return tasks


def _load(references: Sequence[str | Task], settings: Settings) -> dict[str, Task]:
    from steelyard.datasets import load_any

    loaded = {}
    for reference in references:
        try:
            task = load_any(reference, settings=settings) if isinstance(reference, str) else reference
        except SteelyardError:  # own data that is not known by name: the comparison goes without its texts
            continue
        if isinstance(task, Task):
            loaded[task.name] = task
    return loaded


def _same_data(task: Task, result: Result) -> Task | None:
    """Return the part of the task that the result was made from; None if the data has changed."""
    limit = result.facts.limit
    part = task
    if limit is not None:
        sample = limited(task, limit, int(result.settings.get("seed", 0)))
        if not isinstance(sample, Task):
            return None
        part = sample
    return part if part.content_hash == result.facts.data_hash else None
