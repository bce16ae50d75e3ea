"""Models of torch on several devices: a process for each device, which computes for all models of the run.

A process has the weights of a model on the CPU in common with this one. It is started when there is a batch for it, and
nothing of it outlives the run: it ends when this process does, however that happens. An interrupt from the keyboard is
for this process alone; it stops the others.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any, TypeVar

from steelyard.encoders.devices.worker_pool import BatchFailure, LocalWorker, Worker, WorkerPool, run_batch
from steelyard.errors import ModelError

R = TypeVar("R")
Place = tuple[str, int, int]
"""A device, which of several processes on it, and how many threads that has."""
_ONE_BY_ONE = threading.Lock()
"""Processes are started, and given a model, one after the other; what takes them long, imports, is between these."""
_PROCESSES: weakref.WeakValueDictionary[Place, DeviceProcess] = weakref.WeakValueDictionary()
_NUMBERS = count()


@dataclass(frozen=True)
class Computation:
    """A function of a model and a batch, with the model; it can be sent to another process."""

    model: Any
    compute: Callable[..., Any]

    def __call__(self, *job: Any) -> Any:
        """What comes of the batch."""
        return self.compute(self.model, *job)


def device_pool(model: Any, devices: Sequence[str], compute: Callable[..., R]) -> WorkerPool[R]:
    """Hands that call `compute(model, ...)`, one on each device; a model on several devices lies on the CPU here.

    `compute` is a function of a module, and what it takes and gives can be pickled.
    """
    if len(devices) == 1:
        return WorkerPool([LocalWorker(Computation(model, compute))])
    cores = importlib.import_module("torch").get_num_threads()
    threads = max(1, cores // max(1, sum(device.startswith("cpu") for device in devices)))
    places = [(device, devices[:number].count(device), threads) for number, device in enumerate(devices)]
    hands: list[Worker[R]] = [DeviceWorker(Computation(model, compute), _process_at(place)) for place in places]
    return WorkerPool(hands)


class DeviceWorker:
    """A hand that has the computing done by the process of a device."""

    def __init__(self, computation: Computation, process: DeviceProcess) -> None:
        self._computation = computation
        self._process = process
        self._number = next(_NUMBERS)
        weakref.finalize(self, process.no_longer_needed.append, self._number)

    def __call__(self, *job: Any) -> Any:
        """What the process makes of the batch; one that ends over it is a Trouble that says how."""
        return self._process.computed(self._number, self._computation, job)

    def stop(self) -> None:
        """End the process, whatever it does."""
        self._process.stop()


class DeviceProcess:
    """A process of its own for a device. It is there from the first batch until no model needs it any more."""

    def __init__(self, place: Place) -> None:
        self._device, _, self._threads = place
        self._busy = threading.Lock()
        self._holds: set[int] = set()
        self.no_longer_needed: list[int] = []
        """Numbers of models that the process may forget."""
        self._line: Connection | None = None
        self._process: Any = None
        self._end: Any = None

    def computed(self, number: int, computation: Computation, job: tuple[Any, ...]) -> Any:
        """What the process makes of the batch, once it has the model; a Trouble where it cannot."""
        with self._busy:
            try:
                line = self._line or self._start()
                if number not in self._holds:
                    with _ONE_BY_ONE:
                        refused = _model_sent(line, number, computation)
                    if refused is not None:
                        return replace(refused, cause=f"{refused.cause} (the model cannot be had on {self._device})")
                    self._holds.add(number)
                line.send((number, job, self._forgotten()))
                found = line.recv()
            except (EOFError, OSError):
                return self._lost()
        return replace(found, cause=f"{found.cause} (on {self._device})") if isinstance(found, BatchFailure) else found

    def _start(self) -> Connection:
        context = importlib.import_module("torch.multiprocessing").get_context("spawn")
        line: Connection
        line, far = context.Pipe()
        with _ONE_BY_ONE, _without_interrupts(), _without_the_script():
            self._process = context.Process(target=_serve, args=(far, self._device, self._threads), daemon=True)
            self._process.start()
            self._end = weakref.finalize(self, _ended, self._process)
        far.close()
        line.recv()
        self._line, self._holds = line, set()
        return line

    def _forgotten(self) -> list[int]:
        """The models that the process holds for nobody."""
        gone = [self.no_longer_needed.pop() for _ in range(len(self.no_longer_needed))]
        self._holds -= set(gone)
        return gone

    def _lost(self) -> BatchFailure:
        """How the process ended; the next batch will start another."""
        self._process.join(timeout=10)
        code = self._process.exitcode
        self.stop()
        self._line = None
        how = f"was killed (signal {-code})" if code is not None and code < 0 else f"ended with exit code {code}"
        hint = "is there too little memory? smaller batch_tokens, or fewer devices" if code == -signal.SIGKILL else None
        return BatchFailure(f"the process on {self._device} {how}", hint=hint)

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self._end is not None:
            self._end()


def _process_at(place: Place) -> DeviceProcess:
    """The process of that place, the same for all models."""
    return _PROCESSES.setdefault(place, DeviceProcess(place))


def _model_sent(line: Connection, number: int, computation: Computation) -> BatchFailure | None:
    """Hand a process the model; a Trouble where that cannot be."""
    computation.model.share_memory()
    sent: BatchFailure | None = run_batch(line.send, ((number, computation, []),))
    if sent is None:
        refused: BatchFailure | None = line.recv()
        return refused
    if isinstance(sent.error, OSError):
        raise sent.error
    return replace(sent, hint="use one device")


def _ended(process: Any) -> None:
    process.kill()
    process.join()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """A process that is started here never sees Ctrl-C: it takes over what is blocked."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    importlib.import_module("multiprocessing.resource_tracker").ensure_running()  # its own start would unblock them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _without_the_script() -> Iterator[None]:
    """A process that is started here does not run the script again that started it: it needs nothing of it."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _serve(line: Connection, device: str, threads: int) -> None:
    """The life of a process: it takes models and batches for them, until nobody is there to give them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    importlib.import_module("torch").set_num_threads(threads)
    importlib.import_module("sentence_transformers")
    # The lock that progress bars would make lies outside of the process, and would stay there when this one is killed.
    importlib.import_module("tqdm").tqdm.set_lock(threading.RLock())
    held: dict[int, Computation] = {}
    with suppress(EOFError, OSError):
        line.send("ready")
        while True:
            line.send(_portable(run_batch(_answer, (line, device, held))))


def _answer(line: Connection, device: str, held: dict[int, Computation]) -> Any:
    """What is to be said to the next message: a model to hold, or a batch for one."""
    number, what, forgotten = line.recv()
    for gone in forgotten:
        held.pop(gone, None)
    if isinstance(what, Computation):
        what.model.to(device)
        held[number] = what
        return None
    return held[number](*what)


def _portable(found: Any) -> Any:
    """Of errors only our own can be sent."""
    if isinstance(found, BatchFailure) and not isinstance(found.error, ModelError):
        return replace(found, error=None)
    return found


def _end_with_the_parent() -> None:
    parent = importlib.import_module("multiprocessing").parent_process()
    parent.join()
    os._exit(1)
