"""Exact search at size, against the best of faiss flat, torch and numpy in the same run.

    python benchmarks/search.py            # 10,000 x 200 and 100,000 x 1,000
    python benchmarks/search.py million    # 1,000,000 x 1,000, too: 4 GB of memory, minutes

384 dimensions, top 100, all cores. Rounds are interleaved, the order of the contestants turns from round to round, and
the ratio is that of medians. The limit is 1.5 times the best; faiss and torch take part if they are installed. Peers
break ties as it comes; ours finds equal documents and ranks them by row, and that time is counted.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from steelyard.types import Float32, Int64
from steelyard.vectors import topk

DIMENSION, K, LIMIT = 384, 100, 1.5
SIZES = [(10_000, 200, 15), (100_000, 1_000, 5)]
MILLION = (1_000_000, 1_000, 3)
Search = Callable[[], Int64]


def ours(documents: Float32, queries: Float32) -> Search:
    return lambda: topk.top_k(queries, documents, K).rows.astype(np.int64)


def in_numpy(documents: Float32, queries: Float32) -> Search:
    """Product and argpartition, 100,000 documents at a time."""

    def search() -> Int64:
        scores, rows = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
        for start in range(0, len(documents), 100_000):
            block = queries @ documents[start : start + 100_000].T
            best = np.argpartition(block, -K, axis=1)[:, -K:]
            scores = np.concatenate([scores, np.take_along_axis(block, best, axis=1)], axis=1)
            rows = np.concatenate([rows, best + start], axis=1)
        order = np.argsort(-scores, axis=1)[:, :K]
        return np.take_along_axis(rows, order, axis=1)

    return search


def in_torch(documents: Float32, queries: Float32) -> Search:
    import torch

    whole, asked = torch.from_numpy(documents), torch.from_numpy(queries)

    def search() -> Int64:
        parts = []
        for start in range(0, len(whole), 100_000):
            scores, rows = torch.topk(asked @ whole[start : start + 100_000].T, K, dim=1)
            parts.append((scores, rows + start))
        scores, rows = (torch.cat(column, dim=1) for column in zip(*parts, strict=True))
        found: Int64 = rows.gather(1, torch.topk(scores, K, dim=1).indices).numpy()
        return found

    return search


def in_faiss(documents: Float32, queries: Float32) -> Search:
    import faiss

    index = faiss.IndexFlatIP(documents.shape[1])
    index.add(documents)
    return lambda: np.asarray(index.search(queries, K)[1])


def contestants(documents: Float32, queries: Float32) -> dict[str, Search]:
    found = {"steelyard": ours(documents, queries)}
    for name, make in {"numpy": in_numpy, "torch": in_torch, "faiss": in_faiss}.items():
        try:
            found[name] = make(documents, queries)
        except ImportError:
            print(f"{name} is not installed and does not take part")
    return found


def measure(documents: int, queries: int, repeats: int) -> float:
    """Print one line for each contestant; our ratio to the best of the others."""
    rng = np.random.default_rng(documents)
    vectors = rng.standard_normal((documents, DIMENSION), dtype=np.float32)
    asked = rng.standard_normal((queries, DIMENSION), dtype=np.float32)
    memory = _memory()
    expected = np.sort(ours(vectors, asked)(), axis=1)
    grown = _memory() - memory  # before the peers start, which hold more
    racers = contestants(vectors, asked)
    wall: dict[str, list[float]] = {name: [] for name in racers}
    cpu: dict[str, list[float]] = {name: [] for name in racers}
    for turn in range(repeats):
        names = list(racers)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            start, spent = time.perf_counter(), time.process_time()
            rows = racers[name]()
            wall[name].append(time.perf_counter() - start)
            cpu[name].append(time.process_time() - spent)
            if (np.sort(rows, axis=1) == expected).mean() < 0.999:
                raise SystemExit(f"{name} found other documents: the benchmark is wrong")
    print(f"\n{documents:,} documents x {queries:,} queries; ours took {grown / 1e6:,.0f} MB beside the vectors")
    best = min(statistics.median(seconds) for name, seconds in wall.items() if name != "steelyard")
    for name, seconds in wall.items():
        median = statistics.median(seconds)
        print(
            f"{name:10} {median:8.3f} s {statistics.median(cpu[name]):8.3f} CPU s {median / best:6.2f} of the best peer"
        )
    return statistics.median(wall["steelyard"]) / best


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", nargs="?", choices=["million"], help="a million documents, too")
    sizes = [*SIZES, MILLION] if parser.parse_args().size else SIZES
    print(f"{DIMENSION} dimensions, top {K}; limit {LIMIT} times the best peer")
    worst = max(measure(*size) for size in sizes)
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
