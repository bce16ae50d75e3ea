"""Executors: where a batch is computed. `local` is this process; others start workers (`--executor NAME?option=value`).

Every executor computes the same shards and batches, and gives the same results as `local`, except for timings and
provenance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from steelyard.engine.batch import Batch
from steelyard.engine.executors.progress_file import with_progress_file
from steelyard.errors import UnknownName, UsageError
from steelyard.registry import Registry
from steelyard.results import Result
from steelyard.spec import parse

if TYPE_CHECKING:
    from steelyard.engine.executors.dispatch import Executor
    from steelyard.engine.executors.workload import Workload

__all__ = ["EXECUTORS", "LOCAL", "plan_batch", "run_batch"]

LOCAL = "local"
"""The default executor: this process, without a worker."""

EXECUTORS: Registry[Callable[[Mapping[str, str]], Executor]] = Registry(
    "executor",
    "steelyard.executors",
    {
        "processes": "steelyard.engine.executors.processes:from_options",
        "ray": "steelyard.engine.executors.ray_actors:from_options",
        "slurm": "steelyard.engine.executors.slurm:from_options",
    },
)
"""Executors with workers: a factory takes the options of `--executor NAME?option=value`; plug-ins add their own."""


def run_batch(batch: Batch, executor: str = LOCAL) -> Iterator[Result]:
    """Yield the results of a batch, computed by an executor such as `local`, `processes` or `ray?cpus=2`."""
    name, started = _start(executor)
    batch = with_progress_file(batch, name)
    if started is None:
        return batch.run()
    from steelyard.engine.executors.driver import run_distributed

    return run_distributed(batch, started)


def plan_batch(batch: Batch, executor: str = LOCAL, *, measure: bool = True) -> Workload:
    """Return the work of a batch for an executor, without doing it."""
    from steelyard.engine.executors.shards import groups_of
    from steelyard.engine.executors.workload import workload_of

    name, started = _start(executor)
    if started is None:
        return workload_of(batch, name, measure=measure)
    try:
        groups, _ = groups_of(batch.models, batch.settings, batch.conditions)
        workers = max((started.capacity(group) for group in groups), default=1)
        return workload_of(batch, name, workers, measure=measure)
    finally:
        started.close()


def _start(executor: str) -> tuple[str, Executor | None]:
    """Return the name of an executor and the executor; None for `local`."""
    spec = parse(executor)
    name = spec.family or spec.id
    if name == LOCAL:
        if spec.options:
            raise UsageError.invalid(
                "the executor local", expected="without options", found=executor, option="executor"
            )
        return name, None
    if name not in EXECUTORS:
        known = [LOCAL, *EXECUTORS]
        raise UnknownName("executor", name, known, hint=f"known: {', '.join(known)}", option="executor")
    return name, EXECUTORS.get(name)(spec.options)
