"""Workers as jobs of a Slurm cluster, through submitit: `--executor 'slurm?partition=gpu&gpus=1&workers=8'`.

A call is one job: it loads the models of its group, computes several shards and ends. With `cluster=local` the jobs are
processes of this machine, to try it out. Results and encodings go through folders that all machines share.
"""

from __future__ import annotations

import importlib
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from steelyard.encoders.devices.child_process import without_secrets
from steelyard.engine.executors.dispatch import Ended, Ready, Returned, WorkerEvent
from steelyard.engine.executors.shards import Group, Outcome, Shard
from steelyard.engine.executors.worker import GroupWorker
from steelyard.errors import MissingPart
from steelyard.files import with_home
from steelyard.http.secrets import secret_variables
from steelyard.options import Options

OPTIONS = ("cluster", "folder", "workers", "shards", "partition", "gpus", "cpus", "memory_gb", "minutes")
POLL_SECONDS = 0.1


@dataclass(eq=False)
class _Slot:
    group: Group
    job: Any = None
    ready: bool = False


class SlurmExecutor:
    """Submits one job per call, at most `workers` at a time."""

    name = "slurm"
    timeout = None  # the option `minutes` is that of a job

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        parsed = Options("the executor slurm", dict(options or {}), OPTIONS)
        self._limit = parsed.whole("workers", 8)
        self.shards_per_call = parsed.whole("shards", 16)
        self._folder = with_home(parsed.text("folder") or "slurm-jobs")
        self._cluster = parsed.choice("cluster", ("slurm", "local"))
        self._submitit = _submitit()
        limits: dict[str, Any] = {
            "timeout_min": parsed.whole("minutes", 120),
            "gpus_per_node": parsed.whole("gpus", None, minimum=0),
            "cpus_per_task": parsed.whole("cpus", None),
            "mem_gb": parsed.number("memory_gb", None),
            "slurm_partition": parsed.text("partition"),
        }
        self._limits = {name: value for name, value in limits.items() if value is not None}
        self._submitters: dict[int, Any] = {}
        self._slots: dict[int, _Slot] = {}
        self._numbers = count()

    def capacity(self, group: Group) -> int:
        """Return the option `workers`."""
        return self._limit

    def start(self, group: Group) -> int:
        """Reserve a place; a job is submitted with its first shards."""
        number = next(self._numbers)
        self._slots[number] = _Slot(group)
        return number

    def submit(self, worker: int, shards: Sequence[Shard]) -> None:
        """Submit a job."""
        slot = self._slots[worker]
        submitter = self._submitter(slot.group)
        with without_secrets(slot.group.variables):
            slot.job = submitter.submit(compute, slot.group, list(shards))

    def _submitter(self, group: Group) -> Any:
        """Return what submits the jobs of a group; their Python starts without the secrets that it does not need."""
        if group.number not in self._submitters:
            hidden = secret_variables(os.environ, group.variables)
            python = shlex.join([*(["env", *(f"-u{name}" for name in hidden)] if hidden else []), sys.executable])
            submitter = self._submitit.AutoExecutor(
                folder=self._folder, cluster=self._cluster, **{f"{self._cluster}_python": python}
            )
            submitter.update_parameters(**self._limits)
            self._submitters[group.number] = submitter
        return self._submitters[group.number]

    def wait(self, seconds: float) -> list[WorkerEvent]:
        """Return which jobs have ended."""
        until = time.monotonic() + seconds
        while not (events := self._events()) and time.monotonic() < until:
            time.sleep(min(POLL_SECONDS, seconds))
        return events

    def _events(self) -> list[WorkerEvent]:
        events: list[WorkerEvent] = []
        for number, slot in self._slots.items():
            if not slot.ready:
                slot.ready = True
                events.append(Ready(number))
            elif slot.job is not None and slot.job.done():
                job, slot.job = slot.job, None
                failure = job.exception()
                if failure is None:
                    events.append(Returned(number, job.result()))
                else:
                    lines = str(failure).strip().splitlines() or [type(failure).__name__]
                    events.append(Ended(number, f"job {job.job_id}: {lines[-1][:300]}"))
        return events

    def stop(self, worker: int) -> None:
        """Cancel the job of a worker."""
        slot = self._slots.pop(worker)
        if slot.job is not None:
            slot.job.cancel()

    def close(self) -> None:
        """Cancel all jobs."""
        for number in list(self._slots):
            self.stop(number)


def compute(group: Group, shards: Sequence[Shard]) -> list[Outcome]:
    """Load the models and compute the shards: the body of a job."""
    worker = GroupWorker(group)
    return [worker.run(shard) for shard in shards]


def _submitit() -> Any:
    try:
        return importlib.import_module("submitit")
    except ImportError as error:
        raise MissingPart.extra("submitit", "slurm") from error


def from_options(options: Mapping[str, str]) -> SlurmExecutor:
    """Return the executor with the options of `--executor slurm?...`."""
    return SlurmExecutor(options)
