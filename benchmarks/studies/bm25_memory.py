"""Memory of BM25: what a corpus takes, what indexing adds at its peak, and what stays afterwards.

    python benchmarks/studies/bm25_memory.py tiny 1000000     # many tiny documents
    python benchmarks/studies/bm25_memory.py text 300         # a corpus of so many MB

Every run is one process; figures are resident memory (MB) from /proc, so it runs on Linux only.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import time

from steelyard.retrievers.bm25.retriever import Bm25
from steelyard.types import Corpus, Queries, TaskInfo

WORDS = 60_000


def memory(field: str) -> float:
    """Return a field of /proc/self/status in MB."""
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
        line = next(line for line in status if line.startswith(field))
    return int(line.split()[1]) / 1024


def reset_peak() -> None:
    """Start the peak of resident memory again."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("5")


def corpus_of(kind: str, size: int) -> Corpus:
    """Return `size` tiny documents of three words, or a corpus of `size` MB of 100-word documents."""
    generator = random.Random(0)
    words = [f"w{number:x}" for number in range(WORDS)]
    count, length = (size, 3) if kind == "tiny" else (size * 1_000_000 // 600, 100)
    # Frequencies fall as in natural text.
    texts = [" ".join(words[int(WORDS ** generator.random()) - 1] for _ in range(length)) for _ in range(count)]
    return Corpus.of([f"d{number}" for number in range(count)], texts)


def main() -> None:
    """Print the memory of one corpus as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["tiny", "text"])
    parser.add_argument("size", type=int)
    arguments = parser.parse_args()
    start = memory("VmRSS")
    corpus = corpus_of(arguments.kind, arguments.size)
    gc.collect()
    held = memory("VmRSS")
    reset_peak()
    began = time.perf_counter()
    index = Bm25().index(corpus, TaskInfo("bench/memory", language="en"))
    seconds = time.perf_counter() - began
    peak = memory("VmHWM")
    gc.collect()
    after = memory("VmRSS")
    index.search(Queries(("q",), ("w1 w20 w300",)), 100)
    print(
        json.dumps(
            {
                "documents": len(corpus),
                "text_mb": round(sum(map(len, corpus.texts)) / 1e6),
                "corpus_mb": round(held - start),
                "index_bytes_mb": round(index.size_bytes / 2**20),
                "kept_by_index_mb": round(after - held),
                "peak_of_indexing_mb": round(peak - held),
                "process_peak_mb": round(peak),
                "seconds": round(seconds, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
