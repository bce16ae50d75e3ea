"""Stand-in for the Nano-set reader and writer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from steelyard.datasets.builtin.cutting import assemble
from steelyard.types import Task, TaskInfo


def write(folder: Path, tasks: Iterable[Task]) -> None:
    """Write the tasks."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for task in tasks:
        corpus = {"_id": task.corpus.ids, "text": task.corpus.bodies}
        if task.corpus.titles:
            corpus["title"] = task.corpus.titles
        queries = {"_id": task.queries.ids, "text": task.queries.texts}
        pairs = [
            (task.queries.ids[q], task.corpus.ids[row], int(grade))
            for q in range(len(task.queries))
            for row, grade in zip(task.qrels.rows_of(q), task.qrels.grades_of(q), strict=True)
        ]
        qrels = {"query-id": [p[0] for p in pairs], "corpus-id": [p[1] for p in pairs], "score": [p[2] for p in pairs]}
        for name, columns in (("corpus", corpus), ("queries", queries), ("qrels", qrels)):
            (folder / name).mkdir(exist_ok=True)
            pq.write_table(pa.table(columns), folder / name / f"{task.info.task}.parquet")


def read(folder: Path, info: TaskInfo) -> Task:
    """Read one task."""
    import pyarrow.parquet as pq

    def part(name: str) -> dict[str, list[str]]:
        columns: dict[str, list[str]] = pq.read_table(folder / name / f"{info.task}.parquet").to_pydict()
        return columns

    corpus, queries, qrels = part("corpus"), part("queries"), part("qrels")
    judged: dict[str, dict[str, int]] = {query: {} for query in queries["_id"]}
    for query, document, score in zip(qrels["query-id"], qrels["corpus-id"], qrels["score"], strict=True):
        judged[query][document] = int(score)
    titles = dict(zip(corpus["_id"], corpus["title"], strict=True)) if "title" in corpus else None
    return assemble(
        info,
        dict(zip(corpus["_id"], corpus["text"], strict=True)),
        dict(zip(queries["_id"], queries["text"], strict=True)),
        judged,
        titles,
    )
