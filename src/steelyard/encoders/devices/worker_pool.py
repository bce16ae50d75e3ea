"""Workers that compute batches: one in this process, or one for each of several devices, all at the same time.

A worker takes a batch and returns the result or a `BatchFailure`. It may be a model on the only device, a process with
the model on another device (`device_process`), or a session of ONNX Runtime.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from queue import LifoQueue
from typing import Any, Generic, Protocol, TypeVar

from steelyard.encoders.devices.choice import ran_out_of_memory
from steelyard.errors import SteelyardError
from steelyard.types import Int64

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Job = tuple[Any, ...]
BATCHES_PER_WORKER = 2
"""One batch that is computed and one that waits, so that no worker is idle while results are read."""
STOP_POLL_SECONDS = 0.1
"""The time between two checks whether stopped workers have ended."""
ERRORS: tuple[type[Exception], ...] = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, OSError, RuntimeError),
    *(SteelyardError, TypeError, ValueError),
)
"""What a model may raise for a batch."""


@dataclass(frozen=True)
class BatchFailure:
    """Why a batch was not computed."""

    cause: str
    memory: bool = False
    """Whether memory ran out: a smaller batch may work."""
    error: Exception | None = None
    """What was raised; None if memory ran out, because the error would keep that memory allocated."""
    hint: str | None = None
    """What to do about it, if known."""


class Worker(Protocol[R_co]):
    """Computes one batch at a time."""

    def __call__(self, *job: Any) -> R_co | BatchFailure:
        """Return the result of the batch."""
        ...

    def stop(self) -> None:
        """Give up the batch in progress; the next one starts normally."""
        ...


class LocalWorker(Generic[R]):
    """A worker in this process."""

    def __init__(self, compute: Callable[..., R]) -> None:
        self._compute = compute

    def __call__(self, *job: Any) -> R | BatchFailure:
        """Return the result of the batch, or why it failed."""
        return run_batch(self._compute, job)

    def stop(self) -> None:
        """Do nothing: no work continues after a call."""


def run_batch(compute: Callable[..., R], job: Job) -> R | BatchFailure:
    """Return the result of a computation, or why it failed; memory that ran out is released.

    >>> run_batch(abs, (-3,)), run_batch(int, ("x",)).cause
    (3, "ValueError: invalid literal for int() with base 10: 'x'")
    """
    try:
        return compute(*job)
    except ERRORS as error:
        cause = f"{type(error).__name__}: {error}"
        if not ran_out_of_memory(error):
            return BatchFailure(cause, error=error)
    # The error, and the memory that its frames referenced, are released only after the handler.
    torch: Any = importlib.import_module("torch") if "torch" in sys.modules else None
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
    return BatchFailure(cause, memory=True)


class WorkerPool(Generic[R]):
    """Workers that share batches. Several callers may use one pool at the same time."""

    def __init__(self, workers: Sequence[Worker[R]]) -> None:
        self._workers = workers
        self._idle: LifoQueue[Worker[R]] = LifoQueue()  # the last used one first: few batches start few processes
        for worker in reversed(workers):
            self._idle.put(worker)

    def __len__(self) -> int:
        return len(self._workers)

    @contextmanager
    def open(self) -> Iterator[PendingBatches[R]]:
        """Submit batches and read results; leaving the context early stops the workers that are still computing."""
        if len(self) == 1:
            yield PendingBatches(1, partial(_compute_now, self._workers[0]))
            return
        pool = ThreadPoolExecutor(len(self), thread_name_prefix="device")
        active: list[Worker[R]] = []
        pending = PendingBatches(BATCHES_PER_WORKER * len(self), partial(pool.submit, self._compute, active))
        try:
            yield pending
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            while not pending.ended(STOP_POLL_SECONDS):
                for worker in list(active):
                    worker.stop()
            pool.shutdown()

    def _compute(self, active: list[Worker[R]], *job: Any) -> R | BatchFailure:
        worker = self._idle.get()
        active.append(worker)
        try:
            return worker(*job)
        finally:
            active.remove(worker)
            self._idle.put(worker)


class PendingBatches(Generic[R]):
    """The batches in progress of one caller."""

    def __init__(self, limit: int, start: Callable[..., Future[R | BatchFailure]]) -> None:
        self._limit = limit
        self._start = start
        self._futures: dict[Future[R | BatchFailure], Int64] = {}

    @property
    def busy(self) -> bool:
        """Whether a result is still to be read."""
        return bool(self._futures)

    @property
    def has_room(self) -> bool:
        """Whether another batch may be submitted."""
        return len(self._futures) < self._limit

    def submit(self, rows: Int64, job: Job) -> None:
        """Start the batch of these rows."""
        self._futures[self._start(*job)] = rows

    def next_done(self) -> tuple[Int64, R | BatchFailure]:
        """Wait for a batch; return its rows and its result."""
        done, _ = wait(self._futures, return_when=FIRST_COMPLETED)
        future = done.pop()
        return self._futures.pop(future), future.result()

    def ended(self, seconds: float) -> bool:
        """Return whether all workers have ended, waiting at most that long."""
        return not wait([future for future in self._futures if not future.cancelled()], timeout=seconds).not_done


def _compute_now(worker: Worker[R], *job: Any) -> Future[R | BatchFailure]:
    """Return the result of the only worker, computed in the caller's thread."""
    future: Future[R | BatchFailure] = Future()
    future.set_result(worker(*job))
    return future
