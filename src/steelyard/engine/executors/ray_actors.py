"""Workers as actors of a Ray cluster: `--executor ray`, `--executor 'ray?address=HOST:6379&cpus=2&gpus=1'`.

An actor loads the models of a group once. Ray itself restarts and retries nothing: a raylet that is killed uses up the
retries of a queued call within seconds. The dispatcher gives the shard to another actor instead. Nothing that is needed
later is kept in Ray's object store: encodings are files, and results are stored by the driver.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from steelyard.config import parse_bytes
from steelyard.engine.executors.dispatch import Ended, Ready, Returned, WorkerEvent
from steelyard.engine.executors.shards import Group, Shard
from steelyard.engine.executors.worker import GroupWorker
from steelyard.errors import MissingPart, UsageError
from steelyard.http.secrets import secret_variables
from steelyard.models.model_cards import Card, card
from steelyard.options import Options
from steelyard.spec import ModelSpec

OPTIONS = ("address", "workers", "cpus", "gpus", "memory", "timeout")
MEMORY_PER_PARAMETER = 6
"""Bytes: four of the weight, and half as much again for a batch."""


@dataclass(frozen=True)
class Request:
    """What an actor needs of the machine that it runs on."""

    cpus: float = 1.0
    gpus: float = 0.0
    memory: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `ray.remote`."""
        memory = {} if self.memory is None else {"memory": self.memory}
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_restarts": 0, "max_task_retries": 0, **memory}

    def fits(self, total: Mapping[str, float]) -> int:
        """Return how many such actors fit into the resources of a cluster.

        >>> Request(cpus=2, gpus=1).fits({"CPU": 8, "GPU": 2}), Request(gpus=1).fits({"CPU": 8})
        (2, 0)
        """
        counts = [int(total.get("CPU", 0) // self.cpus)] if self.cpus else [1]
        counts += [int(total.get("GPU", 0) // self.gpus)] if self.gpus else []
        counts += [int(total.get("memory", 0) // self.memory)] if self.memory else []
        return min(counts)


@dataclass(eq=False)
class _Actor:
    handle: Any
    pending: Any
    """The reference of the call in progress."""
    loading: bool = True


class RayExecutor:
    """One actor per worker."""

    name = "ray"
    shards_per_call = 1

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        parsed = Options("the executor ray", dict(options or {}), OPTIONS)
        self._ray = _ray()
        self._workers = parsed.whole("workers", None)
        self.timeout = parsed.number("timeout", None)
        self._cpus = parsed.number("cpus", 1.0, minimum=0)
        self._gpus = parsed.number("gpus", None, minimum=0)
        memory = parsed.text("memory")
        self._memory = None if memory is None else parse_bytes(memory, "memory= of the executor")
        self._actors: dict[int, _Actor] = {}
        self._numbers = count()
        self._connected = not self._ray.is_initialized()
        if self._connected:
            _connect(self._ray, parsed.text("address"))
        self._errors = self._ray.exceptions

    def capacity(self, group: Group) -> int:
        """Return how many actors fit into the cluster as it is now, or the option `workers`; at least one."""
        total = self._ray.cluster_resources()
        fitting = self._request(group, total).fits(total)
        return max(1, fitting if self._workers is None else min(self._workers, fitting))

    def _request(self, group: Group, total: Mapping[str, float]) -> Request:
        """Return what the models need, by the options and by their cards."""
        cards = [known for model in group.models for known in cards_of(model)]
        wants_gpu = bool(total.get("GPU")) and any(known.needs == "torch" for known in cards)
        gpus = self._gpus if self._gpus is not None else float(wants_gpu)
        parameters = sum(known.parameters or 0 for known in cards)
        memory = self._memory if self._memory is not None else parameters * MEMORY_PER_PARAMETER or None
        if self._memory is None and memory is not None and memory > total.get("memory", 0):
            memory = None  # an estimate must not keep a model from being tried
        return Request(self._cpus, gpus, memory)

    def start(self, group: Group) -> int:
        """Create an actor; it waits for resources by itself."""
        number = next(self._numbers)
        request = self._request(group, self._ray.cluster_resources())
        hidden = dict.fromkeys(secret_variables(os.environ, [*group.variables, "RAY_*"]), "")
        environment = {"runtime_env": {"env_vars": hidden}} if hidden else {}
        handle = self._ray.remote(**request.options, **environment)(_Remote).remote(group)
        self._actors[number] = _Actor(handle, handle.load.remote())
        return number

    def submit(self, worker: int, shards: Sequence[Shard]) -> None:
        """Call an actor with shards."""
        actor = self._actors[worker]
        actor.pending = actor.handle.run.remote(list(shards))

    def wait(self, seconds: float) -> list[WorkerEvent]:
        """Return which calls have finished and which actors have ended."""
        pending = {actor.pending: number for number, actor in self._actors.items() if actor.pending is not None}
        if not pending:
            return []
        done, _ = self._ray.wait(list(pending), num_returns=1, timeout=seconds)
        if done:  # take all others that are finished, too
            done, _ = self._ray.wait(list(pending), num_returns=len(pending), timeout=0)
        return [self._event(pending[reference], reference) for reference in done]

    def _event(self, number: int, reference: Any) -> WorkerEvent:
        actor = self._actors[number]
        actor.pending = None
        try:
            answer = self._ray.get(reference)
        except self._errors.RayError as error:
            cause = getattr(error, "cause", None)
            return Ended(number, f"{type(error).__name__}: {cause or error}".splitlines()[0][:300])
        if actor.loading:
            actor.loading = False
            return Ready(number)
        return Returned(number, answer)

    def stop(self, worker: int) -> None:
        """Kill an actor."""
        self._ray.kill(self._actors.pop(worker).handle, no_restart=True)

    def close(self) -> None:
        """Kill all actors and leave the cluster, if this executor has joined it."""
        for number in list(self._actors):
            self.stop(number)
        if self._connected:
            self._ray.shutdown()


class _Remote:
    """The body of an actor: a worker, loaded in a call so that errors are reported as errors."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._worker: GroupWorker | None = None

    def load(self) -> None:
        """Load the models."""
        self._worker = GroupWorker(self._group)

    def run(self, shards: Sequence[Shard]) -> Any:
        """Compute shards."""
        assert self._worker is not None
        return [self._worker.run(shard) for shard in shards]


def cards_of(spec: ModelSpec) -> list[Card]:
    """Return the cards of a model and of its parts, as far as there are any."""
    own = card(spec.id or spec.family)
    return [*([own] if own is not None else []), *(known for part in spec.parts for known in cards_of(part))]


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise MissingPart.extra("ray", "ray") from error


def _connect(ray: Any, address: str | None) -> None:
    """Join a cluster: that of the address or of RAY_ADDRESS, else a new one on this machine."""
    try:
        ray.init(
            address=address, log_to_driver=False, logging_level="error", include_dashboard=None if address else False
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UsageError(
            f"the Ray cluster {address or 'of this machine'} cannot be reached: {str(error).splitlines()[0]}",
            hint="start one with `ray start --head`, or leave out the address; a cluster with tokens (the default "
            "since Ray 2.60) needs RAY_AUTH_MODE=token",
            option="address",
            found=address,
        ) from error


def from_options(options: Mapping[str, str]) -> RayExecutor:
    """Return the executor with the options of `--executor ray?...`."""
    return RayExecutor(options)
