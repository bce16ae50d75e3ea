"""Result files of Steelyard: mteb's layout, with everything else under `steelyard`, and the scores of each query next
to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from steelyard.warehouse.readers.rows import FIRST_POSITIVE, BadFile, Model, Score, number, text, texts, whole

KEPT_APART = ("metrics", "intervals", "misses")
PUBLISHED = ("C-MTEB/", "mteb:", "mteb/")
"""Groups of tasks that mteb's result files name without the group."""


def accepts(data: dict[str, Any]) -> bool:
    """Return whether the content is a result of Steelyard; mteb's files of ours have an entry for each split there."""
    own = data.get("steelyard")
    return isinstance(own, dict) and not (
        own and all(isinstance(part, dict) and "key" in part for part in own.values())
    )


def read(path: Path, data: dict[str, Any]) -> Iterator[Score | Model]:
    """Yield the score and the model of a finished result; a failure is a file with a reason."""
    own = data["steelyard"]
    model, task, settings = text(own.get("model")), text(own.get("task")), own.get("settings")
    if model is None or task is None:
        raise BadFile("`steelyard.model` and `steelyard.task` must be texts")
    if own.get("status") != "done":
        error = own.get("error")
        message = error.get("message") if isinstance(error, dict) else None
        raise BadFile(f"the evaluation failed: {message or 'no reason is stored'}")
    facts = own.get("facts") if isinstance(own.get("facts"), dict) else {}
    main = text(own.get("main_metric")) or "ndcg_at_10"
    metrics = {name: value for name, value in (own.get("metrics") or {}).items() if number(value) is not None}
    interval = (own.get("intervals") or {}).get(main)
    bounds = interval if isinstance(interval, list) else []
    split, subset = _split(data)
    revision = path.parent.name
    timings = own.get("timings") if isinstance(own.get("timings"), dict) else {}
    limit = facts.get("limit")
    yield Score(
        model=model,
        revision=revision,
        task=_public_name(task),
        split=split,
        subset=subset,
        main_score=number(metrics.get(main)),
        metrics=metrics,
        languages=texts(facts.get("languages")) or [name for name in [text(facts.get("language"))] if name],
        low=number(bounds[0]) if len(bounds) > 1 else None,
        high=number(bounds[1]) if len(bounds) > 1 else None,
        dataset_revision=_revision(facts) or text(data.get("dataset_revision")),
        version=text(data.get("mteb_version")),
        seconds=number(timings.get("total")),
        limit=whole(limit.get("queries") if isinstance(limit, dict) else limit),
        extra={name: value for name, value in own.items() if name not in KEPT_APART},
        queries=_queries(path),
    )
    yield Model(
        model=model,
        revision=revision,
        family=model.partition(":")[0].partition("?")[0],
        embed_dim=whole((settings or {}).get("dimension")) if isinstance(settings, dict) else None,
        memory_mb=(whole(own.get("peak_memory_bytes")) or 0) / 1e6 or None,
        extra={"variant_of": parent} if (parent := _variant_of(own)) else {},
    )


def _variant_of(own: dict[str, Any]) -> str | None:
    """Return the model whose dimension or precision this one reduces."""
    notes = own.get("notes")
    return text(notes.get("variant_of")) if isinstance(notes, dict) else None


def _revision(facts: dict[str, Any]) -> str | None:
    """Return the commit of a hub dataset, which others publish with their results, or the hash of the data."""
    revision = text(facts.get("revision"))
    return revision if revision and re.fullmatch(r"[0-9a-f]{40}", revision) else text(facts.get("data_hash"))


def _public_name(task: str) -> str:
    """Return the name under which others publish results of the task.

    >>> _public_name("C-MTEB/STSB"), _public_name("mteb:STS17"), _public_name("NanoAlmanac/en")
    ('STSB', 'STS17', 'NanoAlmanac/en')
    """
    for prefix in PUBLISHED:
        if task.startswith(prefix):
            return task.removeprefix(prefix)
    return task


def _split(data: dict[str, Any]) -> tuple[str, str]:
    scores = data.get("scores")
    if isinstance(scores, dict) and scores:
        split, rows = next(iter(scores.items()))
        if isinstance(rows, list) and rows and isinstance(rows[0], dict):
            return str(split), text(rows[0].get("hf_subset")) or "default"
    return "test", "default"


def _queries(path: Path) -> dict[str, tuple[Sequence[str], Sequence[float]]]:
    """Return the scores of each query from the Parquet file next to the result, if it exists."""
    table_path = path.with_name(path.name.removesuffix(".json") + ".queries.parquet")
    if not table_path.exists():
        return {}
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:  # names and texts are decoded when they are used
        with pq.ParquetFile(table_path) as file:
            table = file.read()
        if "query-id" not in table.column_names:
            raise BadFile(f"{table_path.name} must have a column query-id")
        ids: Sequence[str] = table.column("query-id").to_pylist()
        names = [name for name in table.column_names if name != "query-id"]
        columns = [table.column(name).cast(pa.float64()).combine_chunks() for name in names]
    except (OSError, UnicodeDecodeError, KeyError, pa.ArrowException) as error:
        raise BadFile(f"{table_path.name} cannot be read: {error}") from error
    renamed = [FIRST_POSITIVE if name == "first-positive" else name for name in names]
    return {name: (ids, column) for name, column in zip(renamed, columns, strict=True)}
