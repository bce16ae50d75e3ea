"""Row 13: how cost grows with documents, queries, dimensions, tasks and models, as fitted exponents."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cases import bm25, comparison, metrics, search
from harness import made_tasks
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
    if what == "dense search by dimensions":
        return search.ours(search.make(20_000, 400, size))
    if what == "metrics by queries":
        return metrics.ours(metrics.make(size, 200, 10_000))
    if what == "evaluation by tasks":
        return _evaluation(1, size)
    if what == "evaluation by models":
        return _evaluation(size, 1)
    return comparison.ours(comparison.make(size, 200))


def _evaluation(models: int, tasks: int) -> Callable[[], Any]:
    """Return a whole evaluation of models with vectors given on tasks of 500 documents and 50 queries."""
    from steelyard import evaluate
    from steelyard.encoders.backends.function import from_function
    from steelyard.retrievers.dense import DenseRetriever

    task = made_tasks.retrieval(500, 50)
    vectors = made_tasks.table_of(task)
    vectors["steelyard"] = next(iter(vectors.values()))  # asked for to learn the dimension
    lookup = made_tasks.Lookup(vectors)
    asked = [replace(task, info=replace(task.info, name=f"Made/task{number}")) for number in range(tasks)]
    names = [f"model{number}" for number in range(models)]
    retrievers = [DenseRetriever(f"dense:{name}", from_function(lookup, name, batch_size=1 << 20)) for name in names]
    return lambda: evaluate(retrievers, asked)


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


QUICK = ("bm25 by documents", "metrics by queries", "evaluation by tasks")
CASES = [
    Case(
        13,
        f"growth-{what.replace(' ', '-')}",
        f"{what[0].upper()}{what[1:]}: {sizes[0]:,} to {sizes[-1]:,}".replace("Bm25", "BM25"),
        (Contestant("steelyard", "ours"),),
        {"what": what, "sizes": sizes},
        rounds=1,
        quick=what in QUICK,
    )
    for what, sizes in {
        "bm25 by documents": [5_000, 20_000, 80_000],
        "dense search by documents": [10_000, 40_000, 160_000],
        "dense search by queries": [100, 400, 1600],
        "dense search by dimensions": [128, 512, 2048],
        "metrics by queries": [500, 2000, 8000],
        "evaluation by tasks": [5, 20, 80],
        "evaluation by models": [5, 20, 80],
        "comparison by models": [10, 20, 40, 80],
    }.items()
]
