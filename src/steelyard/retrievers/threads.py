"""Run numpy work on several cores at once, with results in the order of the work."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_MAX_THREADS = 8
"""Every thread holds a portion of the corpus: more would cost memory and wait for the interpreter."""


def threads(limit: int | None = None) -> int:
    """Return how many threads to use: `limit`, or else the cores that this process may use, at most eight."""
    if limit is not None:
        return limit
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MAX_THREADS)


def in_order(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """Yield the result for each item in the order of the items, computed ahead by `workers` threads.

    Items are drawn one by one in the caller's thread, and at most `workers` results wait to be taken.

    >>> list(in_order(abs, [-3, 1, -2], 2))
    [3, 1, 2]
    """
    if workers <= 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
