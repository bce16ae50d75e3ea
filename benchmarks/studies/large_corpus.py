"""Corpora larger than memory: CPU time and memory of exact search at growing sizes, and how they grow.

    python benchmarks/studies/large_corpus.py dense     # up to 2 million x 384, vectors in .npy shards on disk (3 GB)
    python benchmarks/studies/large_corpus.py bm25      # shards with global statistics, against the index in memory
    python benchmarks/studies/large_corpus.py late      # MaxSim over a mapped file of token vectors
    python benchmarks/studies/large_corpus.py index     # what approximate indexes lose, and what they save

The exponent is fitted to CPU seconds over documents on a logarithmic scale: 1 is linear. The projection to 8.8 million
documents (MS MARCO) uses the rate of the largest size. The limit of memory for `dense` is 2 GB.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from steelyard.engine.timing import peak_memory_bytes, reset_peak_memory
from steelyard.retrievers.bm25.retriever import Bm25
from steelyard.types import Corpus, Float32, Queries, TaskInfo
from steelyard.vectors.approximate import ApproximateIndex, Approximation, overlap
from steelyard.vectors.mapped import ShardedMatrix
from steelyard.vectors.maxsim import MaxSim, TokenVectors
from steelyard.vectors.similarity import DOT
from steelyard.vectors.topk import Matrix, normalised, search

T = TypeVar("T")
LARGE, LIMIT_BYTES = 8_800_000, 2 * 10**9
QUERIES, DIMENSION, SHARD_ROWS = 100, 384, 250_000
INFO = TaskInfo("Bench/large", language="en")


def timed(work: Callable[..., T], *arguments: object) -> tuple[T, float, float]:
    """Return what the work returns, CPU seconds and wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    value = work(*arguments)
    return value, time.process_time() - cpu, time.perf_counter() - wall


def report(name: str, sizes: list[int], seconds: list[float], queries: int) -> None:
    """Print the exponent, the cost of a million documents, and the projection."""
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    million = seconds[-1] / sizes[-1] * 1e6
    print(f"{name}: exponent {exponent:.2f}, {million:.2f} CPU s per million documents and {queries} queries, "
          f"{million * LARGE / 1e6:.1f} CPU s for 8.8 million")  # fmt: skip


def dense(largest: int) -> int:
    """Search growing numbers of shards."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        paths = []
        for number in range(largest // SHARD_ROWS):
            generator = np.random.default_rng(number)
            rows = normalised(generator.standard_normal((SHARD_ROWS, DIMENSION), dtype=np.float32))
            np.save(Path(folder) / f"{number}.npy", rows)
            paths.append(Path(folder) / f"{number}.npy")
        queries = np.array(np.load(paths[0], mmap_mode="r")[:QUERIES])
        whole = search(queries, Matrix(np.load(paths[0])), 100, DOT)
        same = search(queries, ShardedMatrix.open(paths[:1]), 100, DOT)
        assert whole.rows.tobytes() == same.rows.tobytes() and whole.scores.tobytes() == same.scores.tobytes()
        sizes, seconds = [], []
        count, peak = 1, 0
        while count <= len(paths):
            matrix = ShardedMatrix.open(paths[:count])
            reset_peak_memory()
            _, cpu, wall = timed(search, queries, matrix, 1000, DOT)
            peak = max(peak, peak_memory_bytes() or 0)
            sizes.append(len(matrix))
            seconds.append(cpu)
            size = f"{len(matrix):>9,} x {DIMENSION}"
            print(f"dense {size}: {cpu:6.2f} CPU s, {wall:6.2f} s, peak {peak / 1e6:,.0f} MB", flush=True)
            count *= 2
    report("dense", sizes, seconds, QUERIES)
    return int(peak > LIMIT_BYTES)


def _texts(documents: int) -> list[str]:
    generator = np.random.default_rng(5)
    words = np.array([f"w{number:x}" for number in range(200_000)])
    lengths = generator.integers(30, 80, documents)
    drawn = generator.zipf(1.2, int(lengths.sum())) % len(words)
    ends = np.cumsum(lengths)
    return [" ".join(words[drawn[end - length : end]]) for end, length in zip(ends, lengths, strict=True)]


def bm25(largest: int) -> int:
    """Index and search growing corpora in shards; the largest also in memory, for comparison."""
    texts = _texts(largest)
    queries = Queries(tuple(map(str, range(QUERIES))), tuple(" ".join(text.split()[:8]) for text in texts[:QUERIES]))
    sizes, builds, searches = [], [], []
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for documents in (largest // 8, largest // 4, largest // 2, largest):
            corpus = Corpus.of([f"d{row:08}" for row in range(documents)], texts[:documents])
            index, build, _ = timed(Bm25(memory=(Path(folder), 4_000_000)).index, corpus, INFO)
            run, cpu, _ = timed(index.search, queries, 1000)
            sizes.append(documents)
            builds.append(build)
            searches.append(cpu)
            shards = index.notes["shards"]
            print(f"bm25 {documents:>9,}: {shards} shards, index {build:.2f} CPU s, search {cpu:.2f} CPU s", flush=True)
        whole, build, _ = timed(Bm25().index, corpus, INFO)
        expected, cpu, _ = timed(whole.search, queries, 1000)
        equal = expected.rows.tobytes() == run.rows.tobytes()
        print(f"bm25 in memory: index {build:.2f} CPU s, search {cpu:.2f} CPU s; same rows: {equal}")
    report("bm25 index", sizes, builds, 0)
    report("bm25 search", sizes, searches, QUERIES)
    return int(not equal)


def late(largest: int) -> int:
    """MaxSim over growing mapped files: 64 tokens of 128 dimensions a document."""
    sizes, seconds = [], []
    generator = np.random.default_rng(9)
    queries = TokenVectors.of([generator.standard_normal((16, 128)).astype(np.float32) for _ in range(10)])
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for documents in (largest // 8, largest // 4, largest // 2, largest):
            offsets = np.arange(1001, dtype=np.int64) * 64
            part = TokenVectors(offsets, generator.standard_normal((64_000, 128)).astype(np.float32))
            tokens = TokenVectors.in_file((_changed(part, number) for number in range(documents // 1000)), Path(folder))
            index = MaxSim(tokens)
            reset_peak_memory()
            _, cpu, wall = timed(index.search, queries, 1000)
            sizes.append(documents)
            seconds.append(cpu)
            peak = (peak_memory_bytes() or 0) / 1e6
            print(f"late {documents:>8,} documents: {cpu:.2f} CPU s, {wall:.2f} s, peak {peak:,.0f} MB", flush=True)
    report("late", sizes, seconds, len(queries))
    return 0


def _changed(part: TokenVectors, number: int) -> TokenVectors:
    return TokenVectors(part.offsets, part.matrix + np.float32(number * 1e-3))


def index(largest: int) -> int:
    """Clustered vectors, as those of a model are: recall, size and time of approximate indexes."""
    generator = np.random.default_rng(2)
    centres = generator.standard_normal((largest // 50, DIMENSION)).astype(np.float32)
    noise = generator.standard_normal((largest, DIMENSION)).astype(np.float32)
    vectors: Float32 = normalised(centres[generator.integers(0, len(centres), largest)] + np.float32(0.7) * noise)
    queries = normalised(vectors[:QUERIES] + np.float32(0.02) * noise[-QUERIES:])
    exact, cpu, _ = timed(search, queries, Matrix(vectors), 100, DOT)
    print(f"exact: {cpu / QUERIES * 1e3:.2f} CPU ms a query, {DIMENSION * 4} bytes a document")
    graphs = [Approximation("hnsw", ef=ef) for ef in (32, 100, 400)]
    lists = [Approximation("ivfpq", probes=probes) for probes in (4, 16, 64)]
    for how in (*graphs, *lists):
        built, build, _ = timed(ApproximateIndex, vectors, how, DOT)
        run, cpu, _ = timed(built.search, queries, 100)
        recall = overlap(run, exact)["index_recall_at_10"]
        searched = f"probes={how.probes}" if how.kind == "ivfpq" else f"ef={how.ef}"
        size = built.size_bytes / largest
        cost = f"{cpu / QUERIES * 1e3:.2f} CPU ms a query, {size:,.0f} bytes a document"
        print(f"{how.kind} {searched}: recall@10 {recall:.3f}, build {build:.1f} CPU s, {cost}", flush=True)
    return 0


PARTS = {"dense": (dense, 2_000_000), "bm25": (bm25, 80_000), "late": (late, 40_000), "index": (index, 6_000)}


def main() -> int:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--documents", type=int, help="The largest corpus.")
    arguments = parser.parse_args()
    work, largest = PARTS[arguments.part]
    return work(arguments.documents or largest)


if __name__ == "__main__":
    sys.exit(main())
