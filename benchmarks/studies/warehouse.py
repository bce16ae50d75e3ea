"""The results warehouse: import of a folder of result files, a second import, queries, board views, memory.

    python benchmarks/studies/warehouse.py path/to/embeddings-benchmark/results

Wall and processor seconds of one run: where they differ much, the machine was busy with other work.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from steelyard.warehouse import import_results, query
from steelyard.web.published import Library

QUERIES = {
    "board of one benchmark": "SELECT * FROM mart_benchmark WHERE benchmark = 'MTEB(cmn, v1)'",
    "one model on all tasks": "SELECT * FROM mart_model_task WHERE model = 'intfloat/multilingual-e5-small'",
    "best model of each task": "SELECT task, max(score), arg_max(model, score) FROM mart_model_task GROUP BY task",
    "one metric of all files": "SELECT avg(value) FROM metrics WHERE metric = 'ndcg_at_10'",
}


def processor_seconds() -> float:
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in usage)


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        warehouse = Path(place) / "warehouse"
        for label in ("first import", "second import"):
            start, used = time.perf_counter(), processor_seconds()
            report = import_results([folder], warehouse)
            seconds, used = time.perf_counter() - start, processor_seconds() - used
            print(f"{label:24} {seconds:7.1f} s wall  {used:7.1f} s processor  {report}")
        peaks = [resource.getrusage(who).ru_maxrss / 1e3 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        size = sum(path.stat().st_size for path in warehouse.iterdir())
        print(f"{'peak memory':24} {peaks[0]:,.0f} MB, and {peaks[1]:,.0f} MB in the largest worker")
        print(f"{'size on disk':24} {size / 1e6:,.0f} MB")
        for label, sql in QUERIES.items():
            times = []
            for _ in range(5):
                start = time.perf_counter()
                query(warehouse, sql)
                times.append(time.perf_counter() - start)
            print(f"{label:24} {1e3 * median(times):7.0f} ms, connection included")
        library = Library(warehouse)
        for entry in library.benchmarks()[:5]:
            times = []
            for _ in range(5):
                start = time.perf_counter()
                board = library.board(entry["name"])
                times.append(time.perf_counter() - start)
            shape = f"{len(board.models)} models x {len(board.tasks)} tasks"
            print(f"{entry['name']:24} {1e3 * median(times):7.0f} ms, {shape}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
