"""A set of many small tasks: what one task costs `run bm25`, and whether the cost grows with their number.

    python benchmarks/studies/many_tasks.py                    # 1,000, 3,000 and 10,000 tasks of two documents
    python benchmarks/studies/many_tasks.py 250 500 1000       # other numbers of tasks

For each number a Nano-set is written, evaluated with `steelyard run bm25` in a new process, and opened with
`steelyard show`. The exponents are fitted to the processor time: 1 is linear. The target at 10,000 tasks is 2 minutes
for `run` and 5 seconds for `show`, on two cores.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

RUN_SECONDS, SHOW_SECONDS, TASKS = 120.0, 5.0, 10_000


def write_set(folder: Path, tasks: int) -> None:
    """Write a Nano-set of so many tasks, each of two documents and one query."""
    for part in ("corpus", "queries", "qrels"):
        (folder / part).mkdir(parents=True)
    for number in range(tasks):
        river, mountain = f"the river of place {number} runs to the sea", f"a mountain near place {number} has snow"
        tables = {
            "corpus": {"_id": ["a", "b"], "text": [river, mountain]},
            "queries": {"_id": ["q"], "text": [f"snow on the mountain {number}"]},
            "qrels": {"query-id": ["q"], "corpus-id": ["b"], "score": [1]},
        }
        for part, columns in tables.items():
            pq.write_table(pa.table(columns), folder / part / f"task{number:05}.parquet")
    facts = {f"task{number:05}": {"name": f"Many/task{number:05}", "language": "en"} for number in range(tasks)}
    (folder / "manifest.json").write_text(json.dumps({"tasks": facts}), encoding="utf-8")


def measure(words: Sequence[str], folder: Path) -> tuple[float, float]:
    """Run a command of Steelyard; return the seconds and the processor seconds that it took."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "STEELYARD_HOME": str(folder / "home")}
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Return the exponent of the power law that fits the costs best."""
    points = [(math.log(size), math.log(cost)) for size, cost in zip(sizes, costs, strict=True)]
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", type=int, default=[1_000, 3_000, TASKS], metavar="TASKS")
    sizes = parser.parse_args().tasks
    costs: dict[str, list[float]] = {"run": [], "again": [], "show": []}
    for tasks in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_set(folder / "set", tasks)
            commands = {
                "run": ["run", "bm25", "-t", "set", "-o", "results", "--quiet"],
                "again": ["run", "bm25", "-t", "set", "-o", "results", "--quiet"],
                "show": ["show", "set"],
            }
            for what, words in commands.items():
                seconds, cpu = measure(words, folder)
                costs[what].append(cpu)
                print(
                    f"{tasks:>7,} tasks  {what:<6} {seconds:8.1f} s  {cpu:8.1f} CPU s  {1e3 * cpu / tasks:7.2f} CPU ms"
                )
                limit = {"run": RUN_SECONDS, "show": SHOW_SECONDS}.get(what)
                if tasks == TASKS and limit is not None:
                    print(f"{'':>22}{'within' if seconds <= limit else 'BEYOND'} the target of {limit:g} s")
    if len(sizes) > 1:
        for what, values in costs.items():
            print(f"{what}: cost grows with the {exponent(sizes, values):.2f}th power of the number of tasks")


if __name__ == "__main__":
    main()
