"""Threads that each compute their own matrix products, with BLAS limited to one thread.

BLAS divides every product among its threads, which then wait for each other. For many products of medium size that
gains little on an idle machine, and on a busy one it is many times slower than a single thread; its threads also spin
for a while after a product and slow down others. `threadpoolctl` limits BLAS to the calling thread; without that
package, BLAS keeps its own threads.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any, TypeVar

Result = TypeVar("Result")

MapSlices = Callable[[Callable[[slice], Any], int, int], list[Any]]
"""Applies a function to slices of so many items, none longer than the last number, and returns the results."""

MIN_ITEMS = 32
"""The least number of items per thread."""
SLICES_MULTIPLE = 4
"""The number of slices is a multiple of this, so that two or four threads finish together."""


def map_slices(work: Callable[[slice], Result], items: int) -> list[Result]:
    """Return what `work` returns for each slice of the items, in order, with one thread per core.

    The slices depend on the number of threads, so this is for exact work only: a matrix product is rounded differently
    in another slice. `thread_pool` is for those. A few items stay in one slice.

    >>> sum(map_slices(lambda part: sum(range(1000)[part]), 1000))
    499500
    """
    with single_threaded_blas() as threads:
        if threads > 1 and items >= threads * MIN_ITEMS:
            with ThreadPoolExecutor(threads - 1) as pool:
                return _shared(work, _slices(items, -(-items // threads)), pool, threads)
        return [work(part) for part in _slices(items, max(1, items))]


def _shared(
    work: Callable[[slice], Result], slices: Sequence[slice], pool: ThreadPoolExecutor, threads: int
) -> list[Result]:
    """Map in so many threads, of which the caller's is one: a sleeping caller would be woken late."""
    waiting = deque(enumerate(slices))
    results: dict[int, Result] = {}

    def take() -> None:
        while True:
            try:
                number, part = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            results[number] = work(part)

    others = [pool.submit(take) for _ in range(min(threads, len(slices)) - 1)]
    try:
        take()
    finally:
        waiting.clear()  # after an error or an interrupt the rest is not needed
    for other in others:
        other.result()
    return [results[number] for number in range(len(slices))]


@contextmanager
def thread_pool(limit: int) -> Iterator[MapSlices]:
    """Limit BLAS to one thread, and return a function that maps slices in at most `limit` threads, many times.

    The slices are the same with any number of threads, and so are the bits of what is computed.

    >>> with thread_pool(8) as map_parts:
    ...     sum(map_parts(lambda part: sum(range(1000)[part]), 1000, 300))
    499500
    """
    with single_threaded_blas() as threads:
        threads = min(threads, limit)
        if threads == 1:
            yield map_serially
            return
        with ThreadPoolExecutor(threads - 1) as pool:
            yield lambda work, items, longest: _shared(work, even_slices(items, longest), pool, threads)


def map_serially(work: Callable[[slice], Any], items: int, longest: int) -> list[Any]:
    """Map the same slices in the caller's thread, one after the other."""
    return [work(part) for part in even_slices(items, longest)]


def even_slices(items: int, longest: int) -> list[slice]:
    """Return slices of equal length, at most `longest`; one slice, or a multiple of `SLICES_MULTIPLE`.

    They do not depend on the number of threads, because rounding depends on how items are divided.

    >>> even_slices(10, 4)
    [slice(0, 3, None), slice(3, 6, None), slice(6, 9, None), slice(9, 10, None)]
    >>> even_slices(4, 4)
    [slice(0, 4, None)]
    """
    count = -(-items // longest)
    if count > 1:
        count = -(-count // SLICES_MULTIPLE) * SLICES_MULTIPLE
    return _slices(items, -(-items // count)) if count else []


def _slices(items: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, items)) for start in range(0, items, step)]


@contextmanager
def single_threaded_blas() -> Iterator[int]:
    """Limit BLAS to the caller's thread; the value is the number of threads that it would have used.

    So a limit of the user (such as OPENBLAS_NUM_THREADS) applies to the threads that replace it. A second caller that
    enters meanwhile gets 1, because the cores are in use.
    """
    blas = _blas("scipy.linalg" in sys.modules)
    if blas is None:
        yield 1
        return
    threads = _limiter.enter(blas)
    try:
        yield threads
    finally:
        _limiter.leave()


class _Limiter:
    """Counts callers: the first one limits BLAS, and the last one to leave removes the limit."""

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


_limiter = _Limiter()


@cache
def _blas(with_scipy: bool) -> Any:
    """Return the controller of the BLAS libraries of this process; None without `threadpoolctl`.

    scipy brings a library of its own, so that the libraries are listed again once it is loaded.
    """
    try:
        module = import_module("threadpoolctl")
    except ModuleNotFoundError:
        return None
    return module.ThreadpoolController().select(user_api="blas")
