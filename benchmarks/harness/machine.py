"""The measured limits of the machine: what no program here can be faster than."""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np


def median_seconds(work: Callable[[], Any], rounds: int = 5) -> float:
    """Return the median time of some calls, after one that does not count."""
    work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def sgemm_gflops(size: int = 2048) -> float:
    """Return the rate of a product of two square float32 matrices, on all cores."""
    one = np.ones((size, size), dtype=np.float32)
    out = np.empty_like(one)
    return 2 * size**3 / median_seconds(lambda: np.matmul(one, one, out=out)) / 1e9


def memory_gigabytes_per_second(threads: int = 1, megabytes: int = 256) -> float:
    """Return the rate of a copy from memory to memory, reads and writes together."""
    one = np.ones(megabytes << 17)
    out = np.empty_like(one)
    parts = list(zip(np.array_split(out, threads), np.array_split(one, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        seconds = median_seconds(lambda: list(pool.map(lambda part: np.copyto(*part), parts)))
    return 2 * one.nbytes / seconds / 1e9


def disk_megabytes_per_second(megabytes: int = 256) -> tuple[float, float]:
    """Return the rates of reading a file that is not in memory, and of writing one and having it on the disk.

    Where the system cannot be asked to forget a file, the first rate is one of memory.
    """
    block = os.urandom(1 << 20)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"

        def write() -> None:
            with path.open("wb") as file:
                for _ in range(megabytes):
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())

        def read() -> None:
            with path.open("rb", buffering=0) as file:
                if hasattr(os, "posix_fadvise"):
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                while file.read(1 << 22):
                    pass

        written = megabytes / median_seconds(write, 3)
        return megabytes / median_seconds(read, 3), written


def describe() -> dict[str, Any]:
    """Return the processor, the versions and the measured limits."""
    cpu = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        cpu = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    read, written = disk_megabytes_per_second()
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sgemm_gflops": round(sgemm_gflops(), 1),
        "memory_gb_per_s": round(memory_gigabytes_per_second(), 1),
        "memory_gb_per_s_all_cores": round(memory_gigabytes_per_second(os.cpu_count() or 1), 1),
        "disk_mb_per_s": round(written, 1),
        "disk_read_mb_per_s": round(read, 1),
        "ram_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
    }
