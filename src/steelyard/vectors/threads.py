"""Matrix products that stay in the thread that asks for them, so that threads can work on parts of their own.

BLAS divides every product among its threads, which then wait for each other. For many products of middling size that
gives little on an idle machine, and on a busy one it is many times slower than one thread alone; and its threads go
on turning for a while, in the way of whoever would use the cores next. `threadpoolctl` can tell BLAS to leave
products whole; where it is not installed, BLAS does as it does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any, TypeVar

Result = TypeVar("Result")

Spread = Callable[[Callable[[slice], Any], int, int], list[Any]]
"""What a function gives for each share of so many lines, no share larger than the last number."""

WORTH = 32
"""Lines a thread, at least: a product of fewer lines is better divided by BLAS."""
EVEN = 4
"""Shares come in so many at a time, so that two threads or four are done with theirs together."""


def by_cores(work: Callable[[slice], Result], lines: int, *, held: int | None = None) -> list[Result]:
    """What `work` gives for each share of the lines, in order: a thread for each core, each with its own products.

    No more than `held` lines are worked on at a time. Few lines stay together, and BLAS divides their products.

    >>> sum(by_cores(lambda share: sum(range(1000)[share]), 1000, held=300))
    499500
    """
    held = held or max(1, lines)
    with undivided_products() as threads:
        if threads > 1 and min(lines, held) >= threads * WORTH:
            step = -(-lines // threads) if lines <= held else held // threads
            return _by_threads(work, _shares(lines, step), threads)
    return [work(share) for share in _shares(lines, held)]


def _by_threads(work: Callable[[slice], Result], shares: Sequence[slice], threads: int) -> list[Result]:
    """The same in so many threads, of which the caller's is one: it would be woken late, had it gone to sleep."""
    waiting = deque(enumerate(shares))
    found: dict[int, Result] = {}

    def take() -> None:
        while True:
            try:
                place, share = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            found[place] = work(share)

    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(take) for _ in range(threads - 1)]
        try:
            take()
        finally:
            waiting.clear()  # after an error or an interrupt nobody wants the rest
        for other in others:
            other.result()
    return [found[place] for place in range(len(shares))]


@contextmanager
def spreading(most: int) -> Iterator[Spread]:
    """Within this context products stay whole, and the value spreads lines over the cores: what `by_cores` does, many
    times over with the same threads, `most` at the most.

    >>> with spreading(8) as spread:
    ...     sum(spread(lambda share: sum(range(1000)[share]), 1000, 300))
    499500
    """
    with undivided_products() as threads, ThreadPoolExecutor(min(threads, most)) as pool:

        def spread(work: Callable[[slice], Any], lines: int, held: int) -> list[Any]:
            return [*pool.map(work, even_shares(lines, held))] if lines > held else in_turn(work, lines, held)

        yield spread if threads > 1 else in_turn


def in_turn(work: Callable[[slice], Any], lines: int, held: int) -> list[Any]:
    """The same shares in the caller's thread, one after the other."""
    return [work(share) for share in even_shares(lines, held)]


def even_shares(lines: int, most: int) -> list[slice]:
    """Shares of `most` lines or fewer, all alike, a multiple of `EVEN` in number; what one can hold stays together.

    They do not hang on how many threads there are: rounding does on how lines are divided, and figures must not.

    >>> even_shares(10, 4)
    [slice(0, 3, None), slice(3, 6, None), slice(6, 9, None), slice(9, 10, None)]
    >>> even_shares(4, 4)
    [slice(0, 4, None)]
    """
    count = -(-lines // most)
    if count > 1:
        count = -(-count // EVEN) * EVEN
    return _shares(lines, -(-lines // count)) if count else []


def _shares(lines: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, lines)) for start in range(0, lines, step)]


@contextmanager
def undivided_products() -> Iterator[int]:
    """Within this context BLAS works in the caller's thread; the value is how many threads it would have used.

    So a limit that the user has set (OPENBLAS_NUM_THREADS and its like) holds for what replaces them. Who comes in
    while others are within gets 1: the cores are taken.
    """
    blas = _blas()
    if blas is None:
        yield 1
        return
    threads = _within.enter(blas)
    try:
        yield threads
    finally:
        _within.leave()


class _Within:
    """Those who want products left whole: the first one limits BLAS, and the last one, whoever it is, sets it free."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._limit: Any = None

    def enter(self, blas: Any) -> int:
        with self._lock:
            threads = max((library.num_threads for library in blas.lib_controllers), default=1)
            if not self._count:
                self._limit = blas.limit(limits=1)
            self._count += 1
            return threads

    def leave(self) -> None:
        with self._lock:
            self._count -= 1
            if not self._count:
                self._limit.restore_original_limits()


_within = _Within()


@cache
def _blas() -> Any:
    """What steers the BLAS libraries of this process; none without `threadpoolctl`."""
    try:
        module = import_module("threadpoolctl")
    except ModuleNotFoundError:
        return None
    return module.ThreadpoolController().select(user_api="blas")
