"""The summary of a benchmark as in mteb: the mean over tasks, the mean over types of tasks, and the Borda rank.

The score of a task is the mean over its subsets and splits. If a model lacks one of them, the task is missing; a mean
with a missing task is None, never the mean of the other tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from steelyard.results.schema import Result

UNKNOWN = "unknown"
"""The type of a task that could not be loaded for any model."""

_PARTS = re.compile(r"(?P<task>[^\[\]:]+)(?:\[(?P<subset>[^\[\]]+)\])?(?::(?P<split>[^\[\]:]+))?")

_Cell = tuple[str, str | None]
"""A task with its subset and split by name, and the hash of its data."""


@dataclass(frozen=True)
class ModelSummary:
    """One model on all tasks."""

    model: str
    rank: int | None
    """By Borda count, from 1; ties share the better rank. None: the model has no complete task."""
    mean_by_task: float | None
    mean_by_type: float | None
    """The mean of the means of the types."""
    types: Mapping[str, float | None]
    tasks: Mapping[str, float | None]
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For each type the number of complete tasks, and of all: a mean of fewer than all would be of others."""

    @property
    def complete(self) -> tuple[int, int]:
        """The number of complete tasks, and of all tasks."""
        return sum(done for done, _ in self.counts.values()), sum(every for _, every in self.counts.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON-ready values."""
        return {
            "model": self.model,
            "rank_borda": self.rank,
            "mean_by_task": self.mean_by_task,
            "mean_by_type": self.mean_by_type,
            "types": dict(self.types),
            "tasks": dict(self.tasks),
            "complete": {type: list(count) for type, count in self.counts.items()},
        }


@dataclass(frozen=True)
class Summary:
    """Models by Borda rank, those without one last.

    >>> from steelyard.results import TaskFacts
    >>> def made(task, model, score, type):
    ...     return Result(task, model, {}, "", metrics={"ndcg_at_10": score}, facts=TaskFacts(type=type))
    >>> print(summarise([made("T/a", "x", 0.4, "retrieval"), made("T/b", "x", 0.8, "sts"),
    ...                  made("T/a", "y", 0.6, "retrieval")]))
    rank  model  mean (task)  mean (type)  retrieval  sts
    ----  -----  -----------  -----------  ---------  ------
    1     x      0.6000       0.6000       0.4000     0.8000
    1     y      partial 1/2  partial 1/2  0.6000     -
    """

    models: tuple[ModelSummary, ...]
    types: Mapping[str, tuple[str, ...]]
    """The tasks of each type."""

    def __getitem__(self, model: str) -> ModelSummary:
        return next(line for line in self.models if line.model == model)

    def table(self) -> tuple[list[str], list[list[str | int | float | None]]]:
        """Return columns and rows: rank, model, the two means, a mean for each type."""
        columns = ["rank", "model", "mean (task)", "mean (type)", *self.types]
        rows: list[list[str | int | float | None]] = []
        for line in self.models:
            means = [_or_partial(mean, line.complete) for mean in (line.mean_by_task, line.mean_by_type)]
            types = [_or_partial(mean, line.counts[type]) for type, mean in line.types.items()]
            rows.append([line.rank, line.model, *means, *types])
        return columns, rows

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON-ready values."""
        types = {type: list(tasks) for type, tasks in self.types.items()}
        return {"types": types, "models": [line.to_dict() for line in self.models]}

    def __str__(self) -> str:
        columns, rows = self.table()
        cells = [columns, *([_shown(cell) for cell in row] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        cells.insert(1, ["-" * width for width in widths])
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)


@dataclass(eq=False)
class _Task:
    """The scores of one task: for each model, those of its subsets and splits."""

    type: str = UNKNOWN
    cells: set[_Cell] = field(default_factory=set)
    scores: dict[str, dict[_Cell, float]] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        # A failure before the data was read has the type of a task that is known by name: those have a source.
        if result.facts.data_hash is not None or result.done or (self.type == UNKNOWN and result.facts.source):
            self.type = result.facts.type
        cell = (result.task, result.facts.data_hash)
        self.cells.add(cell)
        if (score := main_score(result)) is not None:
            self.scores.setdefault(result.model, {})[cell] = score

    def needed(self) -> set[_Cell]:
        """Return the subsets and splits; a failure before the data was read counts as one of the others."""
        read = {name for name, data_hash in self.cells if data_hash is not None}
        return {cell for cell in self.cells if cell[1] is not None or cell[0] not in read}

    def mean(self, model: str) -> float | None:
        """Return the mean over subsets and splits; None if one is missing."""
        scores = self.scores.get(model, {})
        return fmean(scores.values()) if scores and scores.keys() >= self.needed() else None

    def points(self, models: int) -> dict[str, float]:
        """Return Borda points: the number of models minus the rank among those with scores; ties share their ranks.

        As in mteb, a model is ranked by the subsets and splits that it has.
        """
        means = {model: fmean(scores.values()) for model, scores in self.scores.items()}
        ordered = sorted(means.values(), reverse=True)
        rank = {value: ordered.index(value) + (ordered.count(value) + 1) / 2 for value in ordered}
        return {model: models - rank[value] for model, value in means.items()}


def summarise(results: Iterable[Result]) -> Summary:
    """Return the summary of any results: every task among them counts for every model."""
    listed = list(results)
    models = list(dict.fromkeys(result.model for result in listed))
    tasks: dict[str, _Task] = {}
    for result in listed:
        tasks.setdefault(task_of(result), _Task()).add(result)
    types: dict[str, list[str]] = {}
    for name, task in tasks.items():
        types.setdefault(task.type, []).append(name)
    ranks = _ranks(list(tasks.values()), models)
    lines = [_line(model, ranks.get(model), tasks, types) for model in models]
    lines.sort(key=lambda line: (line.rank is None, line.rank))
    return Summary(tuple(lines), {type: tuple(names) for type, names in types.items()})


def task_of(result: Result) -> str:
    """Return the name of the task that the result is a subset or split of.

    >>> from steelyard.results import TaskFacts
    >>> task_of(Result("C-MTEB/ATEC:validation", "m", {}, "", facts=TaskFacts(split="validation")))
    'C-MTEB/ATEC'
    >>> task_of(Result("mteb/STS22.v2[zh]", "m", {}, "")), task_of(Result("Mine/en:US", "m", {}, ""))
    ('mteb/STS22.v2', 'Mine/en:US')
    """
    group, slash, last = result.task.rpartition("/")
    parts = _PARTS.fullmatch(last)
    if parts is None:
        return result.task
    split = result.facts.split if result.done or result.facts.data_hash else parts["split"]
    return group + slash + parts["task"] if parts["split"] in (None, split) else result.task


def main_score(result: Result) -> float | None:
    """Return the main score with mteb's rounding; None if there is none."""
    score = result.mteb.get(result.main_metric, result.score)
    return float(score) if result.done and isinstance(score, int | float) else None


def _line(model: str, rank: int | None, tasks: Mapping[str, _Task], types: Mapping[str, Sequence[str]]) -> ModelSummary:
    scores = {name: task.mean(model) for name, task in tasks.items()}
    by_type = {type: _mean([scores[name] for name in names]) for type, names in types.items()}
    counts = {type: (sum(scores[name] is not None for name in names), len(names)) for type, names in types.items()}
    means = _mean(list(scores.values())), _mean(list(by_type.values()))
    return ModelSummary(model, rank, *means, by_type, scores, counts)


def _ranks(tasks: Sequence[_Task], models: Sequence[str]) -> dict[str, int]:
    """Return the ranks of the models with at least one complete task: only those are in mteb's table."""
    shown = [model for model in models if any(task.mean(model) is not None for task in tasks)]
    points = [task.points(len(shown)) for task in tasks]
    totals = {model: sum(of_task.get(model, 0.0) for of_task in points) for model in models}
    scored = [total for model, total in totals.items() if any(model in of_task for of_task in points)]
    return {model: 1 + sum(total > totals[model] for total in scored) for model in shown}


def _mean(scores: Sequence[float | None]) -> float | None:
    known = [score for score in scores if score is not None]
    return fmean(known) if known and len(known) == len(scores) else None


def _or_partial(mean: float | None, count: tuple[int, int]) -> float | str | None:
    """Return the mean, or of how many tasks there are scores if some are missing; None if all are."""
    done, every = count
    return mean if mean is not None or not done else f"partial {done}/{every}"


def _shown(cell: str | int | float | None) -> str:
    return "-" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell)
