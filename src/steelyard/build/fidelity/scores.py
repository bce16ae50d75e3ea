"""Scores of models on the full task, query by query, from stored results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.results import Result, ResultStore
from steelyard.results.store import Report, warn
from steelyard.types import Float64, Task

FEWEST = 3
"""The fewest models: two have only one pair, so a ranking is either right or wrong."""

GRID = (
    "bm25",
    "bm25?b=0.4&k1=0.9",
    "bm25?b=0",
    "bm25?k1=3",
    "bm25?form=bm25l&delta=0.5",
    "dense",
    "dense?truncate_dim=256",
    "dense?truncate_dim=64",
    "dense?precision=binary",
    "[bm25, dense]",
    "[bm25, dense]?weights=3,1",
    "[bm25, dense]?method=zscore",
)
"""Models that need only the light core, from very different to nearly equal."""

Evaluate = Callable[[Task, Sequence[str]], "ModelScores"]
"""Evaluates models on a task."""


@dataclass(frozen=True, eq=False)
class ModelScores:
    """One metric of several models on the same queries of one task: `values` is (models, queries)."""

    task: str
    metric: str
    models: tuple[str, ...]
    values: Float64
    skipped: Mapping[str, str]
    """Stored results that cannot be compared with these, with the reason."""

    def __post_init__(self) -> None:
        if self.values.shape[0] != len(self.models):
            raise DataError.invalid(
                "the rows of scores",
                expected=f"{len(self.models)}, one for each model",
                found=self.values.shape[0],
                where=self.task,
            )
        if len(self.models) < FEWEST:
            raise UsageError.invalid(
                f"the number of models on {self.task}",
                expected=f"at least {FEWEST}",
                found=len(self.models),
                hint="evaluate more: steelyard run MODEL MODEL MODEL -t TASK, or name them with -m",
            )

    @property
    def means(self) -> Float64:
        """Return the mean score of each model, which ranks them on the full task."""
        return np.asarray(self.values.mean(axis=1))

    @property
    def queries(self) -> int:
        """Return how many queries the full task has."""
        return int(self.values.shape[1])


def stored_scores(
    folder: Path, task: str, metric: str, models: Sequence[str] = (), report: Report = warn
) -> ModelScores:
    """Return the scores of all models (or of the named ones) in a folder of results.

    Only complete results on the same data are compared: of several versions of the data, the one with most models; of
    several results of a model, the newest. `skipped` lists the others.
    """
    store = ResultStore(folder)
    results = [result for result in store.find(task=task, report=report) if not models or result.model in models]
    if not results:
        known = sorted({result.task for result in store.all(report) if result.done})
        listed = f"{folder} has {', '.join(known) or 'no results'}"
        hint = f"evaluate three or more models: steelyard run MODEL MODEL MODEL -t TASK; {listed}"
        raise UnknownName("task with results", task, known, hint=hint)
    usable, skipped = _usable(results, metric)
    ids = sorted(next(iter(usable.values())).per_query.ids) if usable else []
    rows = []
    for result in usable.values():
        queries = result.per_query
        order = sorted(range(len(queries)), key=queries.ids.__getitem__)
        if [queries.ids[at] for at in order] != ids:  # one data hash, so somebody changed a file
            raise DataError(
                "the queries must be those of the other results",
                where=str(result.path),
                hint="evaluate the model again: steelyard run --overwrite-strategy always",
            )
        rows.append(queries[metric][order])
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(ids))
    return ModelScores(task, metric, tuple(usable), values, skipped)


def _usable(results: Sequence[Result], metric: str) -> tuple[dict[str, Result], dict[str, str]]:
    """Return by model the newest complete result on the data that most models were evaluated on."""
    skipped: dict[str, str] = {}
    by_data: dict[str | None, dict[str, Result]] = {}
    for result in sorted(results, key=lambda result: result.created):
        name = f"{result.model} ({result.key[:8]})"
        if not result.done:
            skipped[name] = "failed"
        elif result.partial:
            skipped[name] = f"only {result.facts.queries} of {result.facts.queries_in_full} queries"
        elif metric not in result.per_query:
            skipped[name] = f"does not have {metric} by query"
        else:
            before = by_data.setdefault(result.facts.data_hash, {}).get(result.model)
            if before is not None:
                skipped[f"{before.model} ({before.key[:8]})"] = "older than another result"
            by_data[result.facts.data_hash][result.model] = result
    best = max(by_data.values(), key=len, default={})
    for others in by_data.values():
        if others is not best:
            skipped |= {f"{one.model} ({one.key[:8]})": "other data" for one in others.values()}
    return dict(sorted(best.items())), skipped
