"""Torch models on several devices: one process per device, which computes for all models of the run.

A process shares the CPU weights of a model with this one. It is started for its first batch and ends with this process,
however that ends. A keyboard interrupt reaches this process only, which stops the others.
"""

from __future__ import annotations

import importlib
import signal
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from steelyard.encoders.devices.child_process import (
    blocked_interrupts,
    exit_with_parent,
    without_main_module,
    without_secrets,
)
from steelyard.encoders.devices.worker_pool import BatchFailure, LocalWorker, Worker, WorkerPool, run_batch
from steelyard.errors import ModelError

R = TypeVar("R")
Place = tuple[str, int, int]
"""A device, the number of the process on it, and its number of threads."""
_START_LOCK = threading.Lock()
"""Processes are started, and receive a model, one after the other; their slow imports run in parallel."""
_PROCESSES: weakref.WeakValueDictionary[Place, DeviceProcess] = weakref.WeakValueDictionary()
_NUMBERS = count()


@dataclass(frozen=True)
class Computation:
    """A model and a function of the model and a batch; it can be sent to another process."""

    model: Any
    compute: Callable[..., Any]
    threads: int | None = None
    """The number of threads of torch on the CPU; None: as it is."""

    def __call__(self, *job: Any) -> Any:
        """Return the result of the batch."""
        if self.threads is None:
            return self.compute(self.model, *job)
        torch: Any = importlib.import_module("torch")
        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            return self.compute(self.model, *job)
        finally:
            torch.set_num_threads(before)


def device_pool(
    model: Any, devices: Sequence[str], compute: Callable[..., R], threads: int | None = None
) -> WorkerPool[R]:
    """Return a pool of workers that call `compute(model, ...)`, one per device; `threads` of the CPU are for all.

    For several devices the model is on the CPU; `compute` is a module-level function with picklable arguments.
    """
    if len(devices) == 1:
        return WorkerPool([LocalWorker(Computation(model, compute, threads))])
    cores = threads or importlib.import_module("torch").get_num_threads()
    threads = max(1, cores // max(1, sum(device.startswith("cpu") for device in devices)))
    places = [(device, devices[:number].count(device), threads) for number, device in enumerate(devices)]
    workers: list[Worker[R]] = [DeviceWorker(Computation(model, compute), _process_at(place)) for place in places]
    return WorkerPool(workers)


class DeviceWorker:
    """A worker that computes in the process of a device."""

    def __init__(self, computation: Computation, process: DeviceProcess) -> None:
        self._computation = computation
        self._process = process
        self._number = next(_NUMBERS)
        weakref.finalize(self, process.unused_models.append, self._number)

    def __call__(self, *job: Any) -> Any:
        """Return the result of the batch, or a BatchFailure if the process ended."""
        return self._process.computed(self._number, self._computation, job)

    def stop(self) -> None:
        """Kill the process."""
        self._process.stop()


class DeviceProcess:
    """The process of a device. It runs from the first batch until no model uses it."""

    def __init__(self, place: Place) -> None:
        self._device, _, self._threads = place
        self._busy = threading.Lock()
        self._holds: set[int] = set()
        self.unused_models: list[int] = []
        """Numbers of models that the process may drop."""
        self._connection: Connection | None = None
        self._process: Any = None
        self._end: Any = None

    def computed(self, number: int, computation: Computation, job: tuple[Any, ...]) -> Any:
        """Return the result of the batch, sending the model first if necessary."""
        with self._busy:
            try:
                connection = self._connection or self._start()
                if number not in self._holds:
                    with _START_LOCK:
                        failure = _send_model(connection, number, computation)
                    if failure is not None:
                        return replace(failure, cause=f"{failure.cause} (loading the model on {self._device})")
                    self._holds.add(number)
                connection.send((number, job, self._take_unused()))
                result = connection.recv()
            except (EOFError, OSError):
                return self._lost()
        if isinstance(result, BatchFailure):
            return replace(result, cause=f"{result.cause} (on {self._device})")
        return result

    def _start(self) -> Connection:
        context = importlib.import_module("torch.multiprocessing").get_context("spawn")
        connection: Connection
        connection, far = context.Pipe()
        with _START_LOCK, without_secrets(), blocked_interrupts(), without_main_module():
            self._process = context.Process(target=_serve, args=(far, self._device, self._threads), daemon=True)
            self._process.start()
            self._end = weakref.finalize(self, _ended, self._process)
        far.close()
        connection.recv()
        self._connection, self._holds = connection, set()
        return connection

    def _take_unused(self) -> list[int]:
        """Return the models that the process holds and nobody uses."""
        unused = [self.unused_models.pop() for _ in range(len(self.unused_models))]
        self._holds -= set(unused)
        return unused

    def _lost(self) -> BatchFailure:
        """Return how the process ended; the next batch starts another."""
        self._process.join(timeout=10)
        code = self._process.exitcode
        self.stop()
        self._connection = None
        how = f"was killed (signal {-code})" if code is not None and code < 0 else f"ended with exit code {code}"
        hint = "reduce batch_tokens or the number of devices if memory is short" if code == -signal.SIGKILL else None
        return BatchFailure(f"the process on {self._device} {how}", hint=hint)

    def stop(self) -> None:
        """Kill the process."""
        if self._end is not None:
            self._end()


def _process_at(place: Place) -> DeviceProcess:
    """Return the process of that place, the same for all models."""
    return _PROCESSES.setdefault(place, DeviceProcess(place))


def _send_model(connection: Connection, number: int, computation: Computation) -> BatchFailure | None:
    """Send the model to a process; return a BatchFailure if that is not possible."""
    computation.model.share_memory()
    sent: BatchFailure | None = run_batch(connection.send, ((number, computation, []),))
    if sent is None:
        failure: BatchFailure | None = connection.recv()
        return failure
    if isinstance(sent.error, OSError):
        raise sent.error
    return replace(sent, hint="set device to one device")


def _ended(process: Any) -> None:
    process.kill()
    process.join()


def _serve(connection: Connection, device: str, threads: int) -> None:
    """Receive models and batches and send results, until the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=exit_with_parent, daemon=True).start()
    importlib.import_module("torch").set_num_threads(threads)
    importlib.import_module("sentence_transformers")
    # The default lock of progress bars is a system-wide semaphore, which would remain when this process is killed.
    importlib.import_module("tqdm").tqdm.set_lock(threading.RLock())
    held: dict[int, Computation] = {}
    with suppress(EOFError, OSError):
        connection.send("ready")
        while True:
            connection.send(_portable(run_batch(_answer, (connection, device, held))))


def _answer(connection: Connection, device: str, held: dict[int, Computation]) -> Any:
    """Return the answer to the next message: a model to hold, or a batch for one."""
    number, content, unused = connection.recv()
    for model in unused:
        held.pop(model, None)
    if isinstance(content, Computation):
        content.model.to(device)
        held[number] = content
        return None
    return held[number](*content)


def _portable(result: Any) -> Any:
    """Return the result without an error that cannot be pickled."""
    if isinstance(result, BatchFailure) and not isinstance(result.error, ModelError):
        return replace(result, error=None)
    return result
