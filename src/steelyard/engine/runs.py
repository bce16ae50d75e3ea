"""Runs as files, so that new metrics need no model: Parquet, or the TREC format."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.datasets.formats.trec.qrels_runs import build_run, read_run, write_run
from steelyard.engine.plan import SaveRuns
from steelyard.errors import DataError, ResultError
from steelyard.results.store import attachment_path
from steelyard.types import Int32, Run, Task

FORMS: tuple[SaveRuns, ...] = ("parquet", "trec")
PREDICTIONS = "predictions.json.gz"
"""The file next to a result with labels or clusters, which are no ranked lists."""
_HINT = "evaluate the model again with --save-runs"


def run_bytes(run: Run, task: Task, model: str, form: SaveRuns) -> bytes:
    """Return the content of a run file: ids as strings, lists best first, exact scores."""
    if form == "parquet":
        return _parquet(run, task)
    exact = Run(run.rows, run.scores.astype(np.float64))  # the decimals of a double represent a float32 exactly
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.trec"
        write_run(path, exact, task.queries.ids, task.corpus.ids, "_".join(model.split()))
        return path.read_bytes()


def _parquet(run: Run, task: Task) -> bytes:
    import pyarrow
    from pyarrow import parquet

    query, rank = np.nonzero(run.rows >= 0)

    def ids(names: Sequence[str], numbers: Any) -> Any:
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(numbers.astype(np.int32)), pyarrow.array(names))

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


def predictions_bytes(predictions: Any) -> bytes:
    """Return the content of a file of predictions: the same for the same predictions, so without a time."""
    return gzip.compress(json.dumps(predictions, ensure_ascii=False).encode(), mtime=0)


def has_run(result: Path) -> bool:
    """Return whether a run is stored next to a result file."""
    return any(attachment_path(result, f"run.{form}").exists() for form in FORMS)


def saved_run(result: Path, task: Task) -> Run | None:
    """Return the run next to a result file, for that task; None if none is stored."""
    for form in FORMS:
        path = attachment_path(result, f"run.{form}")
        if path.exists():
            return _read_parquet(path, task) if form == "parquet" else _read_trec(path, task)
    return None


def read_run_file(path: Path, task: Task) -> Run:
    """Return the run of a file that `run_bytes` or any TREC tool wrote, for that task."""
    return _read_parquet(path, task) if path.suffix == ".parquet" else _read_trec(path, task)


def _read_parquet(path: Path, task: Task) -> Run:
    import pyarrow
    from pyarrow import parquet

    try:
        # Ids are read as numbers and each distinct string once: a deep run has every id thousands of times.
        names = ("query-id", "corpus-id")
        table = parquet.read_table(path, read_dictionary=list(names)).unify_dictionaries()
        query, document = (table.column(name).combine_chunks() for name in names)
        score = table.column("score")
        if not pyarrow.types.is_floating(score.type):
            raise TypeError(f"the column score must be of type float, got {score.type}")
        for name, ids in zip(names, (query, document), strict=True):
            if not isinstance(ids, pyarrow.DictionaryArray) or ids.null_count:
                raise TypeError(f"the column {name} must have texts without nulls, got {ids.type}")
        scores = score.to_numpy()
    except (OSError, KeyError, ValueError, TypeError, pyarrow.ArrowException) as error:
        raise ResultError(f"{path} cannot be read: {error}", hint=_HINT, path=path) from error
    queries = _numbers(path, query.dictionary.to_pylist(), task.queries.row_of)[query.indices.to_numpy()]
    rows = _numbers(path, document.dictionary.to_pylist(), task.corpus.row_of)[document.indices.to_numpy()]
    return _run(queries, rows, scores, task)


def _read_trec(path: Path, task: Task) -> Run:
    try:
        lines = read_run(path)
    except DataError as error:
        raise ResultError(error.message, hint=_HINT, path=path) from error
    queries = _numbers(path, lines.queries, task.queries.row_of)[lines.query]
    rows = _numbers(path, lines.documents, task.corpus.row_of)[lines.document]
    return _run(queries, rows, lines.scores, task)


def _run(queries: Int32, rows: Int32, scores: Any, task: Task) -> Run:
    run = build_run(queries, rows, scores, queries=len(task.queries))
    single = run.scores.astype(np.float32)
    # Scores that fit into float32 came from a model with float32: they are restored bit by bit.
    return Run(run.rows, single) if np.array_equal(single, run.scores) else run


def _numbers(path: Path, ids: Sequence[str], row_of: Mapping[str, int]) -> Int32:
    try:
        return np.array([row_of[id_] for id_ in ids], dtype=np.int32)
    except KeyError as error:
        raise ResultError(f"{path} has the id {error}, which the task does not have", hint=_HINT, path=path) from None
