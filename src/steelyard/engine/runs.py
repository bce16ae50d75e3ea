"""Runs as files, Parquet or the TREC format, so that new metrics need no model; and the scores of a TREC run file."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.datasets.formats.trec.qrels_runs import build_run, join, read_qrels, read_run, write_run
from steelyard.engine.plan import SaveRuns
from steelyard.errors import DataError, ResultError, UsageError
from steelyard.files import read_parquet
from steelyard.metrics import DEFAULT_METRICS, Metric, score
from steelyard.metrics.scoring import judged_only as keep_judged
from steelyard.results.store import attachment_path
from steelyard.types import Int32, Run, Scores, Task

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

    try:
        # Ids are read as numbers and each distinct string once: a deep run has every id thousands of times.
        names = ("query-id", "corpus-id")
        table = read_parquet(path, dictionaries=names).unify_dictionaries()
        query, document = (table.column(name).combine_chunks() for name in names)
        score = table.column("score")
        if not pyarrow.types.is_floating(score.type):
            raise TypeError(f"the column score must be of type float, got {score.type}")
        for name, ids in zip(names, (query, document), strict=True):
            if not isinstance(ids, pyarrow.DictionaryArray) or ids.null_count:
                raise TypeError(f"the column {name} must have texts without nulls, got {ids.type}")
            ids.validate(full=True)  # a damaged file may name ids that it does not have
        scores, ids_of = score.to_numpy(), [ids.dictionary.to_pylist() for ids in (query, document)]
    except (OSError, KeyError, ValueError, TypeError, pyarrow.ArrowException) as error:
        raise ResultError(f"{path} cannot be read: {error}", hint=_HINT, path=path) from error
    queries = _numbers(path, ids_of[0], task.queries.row_of)[query.indices.to_numpy()]
    rows = _numbers(path, ids_of[1], task.corpus.row_of)[document.indices.to_numpy()]
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


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """The scores of a run file; `scores.per_query` is in the order of `queries`."""

    tag: str
    """The name in the last column of the run."""
    queries: tuple[str, ...]
    scores: Scores

    def __getitem__(self, metric: str) -> float | None:
        return self.scores[metric]


def score_run(
    qrels: str | Path,
    run: str | Path,
    metrics: Iterable[str | Metric] = (),
    *,
    all_judged: bool = False,
    judged_only: bool = False,
    top_k: int | None = None,
) -> ScoredRun:
    """Return the scores of a TREC run against TREC judgements, as trec_eval computes them.

    `metrics` are added to the default ones. Judged queries that the run lacks count as 0 with `all_judged` and are left
    out otherwise; `judged_only` removes documents without a judgement; `top_k` keeps the first documents of each list.
    """
    if top_k is not None and top_k < 1:
        raise UsageError.invalid("top_k", expected="at least 1", found=top_k, option="top_k")
    judgements, ranked = read_qrels(Path(qrels)), read_run(Path(run))
    queries, lists, grades = join(judgements, ranked, all_judged=all_judged)
    if not queries:
        raise DataError(f"no query of the run is in {qrels}", path=run, hint="use the same query ids in both files")
    if top_k is not None:
        lists = lists.top(top_k)
    if judged_only:
        lists = keep_judged(lists, grades)
    return ScoredRun(ranked.tag, tuple(queries), score(lists, grades, (*DEFAULT_METRICS, *metrics)))
