"""Looking up stored vectors: 100,000 texts, against one SQLite table, and against the matrix in one file.

    python benchmarks/studies/vector_store.py [TEXTS] [DIMENSION]

SQLite (Python's own) holds the same keys and vectors, and is asked as quickly as it can be: a join with a table of the
keys. `np.load` is the floor: it knows the rows before, and finds nothing.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.cache.vector_store import VectorStore

REPETITIONS = 5
PART = 4096


class Numbers:
    name, similarity = "numbers", "cosine"

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.settings = {"dimension": dimension}


def fill_sqlite(path: Path, keys, vectors) -> float:
    start = time.perf_counter()
    base = sqlite3.connect(path)
    base.execute("create table vectors (key blob primary key, vector blob) without rowid")
    for begin in range(0, len(keys), PART):
        part = slice(begin, begin + PART)
        pairs = zip((key.tobytes() for key in keys[part]), (row.tobytes() for row in vectors[part]), strict=True)
        with base:
            base.executemany("insert or replace into vectors values (?, ?)", pairs)
    base.close()
    return time.perf_counter() - start


def read_sqlite(path: Path, keys, dimension: int) -> np.ndarray:
    base = sqlite3.connect(path)
    base.execute("create temp table wanted (place integer primary key, key blob)")
    base.executemany("insert into wanted values (?, ?)", enumerate(key.tobytes() for key in keys))
    vectors = np.empty((len(keys), dimension), np.float32)
    for place, vector in base.execute("select place, vector from wanted join vectors using (key)"):
        vectors[place] = np.frombuffer(vector, np.float32)
    base.close()
    return vectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=int, nargs="?", default=100_000)
    parser.add_argument("dimension", type=int, nargs="?", default=384)
    arguments = parser.parse_args()
    count, dimension = arguments.texts, arguments.dimension
    generator = np.random.default_rng(1)
    texts = [f"a text of the corpus, number {number}, and some more words to make it long" for number in range(count)]
    vectors = generator.standard_normal((count, dimension), dtype=np.float32)
    encoder = Numbers(dimension)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        store = VectorStore(encoder, Settings.load(home=home))
        start = time.perf_counter()
        keys = store.keys(texts, "document")
        hashing = time.perf_counter() - start
        start = time.perf_counter()
        for begin in range(0, count, PART):
            store.put(keys[begin : begin + PART], vectors[begin : begin + PART])
        writing = time.perf_counter() - start
        writing_sqlite = fill_sqlite(home / "peer.sqlite", keys, vectors)
        np.save(home / "floor.npy", vectors)
        order = np.array(random.Random(1).sample(range(count), count))
        asked = {"all": order, "one in 100": order[: count // 100]}
        print(f"{count:,} vectors of {dimension}, in parts of {PART}; seconds, medians of {REPETITIONS} in turn")
        print(f"hashing the texts {hashing:.3f}")
        print(f"writing           {writing:.3f}   SQLite {writing_sqlite:.3f} ({writing_sqlite / writing:.1f} times)")
        for name, rows in asked.items():
            seconds: dict[str, list[float]] = {"store": [], "sqlite": [], "load": []}
            for _ in range(REPETITIONS):
                start = time.perf_counter()
                stored, got = VectorStore(encoder, Settings.load(home=home)).get(keys[rows])
                seconds["store"].append(time.perf_counter() - start)
                start = time.perf_counter()
                peer = read_sqlite(home / "peer.sqlite", keys[rows], dimension)
                seconds["sqlite"].append(time.perf_counter() - start)
                start = time.perf_counter()
                floor = np.load(home / "floor.npy")[rows]
                seconds["load"].append(time.perf_counter() - start)
                assert stored.all() and np.array_equal(got, peer) and np.array_equal(got, floor)
            ours, sqlite, load = (statistics.median(values) for values in seconds.values())
            print(
                f"looking up {name:<11} {ours:.3f}   SQLite {sqlite:.3f} ({sqlite / ours:.1f} times)   "
                f"np.load and take {load:.3f} ({load / ours:.2f} times)"
            )


if __name__ == "__main__":
    main()
