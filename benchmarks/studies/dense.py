"""What dense search costs beside the bare matrix product and top-k, vectors given.

    python benchmarks/studies/dense.py

Index, search and metrics of one task of 10,000 documents and 200 queries through Steelyard's code, in turns with
`queries @ documents.T` and `argpartition` in numpy. The limit is 3 times the bare product.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from steelyard.metrics import score
from steelyard.retrievers.dense import DenseRetriever
from steelyard.retrievers.fusion.retriever import fuse
from steelyard.types import Corpus, Float32, Qrels, Queries, Role, Scores, TaskInfo
from steelyard.types.protocols import Tick, no_tick
from steelyard.vectors.topk import top_k

DOCUMENTS, QUERIES, REPEATS, LIMIT = 10_000, 200, 15, 3.0


class Given:
    """An encoder whose vectors are there already."""

    name, similarity = "given", "cosine"

    def __init__(self, documents: Float32, queries: Float32) -> None:
        self.settings = {"encoder": self.name}
        self.dimension = documents.shape[1]
        self.vectors = {"document": documents, "query": queries}

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        first, last = int(texts[0][1:]), int(texts[-1][1:])  # a text is its row; documents come in descending order
        rows = self.vectors[role]
        return rows[first : last + 1] if role == "query" else rows[last : first + 1][::-1]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(dimension: int, k: int) -> float:
    """Print one line; the ratio of the whole evaluation to the bare product."""
    rng = np.random.default_rng(dimension)
    documents = rng.standard_normal((DOCUMENTS, dimension)).astype(np.float32)
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    queries = documents[:QUERIES] + 0.1 * rng.standard_normal((QUERIES, dimension)).astype(np.float32)
    ids = [f"d{number:05d}" for number in range(DOCUMENTS)]
    corpus = Corpus.of(ids, ids)
    asked = Queries(tuple(f"q{number}" for number in range(QUERIES)), tuple(f"q{number}" for number in range(QUERIES)))
    answers = DOCUMENTS - 1 - np.arange(QUERIES)  # rows are numbered from the greatest id down
    qrels = Qrels.of(np.arange(QUERIES), answers, np.ones(QUERIES), queries=QUERIES)
    encoder = Given(documents, queries)

    def whole() -> Scores:
        # A new retriever each time: one that has met the corpus before would give its list from memory.
        run = DenseRetriever("dense:given", encoder).index(corpus, TaskInfo("Given/task")).search(asked, k)
        return score(run, qrels)

    if whole()["ndcg_at_10"] < 1:
        raise SystemExit("the nearest document was not found: the benchmark is wrong")

    def bare() -> object:
        scores = queries @ documents.T
        return np.argpartition(-scores, k, axis=1)[:, :k]

    def search() -> object:
        return top_k(queries, documents, k)

    rounds = [(seconds(bare), seconds(search), seconds(whole)) for _ in range(REPEATS)]
    plain, searched, all_of_it = (1000 * statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(third / first for first, _, third in rounds)
    print(f"{dimension:>9} {k:>6} {plain:>9.1f} {searched:>11.1f} {all_of_it:>9.1f} {ratio:>7.2f}")
    return ratio


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(f"{DOCUMENTS:,} documents x {QUERIES} queries; milliseconds; limit {LIMIT:.0f} times")
    print(f"{'dimension':>9} {'top k':>6} {'bare':>9} {'our search':>11} {'all':>9} {'times':>7}")
    worst = max(measure(dimension, k) for dimension in (384, 512) for k in (100, 1000))
    rng = np.random.default_rng(0)
    lists = [top_k(rng.standard_normal((QUERIES, 8), np.float32), rng.standard_normal((5000, 8), np.float32), 500)] * 2
    joined = statistics.median(seconds(lambda: fuse(lists, top_k=100)) for _ in range(REPEATS))
    print(f"fusing two lists of 500 for {QUERIES} queries: {1000 * joined:.1f} ms")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
