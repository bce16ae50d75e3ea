"""Executors: the rate of Ray against that of processes, and what a task costs when all vectors are there.

    python benchmarks/studies/executors.py rate        # CPU-bound tasks: Ray on 2 cores must reach 0.8 of `processes`
    python benchmarks/studies/executors.py overhead    # CPU ms per evaluation, product and top-k included: 50 or less

The rate is that of the shards alone: both executors have started their workers and loaded the models before.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from steelyard import evaluate
from steelyard.config import Settings
from steelyard.engine.batch import load_models
from steelyard.engine.executors import EXECUTORS
from steelyard.engine.executors.dispatch import Dispatcher, Ready
from steelyard.engine.executors.shards import EncodeShard, groups_of
from steelyard.engine.plan import Conditions
from steelyard.types import Task, TaskInfo

WORKERS, SHARDS, SHARD_TEXTS, ROUNDS = 2, 6, 512, 3
LEAST_RATIO, MOST_MS = 0.8, 50.0


class Started:
    """An executor whose workers are ready, for a dispatcher that starts them."""

    def __init__(self, name: str, options: dict[str, str], groups: list) -> None:  # type: ignore[type-arg]
        self._executor = EXECUTORS.get(name)(options)
        self.name, self.shards_per_call = self._executor.name, 1
        self._idle = [self._executor.start(groups[0]) for _ in range(WORKERS)]
        ready = 0
        while ready < WORKERS:
            ready += sum(isinstance(event, Ready) for event in self._executor.wait(1.0))
        self._all = list(self._idle)
        self.reuse()

    def reuse(self) -> None:
        """Make the workers available to the next dispatcher."""
        self._idle, self._events = list(self._all), [Ready(number) for number in self._all]

    def capacity(self, group: object) -> int:
        return WORKERS

    def start(self, group: object) -> int:
        return self._idle.pop()

    def wait(self, seconds: float) -> list:  # type: ignore[type-arg]
        events, self._events = self._events, []
        return events or list(self._executor.wait(seconds))

    def stop(self, worker: int) -> None:
        self._executor.stop(worker)

    def submit(self, worker: int, shards: list) -> None:  # type: ignore[type-arg]
        self._executor.submit(worker, shards)

    def close(self) -> None:
        self._executor.close()


def shards(seed: int) -> list[EncodeShard]:
    """Return shards of texts that no earlier run has stored."""
    generator = np.random.default_rng(seed)
    words = np.array([f"word{number}" for number in range(5000)])
    batches = [
        tuple(" ".join(words[row]) for row in generator.integers(0, 5000, (SHARD_TEXTS, 40))) for _ in range(SHARDS)
    ]
    info = TaskInfo("Bench/rate", language="en")
    return [EncodeShard(str(number), 0, "dense:use-multilingual-v3", info, "document", (batch,))
            for number, batch in enumerate(batches)]  # fmt: skip


def rate() -> int:
    """Encode the same amount of texts with both executors, in turns."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings.load(home=home)
        groups, _ = groups_of(load_models(["dense"], settings=settings), settings, Conditions())
        executors = {name: Started(name, {"workers": str(WORKERS)}, groups) for name in ("processes", "ray")}
        seconds = dict.fromkeys(executors, 0.0)
        for turn in range(ROUNDS * len(executors)):
            name, executor = list(executors.items())[turn % len(executors)]
            start = time.perf_counter()
            encoded = 0
            for outcome in Dispatcher(executor, groups, iter(shards(turn))).run():
                encoded += outcome.encoded if outcome is not None else 0
                if encoded == SHARDS * SHARD_TEXTS:
                    break  # before the workers are stopped
            seconds[name] += time.perf_counter() - start
            executor.reuse()
        for name, total in seconds.items():
            print(f"{name}: {ROUNDS * SHARDS * SHARD_TEXTS / total:.0f} texts/s", flush=True)
        for executor in executors.values():
            executor.close()
    ratio = seconds["processes"] / seconds["ray"]
    print(f"ray / processes: {ratio:.2f} (at least {LEAST_RATIO})")
    return int(ratio < LEAST_RATIO)


def overhead() -> int:
    """Evaluate 20 variants on tasks whose vectors are stored; product and top-k are included: an upper bound."""
    generator = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(5000)])
    tasks = []
    for number in range(5):
        corpus = {f"d{row}": " ".join(words[generator.integers(0, 5000, 20)]) for row in range(2000)}
        queries = {f"q{row}": " ".join(corpus[f"d{row}"].split()[:6]) for row in range(200)}
        tasks.append(Task.of(f"Bench/{number}", corpus, queries, {f"q{row}": {f"d{row}": 1} for row in range(200)}))
    dimensions = ",".join(map(str, range(60, 500, 22)))
    model = f"dense?truncate_dim={dimensions}"
    with tempfile.TemporaryDirectory() as home:
        settings = Settings.load(home=home)
        evaluate("dense", tasks, settings=settings)  # stores the vectors
        cpu = time.process_time()
        results = evaluate(model, tasks, settings=settings, results=Path(home) / "results")
        cpu = time.process_time() - cpu
    milliseconds = cpu / len(results) * 1e3
    size = f"{len(results)} evaluations, 200 queries x 2,000 documents"
    print(f"{size}: {milliseconds:.1f} CPU ms each (at most {MOST_MS:.0f})")
    return int(milliseconds > MOST_MS)


def main() -> int:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("rate", "overhead"))
    return {"rate": rate, "overhead": overhead}[parser.parse_args().part]()


if __name__ == "__main__":
    sys.exit(main())
