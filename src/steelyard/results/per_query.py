"""Per-query scores of several results, aligned by query id: what paired tests are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from steelyard.errors import DataError, ResultError
from steelyard.files import read_parquet
from steelyard.results.query_scores import QUERY_COLUMN, queries_path
from steelyard.results.schema import Result
from steelyard.stats.agreement import pearson_influence, spearman_influence
from steelyard.types import Float64

GOLD = "gold"
"""The column of the gold scores of pairs of texts."""
INFLUENCE = {"spearman": spearman_influence, "pearson": pearson_influence}
CLOSE = 1e-6
"""A score that differs from the mean of its per-query values by more than this is not their mean."""


@dataclass(frozen=True, eq=False)
class Column:
    """The values of one metric, one for each query."""

    ids: tuple[str, ...]
    values: Float64


def columns(result: Result, metrics: Sequence[str]) -> dict[str, Column]:
    """Return the per-query values of those of the metrics that the result has; only these columns are read.

    A correlation with the gold scores of an STS task has one influence value for each pair of texts.
    """
    sources = [source for name in metrics if (source := _correlated(name))]
    names = [*metrics, GOLD, *sources] if sources else list(metrics)
    if result.queries is not None:
        stored = result.queries
        by_name = {name: Column(stored.ids, np.asarray(stored[name])) for name in names if name in stored}
    elif result.path is None or not result.done:
        return {}
    else:
        by_name = _read(queries_path(result.path), names)
    return _with_correlations(by_name, metrics)


def _correlated(metric: str) -> str | None:
    """Return the similarity that the metric correlates with the gold scores: `cosine` of `cosine_spearman`."""
    for ending in INFLUENCE:
        if metric == ending or metric.endswith(f"_{ending}"):
            return metric.removesuffix(ending).rstrip("_") or "similarity"
    return None


def _with_correlations(by_name: dict[str, Column], metrics: Sequence[str]) -> dict[str, Column]:
    for name in metrics:
        source = _correlated(name)
        if source in by_name and GOLD in by_name and name not in by_name:
            values = INFLUENCE[name.rpartition("_")[2]](by_name[GOLD].values, by_name[source].values)
            if values is not None:
                by_name[name] = Column(by_name[GOLD].ids, values)
    return {name: by_name[name] for name in metrics if name in by_name}


def _read(path: Path, metrics: Sequence[str]) -> dict[str, Column]:
    import pyarrow

    try:
        table = read_parquet(path, [QUERY_COLUMN, *metrics])
        names = [name for name in dict.fromkeys(metrics) if name in table.column_names]
        ids = tuple(table.column(QUERY_COLUMN).to_pylist())
        return {name: Column(ids, table.column(name).to_numpy().astype(np.float64)) for name in names}
    except (OSError, KeyError, ValueError, TypeError, OverflowError, pyarrow.ArrowException) as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
        raise ResultError(
            f"{path} {reason}", hint="run the evaluation again with --overwrite-strategy always"
        ) from error


def is_mean(column: Column, score: float | None) -> bool:
    """Return whether the score is the mean of the column: only then does a paired test of queries apply."""
    if score is None or not len(column.values):
        return False
    mean = float(column.values.mean())  # not a finite number if a value is none
    return isfinite(mean) and abs(mean - score) <= CLOSE * max(1.0, abs(score))


def aligned(by_model: Mapping[str, Column], *, where: str = "") -> tuple[tuple[str, ...], Float64]:
    """Return the query ids and the scores as a (models, queries) matrix in the order of the first model's queries.

    Models with other queries raise a DataError that names them and the first query that is not shared.

    >>> ids, scores = aligned({"a": Column(("q1", "q2"), np.array([1.0, 0.5])),
    ...                        "b": Column(("q2", "q1"), np.array([0.2, 0.8]))})
    >>> ids, scores.tolist()
    (('q1', 'q2'), [[1.0, 0.5], [0.8, 0.2]])
    """
    (first, reference), *others = by_model.items()
    rows = [reference.values]
    for model, column in others:
        if column.ids == reference.ids:
            rows.append(column.values)
            continue
        place = {query: row for row, query in enumerate(column.ids)}
        missing = [query for query in reference.ids if query not in place]
        missing += sorted(set(column.ids) - set(reference.ids))
        if missing:
            raise DataError(
                f"{first} and {model} must have the same queries, got {len(reference.ids):,} and {len(column.ids):,}; "
                f"{missing[0]!r} is missing in one of them",
                where=where or None,
                hint="evaluate both on the same data with the same --limit and --seed",
            )
        rows.append(column.values[[place[query] for query in reference.ids]])
    return reference.ids, np.stack(rows)
