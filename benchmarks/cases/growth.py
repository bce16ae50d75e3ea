"""Row 13: how cost grows with documents, queries, dimensions, tasks and models, as fitted exponents."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cases import bm25, comparison, metrics, search
from harness.case import Case, Contestant


def make(what: str, sizes: list[int]) -> tuple[str, list[int]]:
    return what, sizes


def _job(what: str, size: int) -> Callable[[], Any]:
    if what == "bm25 by documents":
        return bm25.ours(bm25.make(size, 200, "en"))
    if what == "dense search by documents":
        return search.ours(search.make(size, 200))
    if what == "dense search by queries":
        return search.ours(search.make(20_000, size))
    if what == "metrics by queries":
        return metrics.ours(metrics.make(size, 200, 10_000))
    return comparison.ours(comparison.make(size, 200))


def ours(data: tuple[str, list[int]]) -> Callable[[], dict[str, float]]:
    """Time every size three times; the slope of log time over log size is the exponent."""
    what, sizes = data

    def work() -> dict[str, float]:
        seconds = []
        for size in sizes:
            job, times = _job(what, size), []
            for _ in range(3):
                start = time.process_time()
                job()
                times.append(time.process_time() - start)
            seconds.append(min(times))
        slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        return {"exponent": slope} | {f"CPU_s_at_{size}": value for size, value in zip(sizes, seconds, strict=True)}

    return work


CASES = [
    Case(
        13,
        f"growth-{what.replace(' ', '-')}",
        f"{what[0].upper()}{what[1:]}: {sizes[0]:,} to {sizes[-1]:,}",
        (Contestant("steelyard", "ours"),),
        {"what": what, "sizes": sizes},
        rounds=1,
    )
    for what, sizes in {
        "bm25 by documents": [5_000, 20_000, 80_000],
        "dense search by documents": [10_000, 40_000, 160_000],
        "dense search by queries": [100, 400, 1600],
        "metrics by queries": [500, 2000, 8000],
        "comparison by models": [10, 20, 40, 80],
    }.items()
]
