"""One task of 10,000 documents and 200 queries, from a Nano-set on disk to stored results.

    python benchmarks/studies/engine.py

Two models: BM25, and dense search over given vectors (so that no encoder hides the rest). Shown are the seconds of
each phase, and the time outside the model as a multiple of the bare matrix product and top-k in numpy. Outside the
model is: for BM25, all but its index and search; for dense, all but the encoder's answers: reading, checking and
hashing the data, searching, scoring with intervals, storing. The two take turns with the bare product, and the
figures are medians. The limit is 3, for dense and outside the model, by the clock. The seconds of the processor stand
beside it; they flatter us, since the bare product leaves threads of BLAS turning (none do with OPENBLAS_NUM_THREADS=1).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from steelyard.datasets import write_nano_set
from steelyard.engine import evaluate
from steelyard.retrievers.dense import DenseRetriever
from steelyard.types import Corpus, Float32, Qrels, Queries, Role, Task, TaskInfo
from steelyard.types.protocols import Tick, no_tick

DOCUMENTS, QUERIES, DIMENSION, TOP_K = 10_000, 200, 384, 1000
LIMIT = 3.0


class Given:
    """An encoder whose vectors are there already: all that it does is to look them up."""

    name, similarity, dimension = "given", "cosine", DIMENSION

    def __init__(self, task: Task, documents: Float32, queries: Float32) -> None:
        self.settings = {"encoder": self.name}
        self.clock = self.processor = 0.0
        self.rows = {
            "document": {text: row for row, text in enumerate(task.corpus.texts)},
            "query": {text: row for row, text in enumerate(task.queries.texts)},
        }
        self.vectors = {"document": documents, "query": queries}

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        clock, processor, rows = time.perf_counter(), time.process_time(), self.rows[role]
        vectors = self.vectors[role][[rows[text] for text in texts]]
        self.clock += time.perf_counter() - clock
        self.processor += time.process_time() - processor
        return vectors


def make_task(seed: int = 7) -> Task:
    """Word-like texts with Zipf frequencies, some 80 words a document; a query borrows words of its answer."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlucmfw"))
    vocabulary = ["".join(rng.choice(letters, length)) for length in rng.integers(2, 11, 30_000)]
    shares = 1 / np.arange(1, len(vocabulary) + 1)
    words = rng.choice(len(vocabulary), (DOCUMENTS, 80), p=shares / shares.sum())
    texts = [" ".join(vocabulary[word] for word in line) for line in words]
    ids = [f"d{number:05}" for number in range(DOCUMENTS)]
    corpus = Corpus.of(ids, texts)
    answers = rng.choice(DOCUMENTS, QUERIES, replace=False)
    asked = [" ".join(vocabulary[word] for word in rng.choice(words[answer], 8)) for answer in answers]
    queries = Queries(tuple(f"q{number:03}" for number in range(QUERIES)), tuple(asked))
    rows = [corpus.row_of[ids[answer]] for answer in answers]
    qrels = Qrels.of(range(QUERIES), rows, [1] * QUERIES, queries=QUERIES)
    return Task(TaskInfo("NanoBench/zipf", language="en"), corpus, queries, qrels)


def bare(documents: Float32, queries: Float32) -> np.ndarray:
    """The least that dense retrieval can do: the product, and the best TOP_K of every line in order."""
    scores = queries @ documents.T
    best = np.argpartition(-scores, TOP_K, axis=1)[:, :TOP_K]
    values = np.take_along_axis(scores, best, axis=1)
    return np.take_along_axis(best, np.argsort(-values, axis=1), axis=1)


def seconds(work, *arguments) -> tuple[float, float]:
    """Of the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    work(*arguments)
    return time.perf_counter() - clock, time.process_time() - processor


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=25)
    repeats = parser.parse_args().repeat
    rng = np.random.default_rng(1)
    documents, queries = (
        (v := rng.normal(size=(count, DIMENSION)).astype(np.float32)) / np.linalg.norm(v, axis=1, keepdims=True)
        for count in (DOCUMENTS, QUERIES)
    )
    task = make_task()
    encoder = Given(task, documents, queries)
    dense = DenseRetriever("dense:given", encoder)
    rows: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = write_nano_set(Path(name) / "NanoBench", [task])
        for number in range(repeats + 1):
            row = dict(zip(("bare", "bare, processor"), seconds(bare, documents, queries), strict=True))
            encoder.clock = encoder.processor = 0.0
            for model in ("bm25", dense):
                clock, processor = time.perf_counter(), time.process_time()
                (result,) = evaluate(model, f"{folder}::zipf", results=Path(name) / f"results-{number}")
                whole, used = time.perf_counter() - clock, time.process_time() - processor
                assert result.done, result.error
                label = result.model.split(":")[0]
                row |= {f"{label} {phase}": result.timings[phase] for phase in ("load", "index", "search", "score")}
                row[f"{label} plan, store"] = whole - result.timings["total"]
                row |= {f"{label} whole": whole, f"{label} whole, processor": used}
            rows.append(row | derived(row, encoder))
    medians = {name: statistics.median(row[name] for row in rows[1:]) for name in rows[0]}  # the first one warms up
    print(f"{DOCUMENTS:,} documents x {QUERIES} queries, {DIMENSION} dimensions, top {TOP_K}; medians of {repeats}")
    for name, value in medians.items():
        print(f"  {name:<42}{value:8.1f} x" if name.endswith("/ bare") else f"  {name:<42}{value * 1000:8.1f} ms")
    outside = medians["dense, outside the model / bare"]
    print(f"dense, outside the model: {outside:.2f} times the bare product and top-k (limit {LIMIT:g})")
    return int(outside > LIMIT)


def derived(row: dict[str, float], encoder: Given) -> dict[str, float]:
    """Seconds outside the model, and ratios."""
    outside = row["dense whole"] - encoder.clock
    outside_processor = row["dense whole, processor"] - encoder.processor
    return {
        "dense outside the model": outside,
        "dense outside the model, processor": outside_processor,
        "dense, outside the model / bare": outside / row["bare"],
        "dense, outside the model, processor / bare": outside_processor / row["bare, processor"],
        "dense, whole evaluation / bare": row["dense whole"] / row["bare"],
        "dense, whole, processor / bare": row["dense whole, processor"] / row["bare, processor"],
        "bm25, outside the model / bare": (row["bm25 whole"] - row["bm25 index"] - row["bm25 search"]) / row["bare"],
    }


if __name__ == "__main__":
    sys.exit(main())
