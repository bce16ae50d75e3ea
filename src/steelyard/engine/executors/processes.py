"""Workers in processes of this machine: `--executor processes`, `--executor 'processes?workers=4'`."""

from __future__ import annotations

import importlib
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing import connection as connections
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from steelyard.config import parse_bytes
from steelyard.encoders.devices.child_process import (
    blocked_interrupts,
    exit_with_parent,
    without_main_module,
    without_secrets,
)
from steelyard.engine.batch import Failed, attempt
from steelyard.engine.executors.dispatch import Ended, Ready, Returned, WorkerEvent
from steelyard.engine.executors.process_watch import ProcessWatch
from steelyard.engine.executors.shards import Group, Outcome, Shard
from steelyard.engine.executors.worker import GroupWorker
from steelyard.options import Options
from steelyard.results import Failure

OPTIONS = ("workers", "threads", "timeout", "stalled", "memory")
STALLED = 1800.0
"""Seconds without CPU time after which a worker that has work counts as hanging."""


def cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(eq=False)
class _Child:
    process: Any
    connection: Connection
    busy: bool = True
    """Whether it loads models or has a shard."""
    worked: bool = False
    """Whether it has had a shard."""


class ProcessExecutor:
    """One process per worker, each with a share of the cores."""

    name = "processes"
    shards_per_call = 1

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        parsed = Options("the executor processes", dict(options or {}), OPTIONS)
        self._limit = parsed.whole("workers", cores())
        self._threads = parsed.whole("threads", max(1, cores() // self._limit))
        self.timeout = parsed.number("timeout", None)
        memory = parsed.text("memory")
        stalled = parsed.number("stalled", STALLED, minimum=0)
        self._watch = ProcessWatch(stalled, None if memory is None else parse_bytes(memory, "memory= of the executor"))
        self._children: dict[int, _Child] = {}
        self._numbers = count()
        self._context = get_context("spawn")

    def capacity(self, group: Group) -> int:
        """Return the option `workers`, or the number of cores."""
        return self._limit

    def start(self, group: Group) -> int:
        """Start a process that loads the models."""
        number = next(self._numbers)
        near, far = self._context.Pipe()
        with without_secrets(group.variables), blocked_interrupts(), without_main_module():
            process = self._context.Process(target=_serve, args=(far, group, self._threads), daemon=True)
            process.start()
        far.close()
        self._children[number] = _Child(process, near)
        return number

    def submit(self, worker: int, shards: Sequence[Shard]) -> None:
        """Send shards to a process; if it has ended, `wait` reports that."""
        child = self._children[worker]
        child.busy = child.worked = True
        with suppress(OSError):
            child.connection.send(list(shards))

    def wait(self, seconds: float) -> list[WorkerEvent]:
        """Return the messages of processes, and which have ended."""
        numbers = {child.connection: number for number, child in self._children.items()}
        events: list[WorkerEvent] = []
        for connection in connections.wait(list(numbers), seconds):
            number = numbers[connection]  # type: ignore[index]
            try:
                message = self._children[number].connection.recv()
            except (EOFError, OSError):
                events.append(Ended(number, self._ending(number)))
                continue
            if isinstance(message, Failure):
                events.append(Ended(number, str(message)))
            else:
                self._children[number].busy = False
                events.append(Ready(number) if message is None else Returned(number, message))
        return [*events, *self._look()]

    def _look(self) -> list[WorkerEvent]:
        """Return the workers that hang or hold too much memory.

        One that has only loaded its models may hold what it wants: it must first be given a shard, and so be tried.
        """
        busy = {child.process.pid: number for number, child in self._children.items() if child.busy}
        idle = {child.process.pid: number for number, child in self._children.items() if child.worked} | busy
        return [Ended(idle[pid], reason) for pid, reason in self._watch.problems(list(idle), waiting=busy).items()]

    def _ending(self, number: int) -> str:
        process = self._children[number].process
        process.join(timeout=10)
        code = process.exitcode
        if code is not None and code < 0:
            return f"the process was killed by {signal.Signals(-code).name}"
        return f"the process ended with exit code {code}"

    def stop(self, worker: int) -> None:
        """Kill a process."""
        child = self._children.pop(worker)
        child.connection.close()
        child.process.kill()
        child.process.join()

    def close(self) -> None:
        """Kill all processes."""
        for number in list(self._children):
            self.stop(number)


def _serve(connection: Connection, group: Group, threads: int) -> None:
    """Load the models, then compute shards until the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the driver, which ends this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=exit_with_parent, daemon=True).start()
    worker = attempt(lambda: GroupWorker(group))
    importlib.import_module("threadpoolctl").threadpool_limits(threads)  # of the libraries that models have loaded
    with suppress(EOFError, OSError):
        if isinstance(worker, Failed):
            connection.send(worker.failure)
            return
        connection.send(None)
        while True:
            outcomes: list[Outcome] = [worker.run(shard) for shard in connection.recv()]
            connection.send(outcomes)


def from_options(options: Mapping[str, str]) -> ProcessExecutor:
    """Return the executor with the options of `--executor processes?workers=N&memory=SIZE` and so on: `OPTIONS`."""
    return ProcessExecutor(options)
