"""Differences on parts of the queries: by language, length, number of positives, overlap, or any metadata column."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.comparison.compute import corrected, differences_of, model_pairs
from steelyard.comparison.loaded_tasks import LoadedTask
from steelyard.comparison.model import Difference, SliceDifference
from steelyard.errors import DataError, UnknownName
from steelyard.files import with_home
from steelyard.stats.pairs import pair_statistics
from steelyard.types import Float64, Task

if TYPE_CHECKING:
    from steelyard.comparison.comparison import Comparison

BUILT_IN = ("language", "length", "positives", "overlap")
ID_COLUMNS = ("query-id", "query_id", "_id", "id", "qid")
LOW_OVERLAP, HIGH_OVERLAP = 1 / 3, 2 / 3

Metadata = Mapping[str, Mapping[str, Any]]
"""Columns by query id."""


def slice_differences(
    comparison: Comparison,
    loaded: Mapping[str, LoadedTask],
    dimensions: Sequence[str],
    metadata: str | Path | Metadata | None = None,
) -> tuple[SliceDifference, ...]:
    """Return the difference of every pair on every slice, p-values corrected over all slices that are large enough.

    Queries of all tasks are pooled: in a slice, every query counts alike.
    """
    columns = read_metadata(metadata) if isinstance(metadata, str | Path) else dict(metadata or {})
    known = [*BUILT_IN, *sorted({name for row in columns.values() for name in row})]
    for name in dimensions:
        if name not in known:
            hint = f"known: {', '.join(known)}; --metadata FILE adds the columns of a table"
            raise UnknownName("slice", name, known, hint=hint)
    names = {name: _labels(name, comparison, loaded, columns) for name in dimensions}
    pooled = np.concatenate([one.scores for one in comparison.scores.values()], axis=1)
    differences: list[SliceDifference] = []
    for dimension, labels in names.items():
        for label in _ordered(labels):
            chosen = np.array([own == label for own in labels])
            differences += _slice(comparison, dimension, label, pooled[:, chosen])
    large = [place for place, one in enumerate(differences) if one.conclusive]
    adjusted = corrected([differences[place].difference for place in large])
    for place, difference in zip(large, adjusted, strict=True):
        differences[place] = replace(differences[place], difference=difference)
    return tuple(differences)


def _slice(comparison: Comparison, dimension: str, label: str, scores: Float64) -> Iterator[SliceDifference]:
    """Yield the difference of each pair on one slice; a single query has a difference and nothing else."""
    models, queries = comparison.models, scores.shape[1]
    if queries < 2:
        for a, b in model_pairs(len(models)):
            gap = Difference(models[a], models[b], float((scores[a] - scores[b]).mean()))
            yield SliceDifference(dimension, label, queries, gap)
        return
    method = comparison.method
    statistics = pair_statistics(
        scores,
        model_pairs(len(models)),
        level=method.level,
        flips=method.flips,
        draws=method.draws,
        seed=method.seed,
    )
    for difference in differences_of(models, statistics):
        yield SliceDifference(dimension, label, queries, difference)


def _ordered(labels: Sequence[str | None]) -> list[str]:
    """Return the distinct labels in the order of their first query; queries without a label are in no slice."""
    return [label for label in dict.fromkeys(labels) if label is not None]


def _labels(
    dimension: str, comparison: Comparison, loaded: Mapping[str, LoadedTask], metadata: Metadata
) -> list[str | None]:
    """Return the slice of every query of all tasks, in the order of the pooled scores."""
    labels: list[str | None] = []
    for task in comparison.tasks:
        if task.task not in comparison.scores:
            continue
        ids = comparison.scores[task.task].ids
        data = loaded[task.task].task if task.task in loaded else None
        if dimension in BUILT_IN:
            labels += _built_in(dimension, task.language, data, ids)
        else:
            values = (metadata.get(query, {}).get(dimension) for query in ids)
            labels += [None if value is None else str(value) for value in values]
    if all(label is None for label in labels):
        raise DataError(
            f"no query has a value for the slice {dimension!r}",
            hint="name the data with -t so that it can be read, or check the ids of --metadata",
        )
    return labels


def _built_in(dimension: str, language: str, task: Task | None, ids: Sequence[str]) -> list[str | None]:
    if task is None:
        return [language if dimension == "language" else None] * len(ids)
    rows = [task.queries.row_of.get(query) for query in ids]
    by_row = {
        "language": _languages, "length": _lengths, "positives": _positives, "overlap": _overlaps,
    }[dimension](task)  # fmt: skip
    return [None if row is None else by_row[row] for row in rows]


def _languages(task: Task) -> Sequence[str | None]:
    if len(task.info.languages) <= 1 and task.info.language not in ("multilingual", "unknown"):
        return [task.info.language] * len(task.queries)
    from steelyard.reports.pages.measure.text_languages import read

    return read(task).query_languages


def _lengths(task: Task) -> Sequence[str | None]:
    """Return a class of length for every query; classes are fixed, so that they mean the same on every task."""
    classes = ((20, "up to 20 characters"), (50, "21 to 50 characters"), (100, "51 to 100 characters"))
    over = "over 100 characters"
    return [next((name for most, name in classes if len(text) <= most), over) for text in task.queries.texts]


def _positives(task: Task) -> Sequence[str | None]:
    names = {0: "no positive", 1: "1 positive"}
    counts = task.qrels.positives.tolist()
    return [names.get(n, "2 to 5 positives" if n <= 5 else "6 or more positives") for n in counts]


def _overlaps(task: Task) -> Sequence[str | None]:
    """Return how much of the query's terms its best positive shares, as task pages measure it."""
    from steelyard.reports.pages.measure.text_languages import read

    labels: list[str | None] = []
    for share in read(task).overlap.tolist():
        if not np.isfinite(share):
            labels.append(None)
        elif share <= LOW_OVERLAP:
            labels.append("overlap up to 1/3")
        else:
            labels.append("overlap over 2/3" if share > HIGH_OVERLAP else "overlap 1/3 to 2/3")
    return labels


def read_metadata(path: str | Path) -> dict[str, dict[str, Any]]:
    """Read columns by query id from a CSV, TSV or JSON-lines file.

    The id is in the column `query-id`, `query_id`, `_id`, `id` or `qid`; a nested `metadata` object, as in BEIR's
    queries.jsonl, counts as columns.
    """
    file = with_home(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the metadata cannot be read: {error}", where=str(file), hint="name a UTF-8 table") from error
    rows: list[dict[str, Any]] = []
    if file.suffix in (".jsonl", ".json", ".ndjson"):
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                where = f"{file} row {number}"
                raise DataError(f"every line must be a JSON object: {error}", where=where, hint="mend it") from error
            rows.append({**{k: v for k, v in row.items() if k != "metadata"}, **(row.get("metadata") or {})})
    else:
        rows = list(csv.DictReader(text.splitlines(), delimiter="\t" if file.suffix == ".tsv" else ","))
    return _by_query(rows, file)


def _by_query(rows: Sequence[Mapping[str, Any]], file: Path) -> dict[str, dict[str, Any]]:
    columns = list(rows[0]) if rows else []
    key = next((name for name in ID_COLUMNS if name in columns), None)
    if key is None:
        raise DataError(
            f"one column must have the query id, got {', '.join(map(str, columns)) or 'an empty table'}",
            where=str(file),
            hint=f"name it {ID_COLUMNS[0]}",
        )
    hidden = {key, "text"}
    return {str(row[key]): {k: v for k, v in row.items() if k not in hidden and v not in (None, "")} for row in rows}
