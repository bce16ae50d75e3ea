"""What models scored on the full set, query by query: from stored results, or from weighing them now."""

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
"""With two models there is one pair, and a ranking is right or wrong."""

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
"""Models that need nothing but the light core, from far apart to hard to tell apart."""

Weigh = Callable[[Task, Sequence[str]], "Scored"]
"""Weighs models on a task."""


@dataclass(frozen=True, eq=False)
class Scored:
    """One metric of several models on the same queries of one task: `values` is (models, queries)."""

    task: str
    metric: str
    models: tuple[str, ...]
    values: Float64
    passed_over: Mapping[str, str]
    """Stored results that could not be compared with these, and why."""

    def __post_init__(self) -> None:
        if self.values.shape[0] != len(self.models):
            raise DataError(
                f"figures of {self.values.shape[0]} models for {len(self.models)}",
                where=self.task,
                hint="give a row of figures for each model",
            )
        if len(self.models) < FEWEST:
            raise UsageError(
                f"{len(self.models)} models on {self.task} make no ranking that a cut could keep",
                hint=f"{FEWEST} or more: steelyard run MODEL MODEL MODEL -t TASK, or name them with -m",
            )

    @property
    def figures(self) -> Float64:
        """The mean of each model: what the full set ranks them by."""
        return np.asarray(self.values.mean(axis=1))

    @property
    def queries(self) -> int:
        """How many queries the full set has."""
        return int(self.values.shape[1])


def stored_scores(folder: Path, task: str, metric: str, models: Sequence[str] = (), report: Report = warn) -> Scored:
    """The figures of all models (or of those named) that a folder of results has for a task.

    Only whole results on the same data are compared: where there are several states of the data, the one that most
    models were weighed on; of a model's results, the newest. What is passed over is told.
    """
    store = ResultStore(folder)
    found = [result for result in store.find(task=task, report=report) if not models or result.model in models]
    if not found:
        known = sorted({result.task for result in store.all(report) if result.done})
        there = f"{folder} has {', '.join(known) or 'no results'}"
        hint = f"weigh three or more models: steelyard run MODEL MODEL MODEL -t TASK; {there}"
        raise UnknownName("task with results", task, known, hint=hint)
    usable, passed_over = _usable(found, metric)
    ids = sorted(next(iter(usable.values())).per_query.ids) if usable else []
    rows = []
    for result in usable.values():
        queries = result.per_query
        order = sorted(range(len(queries)), key=queries.ids.__getitem__)
        if [queries.ids[at] for at in order] != ids:  # one data hash, so somebody changed a file
            raise DataError(
                "the queries are not those of the other results",
                where=str(result.path),
                hint="a file beside it was changed: evaluate the model again with --overwrite-strategy always",
            )
        rows.append(queries[metric][order])
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(ids))
    return Scored(task, metric, tuple(usable), values, passed_over)


def _usable(found: Sequence[Result], metric: str) -> tuple[dict[str, Result], dict[str, str]]:
    """By model, the newest whole result on the data that most models were weighed on."""
    passed_over: dict[str, str] = {}
    by_data: dict[str | None, dict[str, Result]] = {}
    for result in sorted(found, key=lambda result: result.created):
        name = f"{result.model} ({result.key[:8]})"
        if not result.done:
            passed_over[name] = "failed"
        elif result.partial:
            passed_over[name] = f"only {result.facts.queries} of {result.facts.queries_in_full} queries"
        elif metric not in result.per_query:
            passed_over[name] = f"has no {metric} by query"
        else:
            before = by_data.setdefault(result.facts.data_hash, {}).get(result.model)
            if before is not None:
                passed_over[f"{before.model} ({before.key[:8]})"] = "older than another one"
            by_data[result.facts.data_hash][result.model] = result
    best = max(by_data.values(), key=len, default={})
    for results in by_data.values():
        if results is not best:
            passed_over |= {f"{one.model} ({one.key[:8]})": "other data" for one in results.values()}
    return dict(sorted(best.items())), passed_over
