"""Who computes batches: one hand in this process, or one for each of several devices, all at work at once.

A hand takes a batch and gives what it computed, or a `Trouble`. What it is, is its own business: a model on the one
device that there is, a process with the model on a device of its own (`torch_process`), a session of ONNX Runtime.
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
AHEAD = 2
"""Batches under way for each hand: one that is computed, one that waits, so that none is idle while others are read."""
PATIENCE = 0.1
"""Seconds between two looks whether hands that were told to stop have stopped."""
ERRORS: tuple[type[Exception], ...] = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, OSError, RuntimeError),
    *(SteelyardError, TypeError, ValueError),
)
"""How a model may fail over a batch."""


@dataclass(frozen=True)
class Trouble:
    """Why a batch was not computed."""

    cause: str
    memory: bool = False
    """Whether memory ran out: a smaller batch may do."""
    error: Exception | None = None
    """What was raised, where it may be kept: one over memory would hold on to it."""
    hint: str | None = None
    """What to do about it, where that is known."""


class Hand(Protocol[R_co]):
    """Computes a batch at a time."""

    def __call__(self, *job: Any) -> R_co | Trouble:
        """What comes of the batch."""
        ...

    def stop(self) -> None:
        """Give up what is under way; the next batch finds it ready again."""
        ...


class Here(Generic[R]):
    """A hand in this process."""

    def __init__(self, compute: Callable[..., R]) -> None:
        self._compute = compute

    def __call__(self, *job: Any) -> R | Trouble:
        """What comes of the batch, or how it failed."""
        return attempt(self._compute, job)

    def stop(self) -> None:
        """Nothing outlives a call."""


def attempt(compute: Callable[..., R], job: Job) -> R | Trouble:
    """What is computed, or how that failed; memory that ran out is free again.

    >>> attempt(abs, (-3,)), attempt(int, ("x",)).cause
    (3, "ValueError: invalid literal for int() with base 10: 'x'")
    """
    try:
        return compute(*job)
    except ERRORS as error:
        cause = f"{type(error).__name__}: {error}"
        if not ran_out_of_memory(error):
            return Trouble(cause, error=error)
    # Only here is the error gone, and with it what it held in memory.
    torch: Any = importlib.import_module("torch") if "torch" in sys.modules else None
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
    return Trouble(cause, memory=True)


class Crew(Generic[R]):
    """Hands that share batches. Several callers may have work for one crew at the same time."""

    def __init__(self, hands: Sequence[Hand[R]]) -> None:
        self._hands = hands
        self._idle: LifoQueue[Hand[R]] = LifoQueue()  # who has worked is asked first: few batches start few processes
        for hand in reversed(hands):
            self._idle.put(hand)

    def __len__(self) -> int:
        return len(self._hands)

    @contextmanager
    def shift(self) -> Iterator[Shift[R]]:
        """Work to be given and taken; who leaves before all of it is taken stops the hands that are at it."""
        if len(self) == 1:
            yield Shift(1, partial(_at_once, self._hands[0]))
            return
        pool = ThreadPoolExecutor(len(self), thread_name_prefix="device")
        working: list[Hand[R]] = []
        shift = Shift(AHEAD * len(self), partial(pool.submit, self._turn, working))
        try:
            yield shift
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            while not shift.ended(PATIENCE):
                for hand in list(working):
                    hand.stop()
            pool.shutdown()

    def _turn(self, working: list[Hand[R]], *job: Any) -> R | Trouble:
        hand = self._idle.get()
        working.append(hand)
        try:
            return hand(*job)
        finally:
            working.remove(hand)
            self._idle.put(hand)


class Shift(Generic[R]):
    """Batches under way, from one who gives and takes them."""

    def __init__(self, most: int, begin: Callable[..., Future[R | Trouble]]) -> None:
        self._most = most
        self._begin = begin
        self._under_way: dict[Future[R | Trouble], Int64] = {}

    @property
    def busy(self) -> bool:
        """Whether something is to be taken."""
        return bool(self._under_way)

    @property
    def room(self) -> bool:
        """Whether another batch may be given."""
        return len(self._under_way) < self._most

    def give(self, rows: Int64, job: Job) -> None:
        """Have a batch computed: that of these rows."""
        self._under_way[self._begin(*job)] = rows

    def take(self) -> tuple[Int64, R | Trouble]:
        """A batch that is done, and what came of it."""
        done, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
        future = done.pop()
        return self._under_way.pop(future), future.result()

    def ended(self, seconds: float) -> bool:
        """Whether nobody is at work any more, or stops within that time."""
        return not wait([batch for batch in self._under_way if not batch.cancelled()], timeout=seconds).not_done


def _at_once(hand: Hand[R], *job: Any) -> Future[R | Trouble]:
    """What the only hand gives, in the caller's thread."""
    future: Future[R | Trouble] = Future()
    future.set_result(hand(*job))
    return future
