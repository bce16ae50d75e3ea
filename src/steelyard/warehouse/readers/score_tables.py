"""Tables of scores (CSV, TSV, Parquet): one row per model, task and metric.

Columns: `model`, `task`, `score` are required; `revision`, `experiment`, `split`, `subset`, `metric`, `languages`,
`low`, `high`, `dataset_revision` and `version` are optional; any other column is kept in `extra`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard.warehouse.readers.rows import BadFile, Score, number, text

REQUIRED = ("model", "task", "score")
KNOWN = (
    *REQUIRED,
    "revision",
    "experiment",
    "split",
    "subset",
    "metric",
    "languages",
    "low",
    "high",
    "dataset_revision",
    "version",
)


def read(path: Path, content: bytes) -> Iterator[Score]:
    """Yield a score per row."""
    for row_number, row in enumerate(_rows(path, content), 1):
        model, task = text(row.get("model")), text(row.get("task"))
        score = _float(row.get("score"))
        if not model or not task:
            raise BadFile(f"row {row_number}: `model` and `task` must not be empty")
        if score is None and row.get("score") not in (None, "", "nan", "NaN"):
            raise BadFile(f"row {row_number}: `score` must be a number, got {row.get('score')!r}")
        metric = text(row.get("metric")) or "main_score"
        languages = text(row.get("languages")) or ""
        yield Score(
            model=model,
            revision=text(row.get("revision")) or "no_revision_available",
            experiment=text(row.get("experiment")) or "",
            task=task,
            split=text(row.get("split")) or "test",
            subset=text(row.get("subset")) or "default",
            languages=[language for language in languages.replace(";", ",").split(",") if language],
            main_score=score,
            metrics={} if score is None else {metric: score},
            low=_float(row.get("low")),
            high=_float(row.get("high")),
            dataset_revision=text(row.get("dataset_revision")),
            version=text(row.get("version")),
            extra={name: value for name, value in row.items() if name not in KNOWN and value not in (None, "")},
        )


def _rows(path: Path, content: bytes) -> Iterator[dict[str, Any]]:
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:  # names and texts are decoded when they are used
            table = pq.read_table(io.BytesIO(content))
            _check(table.column_names)
            for batch in table.to_batches(max_chunksize=10_000):
                yield from batch.to_pylist()
        except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
            raise BadFile(f"the file is not valid Parquet: {error}") from error
        return
    try:
        reader = csv.DictReader(
            io.StringIO(content.decode("utf-8-sig")), delimiter="\t" if path.suffix == ".tsv" else ","
        )
        _check(reader.fieldnames or [])
        yield from reader
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadFile(f"the file is not a valid table: {error}") from error


def _check(columns: Any) -> None:
    if missing := [name for name in REQUIRED if name not in columns]:
        raise BadFile(f"the table must have the columns {', '.join(REQUIRED)}, got none with the name {missing[0]!r}")


def _float(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            return number(float(value))
        except ValueError:
            return None
    return number(value)
