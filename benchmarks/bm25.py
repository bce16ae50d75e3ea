"""Speed and memory of BM25 against bm25s with its own tokenizer: tokenise, index, search; top 500.

    python benchmarks/bm25.py              10,000 documents x 200 queries, interleaved, medians
    python benchmarks/bm25.py --large      1,000,000 x 1,000, once each (bm25s takes minutes and gigabytes)
    python benchmarks/bm25.py --documents 100000 --queries 1000 --repeat 1

Each measurement runs in a process of its own, so that peak memory is its own. The corpus is made: words of a
Zipfian vocabulary, about 75 a document, queries of 4 to 10 words drawn from documents.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np


def words(count: int, rng: np.random.Generator) -> list[str]:
    """Distinct word-like strings; frequent words are short, as in every language."""
    onsets = ["", "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "pl", "gr", "ch"]
    vowels = ["a", "e", "i", "o", "u", "ai", "ea", "ou"]
    codas = ["", "", "n", "r", "s", "l", "t", "m", "nd", "rt"]
    found: dict[str, None] = {}
    while len(found) < count:
        syllables = 1 + int(min(3, np.log10(len(found) + 1) * 0.75 + rng.random()))
        parts = [rng.choice(part) for _ in range(syllables) for part in (onsets, vowels, codas)]
        found["".join(parts)] = None
    return list(found)


def make(documents: int, queries: int) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(7)
    vocabulary = np.array(words(min(200_000, 20_000 + documents // 4), rng), dtype=object)
    weights = 1 / np.arange(10, len(vocabulary) + 10)
    steps = np.cumsum(weights / weights.sum())
    lengths = rng.integers(40, 111, documents)
    drawn = np.searchsorted(steps, rng.random(int(lengths.sum()))).clip(max=len(vocabulary) - 1)
    edges = np.concatenate(([0], np.cumsum(lengths)))
    texts = [" ".join(vocabulary[drawn[a:b]]).capitalize() + "." for a, b in pairwise(edges)]
    chosen = rng.choice(documents, queries, replace=documents < queries)
    asked = [rng.choice(texts[row][:-1].split(), rng.integers(4, 11)) for row in chosen]
    return texts, [" ".join(query) for query in asked]


def ours(texts: list[str], queries: list[str]) -> dict[str, float]:
    from steelyard.retrievers.bm25.retriever import Bm25
    from steelyard.types import Corpus, Queries, TaskInfo

    ids = tuple(f"{row:08d}" for row in range(len(texts), 0, -1))
    corpus, asked = Corpus(ids, tuple(texts)), Queries(ids[: len(queries)], tuple(queries))
    start = time.perf_counter()
    index = Bm25().index(corpus, TaskInfo("bench/made", language="en"))
    indexed = time.perf_counter()
    index.search(asked, 500)
    return {"index": indexed - start, "search": time.perf_counter() - indexed}


def theirs(texts: list[str], queries: list[str]) -> dict[str, float]:
    import bm25s

    start = time.perf_counter()
    retriever = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numpy")
    retriever.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    indexed = time.perf_counter()
    tokens = bm25s.tokenize(queries, show_progress=False)
    retriever.retrieve(tokens, k=500, show_progress=False)
    return {"index": indexed - start, "search": time.perf_counter() - indexed}


SIDES = {"steelyard": ours, "bm25s": theirs}


def measure(side: str, documents: int, queries: int) -> dict[str, float]:
    """One side in a fresh process: seconds and peak memory above what the made texts need."""
    command = [sys.executable, __file__, "--side", side, "--documents", str(documents), "--queries", str(queries)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def child(side: str, documents: int, queries: int) -> None:
    texts, asked = make(documents, queries)
    # Imports and a first small run are not what is measured.
    SIDES[side](texts[:1000], asked[:5])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu = time.process_time()
    seconds = SIDES[side](texts, asked)
    cpu = time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {**seconds, "total": sum(seconds.values()), "cpu": cpu, "peak_mb": peak / 1024, "texts_mb": before / 1024}
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--side", choices=SIDES)
    arguments = parser.parse_args()
    if arguments.side:
        child(arguments.side, arguments.documents, arguments.queries)
        return
    if arguments.large:
        arguments.documents, arguments.queries, arguments.repeat = 1_000_000, 1_000, 1
    runs: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for _ in range(arguments.repeat):
        for side in SIDES:
            runs[side].append(measure(side, arguments.documents, arguments.queries))
    print(f"{arguments.documents:,} documents x {arguments.queries:,} queries, top 500; median of {arguments.repeat}")
    medians = {
        side: {key: statistics.median(run[key] for run in done) for key in done[0]} for side, done in runs.items()
    }
    for side, figures in medians.items():
        print(f"  {side:10s}" + "  ".join(f"{key} {value:9.3f}" for key, value in figures.items()))
    ratios = {
        key: medians["bm25s"][key] / medians["steelyard"][key] for key in ("index", "search", "total", "cpu", "peak_mb")
    }
    print("  bm25s / steelyard: " + ", ".join(f"{key} {ratio:.1f}x" for key, ratio in ratios.items()))


if __name__ == "__main__":
    main()
