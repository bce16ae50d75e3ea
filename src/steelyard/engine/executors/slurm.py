"""Workers as jobs of a Slurm cluster, through submitit: `--executor 'slurm?partition=gpu&gpus=1&workers=8'`.

A call is one job: it loads the models of its group, computes several shards and ends. With `cluster=local` the jobs are
processes of this machine, to try it out. Results and encodings go through folders that all machines share.
"""

from __future__ import annotations

import importlib
import io
import os
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from itertools import count
from typing import Any

from steelyard.encoders.devices.child_process import without_secrets
from steelyard.engine.batch import Failed, attempt
from steelyard.engine.executors.dispatch import Ended, Ready, Returned, WorkerEvent
from steelyard.engine.executors.shards import Group, Outcome, Shard
from steelyard.engine.executors.slurm_jobs import SlurmJobs, cancel, check_outage, last_line
from steelyard.engine.executors.worker import GroupWorker
from steelyard.errors import MissingPart, UsageError
from steelyard.files import with_home
from steelyard.http.secrets import secret_variables
from steelyard.options import Options
from steelyard.results import Failure

OPTIONS = ("cluster", "folder", "workers", "shards", "minutes", "gpus", "cpus", "memory_gb")
PASSED_ON = ("partition", "account", "qos", "constraint")
"""Options of `sbatch` that are passed on as they are."""
COMMANDS = ("sbatch", "srun", "squeue", "scancel")
POLL_SECONDS = 0.1
RETRY_SECONDS = 10.0
"""When a job that Slurm has refused is submitted again."""


@dataclass(eq=False)
class _Slot:
    """A place for one job at a time."""

    group: Group
    shards: Sequence[Shard] = ()
    job: Any = None
    announced: bool = False
    """Whether the dispatcher knows that it can give shards."""
    submitted: float = 0.0
    """When the job was submitted, or first refused."""
    retry: float = 0.0
    """When a refused job is submitted again."""


class SlurmExecutor:
    """Submits one job per call, at most `workers` at a time."""

    name = "slurm"
    timeout = None  # the option `minutes` is that of a job

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        parsed = Options("the executor slurm", dict(options or {}), (*OPTIONS, *PASSED_ON))
        self._limit = parsed.whole("workers", 8)
        self.shards_per_call = parsed.whole("shards", 16)
        self._folder = with_home(parsed.text("folder") or "slurm-jobs")
        self._cluster = parsed.choice("cluster", ("slurm", "local"))
        self._submitit = _submitit()
        minutes = parsed.whole("minutes", 120)
        limits: dict[str, Any] = {
            "name": "steelyard",
            "timeout_min": minutes,
            "gpus_per_node": parsed.whole("gpus", None, minimum=0),
            "cpus_per_task": parsed.whole("cpus", None),
            "mem_gb": parsed.number("memory_gb", None),
            "slurm_signal_delay_s": min(90, 10 * minutes),
            "slurm_additional_parameters": {"no_requeue": True},  # the dispatcher counts the attempts
            **{f"slurm_{name}": parsed.text(name) for name in PASSED_ON},
        }
        self._limits = {name: value for name, value in limits.items() if value is not None}
        self._jobs = SlurmJobs()
        self._accepted = False
        """Whether Slurm has accepted a job."""
        self._submitters: dict[int, Any] = {}
        self._slots: dict[int, _Slot] = {}
        self._numbers = count()

    def capacity(self, group: Group) -> int:
        """Return the option `workers`."""
        return self._limit

    def start(self, group: Group) -> int:
        """Reserve a place; a job is submitted with its first shards."""
        if self._cluster == "slurm" and not all(map(shutil.which, COMMANDS)):
            raise MissingPart(
                f"the executor slurm needs the commands {', '.join(COMMANDS)}",
                hint="start it on a machine of the cluster, or try it with --executor 'slurm?cluster=local'",
            )
        number = next(self._numbers)
        self._slots[number] = _Slot(group)
        return number

    def submit(self, worker: int, shards: Sequence[Shard]) -> None:
        """Submit a job. That the first one is refused is an error; later ones are submitted again for some time."""
        slot = self._slots[worker]
        slot.shards, slot.submitted = shards, time.monotonic()
        problem = self._submit(slot)
        if problem is not None and not self._accepted:
            raise UsageError(
                f"Slurm refuses the job: {problem}",
                hint="compare the options of --executor slurm with what sinfo lists",
                option="executor",
                found=problem,
            )

    def _submit(self, slot: _Slot) -> str | None:
        """Submit the job of a slot; return why Slurm refuses it."""
        submitter = self._submitter(slot.group)
        try:
            with without_secrets(slot.group.variables), redirect_stderr(io.StringIO()):
                slot.job = submitter.submit(compute, slot.group, list(slot.shards))
        except (RuntimeError, OSError) as error:  # what submitit raises: sbatch failed, or the folder
            slot.retry = time.monotonic() + RETRY_SECONDS
            return last_line(str(error)) or type(error).__name__
        self._accepted = True
        slot.submitted = time.monotonic()
        return None

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
        events = (self._event(number, slot) for number, slot in self._slots.items())
        return [event for event in events if event is not None]

    def _event(self, number: int, slot: _Slot) -> WorkerEvent | None:
        if not slot.announced:
            slot.announced = True
            return Ready(number, loaded=False)
        if slot.job is not None:
            return self._result(number, slot)
        now = time.monotonic()
        if not slot.shards or now < slot.retry:
            return None
        problem = self._submit(slot)
        if problem is not None:
            check_outage(slot.submitted, problem)
        return None

    def _result(self, number: int, slot: _Slot) -> WorkerEvent | None:
        """Return the result of a job, or its loss."""
        job = slot.job
        if self._cluster == "local":
            if not job.done():
                return None
        elif not self._jobs.has_result(job):
            loss = self._jobs.loss(job, slot.submitted)
            return None if loss is None else Ended(number, f"job {job.job_id}: {loss}")
        slot.job, slot.shards = None, ()
        failure = job.exception()
        if failure is not None:
            return Ended(number, f"job {job.job_id}: {_cause(str(failure))}")
        answer = job.result()
        if isinstance(answer, Failure):
            return Ended(number, f"job {job.job_id}: {answer}", loaded=False)
        return Returned(number, answer)

    def stop(self, worker: int) -> None:
        """Cancel the job of a worker."""
        self._cancel([self._slots.pop(worker)])

    def close(self) -> None:
        """Cancel all jobs."""
        slots = list(self._slots.values())
        self._slots.clear()
        self._cancel(slots)

    def _cancel(self, slots: Sequence[_Slot]) -> None:
        jobs = [slot.job for slot in slots if slot.job is not None]
        if self._cluster == "slurm":
            cancel(jobs)
            return
        for job in jobs:
            job.cancel(check=False)


def compute(group: Group, shards: Sequence[Shard]) -> list[Outcome] | Failure:
    """Load the models and compute the shards: the body of a job. Return why the models cannot be loaded."""
    worker = attempt(lambda: GroupWorker(group))
    if isinstance(worker, Failed):
        return worker.failure
    return [worker.run(shard) for shard in shards]


def _cause(message: str) -> str:
    """Return the last line of the traceback that submitit quotes between two lines of dashes, or of the message."""
    quoted = message.split("-" * 20)
    return last_line(quoted[-2] if len(quoted) > 2 else message)


def _submitit() -> Any:
    try:
        return importlib.import_module("submitit")
    except ImportError as error:
        raise MissingPart.extra("submitit", "slurm") from error


def from_options(options: Mapping[str, str]) -> SlurmExecutor:
    """Return the executor with the options of `--executor slurm?...`."""
    return SlurmExecutor(options)
