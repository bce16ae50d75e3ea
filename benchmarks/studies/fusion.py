"""Fusing two top-500 lists of 10,000 queries, against ranx (compiled, parallel): interleaved repetitions, medians.

    python benchmarks/studies/fusion.py                    20 times ranx or better
    python benchmarks/studies/fusion.py --queries 1000 --repeat 5

Before anything is timed, the fused scores of 200 queries are compared, document by document. Making ranx's runs from
dictionaries and compiling its functions is not counted.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from ranx import Run as RanxRun
from ranx import fuse as ranx_fuse

from steelyard.retrievers.fusion.retriever import fuse
from steelyard.types import Run

METHODS = {
    "rrf": {"method": "rrf", "params": {"k": 60}},
    "minmax": {"method": "sum", "norm": "min-max"},
    "combmnz": {"method": "mnz", "norm": "min-max"},
    "zscore": {"method": "sum", "norm": "zmuv"},
}
NEAREST = {**METHODS, "dbsf": METHODS["zscore"]}
"""ranx has no distribution-based fusion; what it has to do for a sum of z-scores is nearly the same."""
DOCUMENTS, DEPTH = 10_000, 500
WANTED = 20


def lists(queries: int, seed: int) -> Run:
    """Lists that overlap as those of two good retrievers do: half of the documents come from the same 1,000."""
    rng = np.random.default_rng(seed)
    shared = np.random.default_rng(0)
    rows = np.empty((queries, DEPTH), dtype=np.int32)
    for query in range(queries):
        start = int(shared.integers(DOCUMENTS))
        near = (start + rng.choice(1000, DEPTH // 2, replace=False)) % DOCUMENTS
        far = (start + 1000 + rng.choice(DOCUMENTS - 1000, DEPTH // 2, replace=False)) % DOCUMENTS
        rows[query] = np.concatenate([near, far])
    return Run.of(rows, rng.gamma(2.0, 3.0, rows.shape).astype(np.float32))


def for_ranx(run: Run) -> RanxRun:
    named = [f"d{row}" for row in range(DOCUMENTS)]
    return RanxRun(
        {
            f"q{query}": dict(zip([named[row] for row in rows], scores.tolist(), strict=True))
            for query, (rows, scores) in enumerate(zip(run.rows, run.scores, strict=True))
        }
    )


def difference(ours: Run, theirs: RanxRun) -> float:
    """The largest difference of the scores of a document; a document that only one has is infinitely far."""
    worst = 0.0
    for query, (rows, scores) in enumerate(zip(ours.rows, ours.scores, strict=True)):
        wanted = theirs.run[f"q{query}"]
        scores_of = {f"d{row}": float(score) for row, score in zip(rows, scores, strict=True) if row >= 0}
        if set(scores_of) != set(wanted):
            return float("inf")
        worst = max(worst, max(abs(scores_of[name] - wanted[name]) for name in scores_of))
    return worst


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    small = [lists(200, seed) for seed in (1, 2)]
    small_ranx = [for_ranx(run) for run in small]
    for method, settings in METHODS.items():
        apart = difference(fuse(small, method=method), ranx_fuse(small_ranx, **settings))
        print(f"{method:8}  largest difference of a score: {apart:.1e}", flush=True)
        if apart > 1e-4:
            return 1
    runs = [lists(arguments.queries, seed) for seed in (1, 2)]
    theirs = [for_ranx(run) for run in runs]
    worst = float("inf")
    for method in NEAREST:
        times = [
            (
                seconds(lambda method=method: fuse(runs, method=method)),
                seconds(lambda method=method: ranx_fuse(theirs, **NEAREST[method])),
            )
            for _ in range(arguments.repeat)
        ]
        ours, peer = (statistics.median(column) for column in zip(*times, strict=True))
        worst = min(worst, peer / ours)
        print(f"{method:8}  {ours:6.2f} s, ranx {peer:6.2f} s: {peer / ours:.0f} times", flush=True)
    return 0 if worst >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
