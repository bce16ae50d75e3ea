"""Runs as files, so that new metrics need no model: Parquet, or the TREC format that every tool of the field reads."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.engine.plan import SaveRuns
from steelyard.errors import ResultError
from steelyard.results.store import beside_path
from steelyard.types import Run, Task

ENDINGS: tuple[SaveRuns, ...] = ("parquet", "trec")


def run_bytes(run: Run, task: Task, model: str, form: SaveRuns) -> bytes:
    """The run as a file; ids as strings, lists best first, scores exact."""
    return _parquet(run, task) if form == "parquet" else _trec(run, task, model)


def _parquet(run: Run, task: Task) -> bytes:
    import pyarrow
    from pyarrow import parquet

    query, rank = np.nonzero(run.rows >= 0)

    def ids(values: tuple[str, ...], numbers: Any) -> Any:
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(numbers.astype(np.int32)), pyarrow.array(values))

    table = pyarrow.table(
        {
            "query-id": ids(task.queries.ids, query),
            "corpus-id": ids(task.corpus.ids, run.rows[query, rank]),
            "rank": (rank + 1).astype(np.int32),
            "score": run.scores[query, rank],
        }
    )
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def _trec(run: Run, task: Task, model: str) -> bytes:
    """Six columns; the score as a text that reads back to the same number."""
    tag = "".join("_" if character.isspace() else character for character in model)
    text = io.StringIO()
    for query, query_id in enumerate(task.queries.ids):
        length = int((run.rows[query] >= 0).sum())
        rows, scores = run.rows[query, :length].tolist(), run.scores[query, :length].astype(np.float64).tolist()
        text.writelines(
            f"{query_id} Q0 {task.corpus.ids[row]} {rank} {score!r} {tag}\n"
            for rank, (row, score) in enumerate(zip(rows, scores, strict=True), start=1)
        )
    return text.getvalue().encode()


def saved_run(result: Path, task: Task) -> Run | None:
    """The run beside a result file, for that task; None if none was kept."""
    for form in ENDINGS:
        path = beside_path(result, f"run.{form}")
        if path.exists():
            return _read(path, task)
    return None


def _read(path: Path, task: Task) -> Run:
    query_ids, document_ids, scores = _parquet_columns(path) if path.suffix == ".parquet" else _trec_columns(path)
    try:
        query = np.fromiter((task.queries.row_of[id_] for id_ in query_ids), dtype=np.int64, count=len(query_ids))
        row = np.fromiter((task.corpus.row_of[id_] for id_ in document_ids), dtype=np.int32, count=len(document_ids))
    except KeyError as error:
        raise ResultError(
            f"{path} names {error}, which {task.name} does not have", hint="run the model again"
        ) from None
    counts = np.bincount(query, minlength=len(task.queries))
    order = np.argsort(query, kind="stable")
    place = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.full((len(counts), int(counts.max(initial=0))), -1, dtype=np.int32)
    values = np.full(rows.shape, -np.inf, dtype=scores.dtype)
    rows[query[order], place], values[query[order], place] = row[order], scores[order]
    return Run.of(rows, values)


def _parquet_columns(path: Path) -> tuple[list[str], list[str], Any]:
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
        ids = [table.column(name).to_pylist() for name in ("query-id", "corpus-id")]
        return ids[0], ids[1], table.column("score").to_numpy()
    except (OSError, KeyError, pyarrow.ArrowException) as error:
        raise ResultError(f"{path} cannot be read: {error}", hint="run the model again with --save-runs") from error


def _trec_columns(path: Path) -> tuple[list[str], list[str], Any]:
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    for number, line in enumerate(lines, start=1):
        if len(line) != 6:
            raise ResultError(f"{path} line {number} has {len(line)} columns, expected 6", hint="run the model again")
    scores = np.array([float(line[4]) for line in lines], dtype=np.float64)
    single = scores.astype(np.float32)
    exact = bool((single == scores).all())  # then the model's scores were float32, and are again
    return [line[0] for line in lines], [line[2] for line in lines], single if exact else scores
