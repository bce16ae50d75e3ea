"""Memory that was freed is kept for the next array instead of going back to the system."""

from __future__ import annotations

from functools import cache

import numpy as np

_BLOCK = 1 << 24


@cache
def keep_freed_memory() -> None:
    """Ask the allocator, once, to keep some tens of megabytes that were freed.

    glibc gives every larger block back to the system until it has seen one of some size come and go; from then on it
    keeps what is freed, up to twice that size. Without this a quarter of the time of a small index goes into pages that
    were given away a moment before. The block that shows it the size is never written to and costs no memory.
    """
    np.empty(_BLOCK, dtype=np.uint8)
