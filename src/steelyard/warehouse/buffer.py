"""Collect the rows of many files as columns, and hand them over as Arrow tables."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from steelyard.warehouse.readers import Model, Score
from steelyard.warehouse.readers.rows import as_json
from steelyard.warehouse.tables import FACTS, METRICS, MODELS, QUERIES, SCORES, SCORES_PER_FILE

FROM_SCORE = [name for name in SCORES.names if name not in ("score_id", "file_id", "extra")]
FACTS_OF = attrgetter(*FROM_SCORE)
FROM_MODEL = [name for name in MODELS.names if name not in ("file_id", "extra")]


@dataclass
class FileRecord:
    """A row of the table `files`."""

    file_id: int
    root: str
    path: str
    size: int
    mtime_ns: int
    digest: str | None
    format: str | None
    reason: str | None


class RowBuffer:
    """Columns that grow file by file."""

    def __init__(self) -> None:
        self._scores: dict[str, list[Any]] = {name: [] for name in SCORES.names}
        self._facts: list[tuple[Any, ...]] = []
        """The fields `FROM_SCORE` of each score."""
        self._models: dict[str, list[Any]] = {name: [] for name in MODELS.names}
        self._metric_counts: list[int] = []
        self._metric_names: list[str] = []
        self._metric_values = array("d")
        self._queries: list[pa.RecordBatch] = []

    def add_file(self, file_id: int, rows: Iterable[tuple[str, Score | Model]]) -> str | None:
        """Add the rows of a file and return its format. Nothing is added if the reader fails midway."""
        complete = list(rows)
        score_id = file_id * SCORES_PER_FILE
        for _, row in complete:
            if isinstance(row, Model):
                self._add_model(file_id, row)
            else:
                self._add_score(file_id, score_id, row)
                score_id += 1
        return complete[0][0] if complete else None

    def _add_model(self, file_id: int, model: Model) -> None:
        self._models["file_id"].append(file_id)
        self._models["extra"].append(as_json(model.extra))
        for name in FROM_MODEL:
            self._models[name].append(getattr(model, name))

    def _add_score(self, file_id: int, score_id: int, score: Score) -> None:
        self._scores["file_id"].append(file_id)
        self._scores["score_id"].append(score_id)
        self._scores["extra"].append(as_json(score.extra))
        self._facts.append(FACTS_OF(score))
        self._metric_counts.append(len(score.metrics))
        self._metric_names.extend(score.metrics)
        self._metric_values.extend(score.metrics.values())
        by_ids: dict[int, list[str]] = {}
        for metric, (queries, _) in score.queries.items():
            by_ids.setdefault(id(queries), []).append(metric)
        for metrics in by_ids.values():  # all metrics of a file have the same list of queries
            self._queries.append(_query_rows(score_id, score, metrics))

    def streams(self) -> dict[str, pa.Buffer]:
        """Return each table as an Arrow stream, the form in which it passes between processes."""
        for name, values in zip(FROM_SCORE, zip(*self._facts, strict=True), strict=True) if self._facts else ():
            self._scores[name] = list(values)
        score_ids = np.repeat(np.array(self._scores["score_id"], np.int64), self._metric_counts)
        names = pa.array(self._metric_names, pa.string()).dictionary_encode()
        tables = {
            "scores": pa.table(self._scores, schema=SCORES),
            "models": pa.table(self._models, schema=MODELS),
            "metrics": pa.table(
                [pa.array(score_ids), names, pa.array(self._metric_values, pa.float64())], schema=METRICS
            ),
            "queries": pa.Table.from_batches(self._queries, schema=QUERIES),
        }
        return {table: _stream(tables[table]) for table in FACTS}


def _query_rows(score_id: int, score: Score, metrics: Sequence[str]) -> pa.RecordBatch:
    """Return the rows of metrics that have the same queries, metric by metric."""
    queries = score.queries[metrics[0]][0]
    count, several = len(queries), len(metrics)
    names = pa.DictionaryArray.from_arrays(
        pa.array(np.repeat(np.arange(several, dtype=np.int32), count)), pa.array(metrics)
    )
    columns = [
        pa.array(np.full(several * count, score_id)),
        pa.concat_arrays([pa.array(queries, pa.string())] * several),
        names,
        pa.concat_arrays([_numbers(score.queries[metric][1]) for metric in metrics]),
        pa.array(np.tile(np.arange(count, dtype=np.int32), several)),
    ]
    return pa.record_batch(columns, schema=QUERIES)


def _numbers(values: Any) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(values, pa.float64())


def _stream(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(unify_dictionaries=True)) as writer:
        writer.write_table(table)
    return sink.getvalue()
