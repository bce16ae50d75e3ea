"""Matrix products that stay in the thread that asks for them, so that threads can work on parts of their own.

BLAS divides every product among its threads, which then wait for each other. For many products of middling size that
gives little on an idle machine, and on a busy one it is many times slower than one thread alone. `threadpoolctl` can
tell BLAS to leave products whole; where it is not installed, BLAS does as it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

MOST = 8
"""Each thread has memory of its own: more would cost more than they bring."""


@contextmanager
def undivided_products() -> Iterator[int]:
    """Within this context BLAS works in the caller's thread; the value is how many threads it would have used.

    So a limit that the user has set (OPENBLAS_NUM_THREADS and its like) holds for what replaces them.
    """
    blas = _blas()
    if blas is None:
        yield 1
        return
    threads = max((library.num_threads for library in blas.lib_controllers), default=1)
    with blas.limit(limits=1):
        yield min(threads, MOST)


@cache
def _blas() -> Any:
    """What steers the BLAS libraries of this process; none without `threadpoolctl`."""
    try:
        module = import_module("threadpoolctl")
    except ModuleNotFoundError:
        return None
    return module.ThreadpoolController().select(user_api="blas")
