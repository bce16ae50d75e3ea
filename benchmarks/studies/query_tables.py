"""Scores of queries in the warehouse: import, board, comparison of two models by query, query explorer.

    python benchmarks/studies/query_tables.py [MODELS TASKS QUERIES]

The results are made: 100 models x 200 tasks x 200 queries, as `steelyard run` writes them, with one relevant document
for each query at a random rank, so that every query has 46 metrics. That is 4 million scores of a query, and 184
million values. Views are asked for as the page does, through `Boards.load`, each for other models and tasks than the
one before, so that nothing was computed earlier.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from steelyard.engine import evaluate
from steelyard.results import QueryScores, Result
from steelyard.results.store import ResultStore
from steelyard.types import Float64, Int32, Interval, Task
from steelyard.warehouse import import_results, query
from steelyard.web.sources import Boards

ROUNDS = 9
GONE = 1000
"""A rank beyond every list."""


def template(queries: int) -> Result:
    """Return a real result of a task with so many queries, whose scores are replaced."""
    corpus = {f"d{n}": f"word{n} and others" for n in range(queries)}
    asked = {f"q{n:05}": f"word{n}" for n in range(queries)}
    task = Task.of("Made/t000", corpus, asked, {q: {f"d{n}": 1} for n, q in enumerate(asked)}, language="en")
    return next(iter(evaluate("bm25", task)))


def scores_of(rank: Int32, names: tuple[str, ...]) -> dict[str, Float64]:
    """Return the metrics of queries whose one relevant document has these ranks."""
    columns = {}
    for name in names:
        kind, _, depth = name.partition("_at_")
        inside = rank <= int(depth or GONE)
        value = {
            "ndcg": 1 / np.log2(1 + rank),
            "map": 1 / rank,
            "mrr": 1 / rank,
            "precision": np.full(len(rank), 1 / int(depth or 1)),
            "r_precision": (rank == 1) * 1.0,
        }.get(kind, np.ones(len(rank)))
        columns[name] = np.where(inside, value, 0.0)
    return columns


def write(folder: Path, models: int, tasks: int, queries: int) -> None:
    """Write results of made models, which differ in quality, on made tasks, whose queries differ in difficulty."""
    draw, store, base = np.random.default_rng(0), ResultStore(folder), template(queries)
    names = tuple(base.per_query)
    for t in range(tasks):
        difficulty = draw.normal(0.0, 1.5, queries)
        for m in range(models):
            rank = np.ceil(np.exp(difficulty + draw.normal(1.0 - m / models, 1.0, queries))).astype(np.int32)
            rank = np.clip(rank, 1, GONE)
            by_metric = scores_of(rank, names)
            means: Mapping[str, float] = {name: float(values.mean()) for name, values in by_metric.items()}
            result = replace(
                base,
                task=f"Made/t{t:03}",
                model=f"dense:model-{m:03}",
                key=f"{t}-{m}",
                metrics=means,
                intervals={name: Interval(mean - 0.05, mean + 0.05) for name, mean in means.items()},
                facts=replace(base.facts, data_hash=f"{t:032x}"),
                queries=QueryScores(base.per_query.ids, np.where(rank == GONE, 0, rank).astype(np.int32), by_metric),
            )
            store.put(result)


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    start, used = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - start, time.process_time() - used, result


def views(warehouse: Path, tasks: int) -> None:
    """Ask for each view several times, always for something new."""
    boards = Boards(warehouse=warehouse)
    draw = np.random.default_rng(1)
    seconds, used, board = timed(lambda: boards.load("board-made"))
    print(f"{'board':28} {1e3 * seconds:7.0f} ms wall {1e3 * used:7.0f} ms processor, first time")
    again = [timed(lambda: Boards(warehouse=warehouse).load("board-made"))[:2] for _ in range(ROUNDS)]
    pairs = [sorted(draw.choice(len(board["models"]), 2, replace=False)) for _ in range(ROUNDS)]
    asked = {
        "pair of models": [f"pair-made-{a}-{b}" for a, b in pairs],
        "queries of a task": [f"task-made-{t}" for t in draw.choice(tasks, ROUNDS, replace=False)],
        "settings, history": ["models-made"] * ROUNDS,
        "further metrics": ["metrics-made"] * ROUNDS,
    }
    rows = {"board, opened anew": again}
    sizes = {}
    for view, names in asked.items():
        measured = [timed(lambda name=name: boards.load(name)) for name in names]
        assert all(answer is not None for _, _, answer in measured), view
        rows[view] = [one[:2] for one in measured]
        sizes[view] = len(json.dumps(measured[-1][2]))
    for view, times in rows.items():
        wall, processor = (1e3 * median(one[i] for one in times) for i in (0, 1))
        size = f", {sizes[view] / 1e3:,.0f} kB of JSON" if view in sizes else ""
        print(f"{view:28} {wall:7.0f} ms wall {processor:7.0f} ms processor{size}")


def main(models: int, tasks: int, queries: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, warehouse = Path(place) / "results", Path(place) / "warehouse"
        seconds, _, _ = timed(lambda: write(folder, models, tasks, queries))
        print(f"{models} models x {tasks} tasks x {queries} queries, written in {seconds:.0f} s")
        for label in ("first import", "second import"):
            seconds, _, report = timed(lambda: import_results([folder], warehouse))
            print(f"{label:28} {seconds:7.1f} s wall  {report}")
        peaks = [resource.getrusage(who).ru_maxrss / 1e3 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        size = sum(path.stat().st_size for path in warehouse.iterdir())
        rows = query(warehouse, "SELECT count(*) AS n FROM queries").to_pylist()[0]["n"]
        print(f"{'queries':28} {rows:,} rows, warehouse {size / 1e6:,.0f} MB")
        print(f"{'peak memory':28} {peaks[0]:,.0f} MB, and {peaks[1]:,.0f} MB in the largest worker")
        views(warehouse, tasks)


if __name__ == "__main__":
    given = [int(number) for number in sys.argv[1:]]
    main(*(given or (100, 200, 200)))
