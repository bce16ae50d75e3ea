"""How the C library's allocator treats freed memory: kept for small indexes, returned after large ones."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

import numpy as np

_BLOCK = 1 << 24


@cache
def keep_freed_memory() -> None:
    """Make the allocator keep some tens of megabytes of freed memory.

    glibc returns every larger block to the system until a block of some size has been freed; from then on it keeps
    freed blocks of up to twice that size. Without this, a quarter of the time of a small index is spent on pages that
    were returned a moment before. The block is never written to and takes no memory.
    """
    np.empty(_BLOCK, dtype=np.uint8)


def return_freed_memory() -> None:
    """Return freed memory to the system after a large index was built (glibc only)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
