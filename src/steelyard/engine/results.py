"""The results of a batch, as a sequence that prints as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from html import escape
from math import hypot
from typing import Any, overload
from unicodedata import combining, east_asian_width

from steelyard.engine.plan import CONDITIONS
from steelyard.engine.summary import Summary, summarise
from steelyard.errors import UsageError
from steelyard.metrics import parse
from steelyard.results import TITLES, Result
from steelyard.types.protocols import ModelSettings

Cell = str
TaskKey = tuple[str, str | None]
"""The name of a task, and the hash of its data: what makes two figures comparable."""

MANY = 6
"""Models that are too many for columns."""

_MISSING = "-"


class Results(Sequence[Result]):
    """Results of several models on several tasks; a filter gives Results again.

    >>> results = Results([Result("T/a", "bm25", {}, "1", metrics={"ndcg_at_10": 0.5}),
    ...                    Result("T/a", "dense", {}, "2", metrics={"ndcg_at_10": 0.25})])
    >>> print(results)
    nDCG@10  bm25     dense
    -------  -------  -------
    T/a      0.5000*  0.2500
    >>> results.filter(model="dense")[0].score
    0.25
    """

    def __init__(self, results: Iterable[Result]) -> None:
        self._results = tuple(results)

    @property
    def models(self) -> tuple[str, ...]:
        """The models, in the order of their first result."""
        return tuple(dict.fromkeys(result.model for result in self))

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, in the order of their first result."""
        return tuple(dict.fromkeys(result.task for result in self))

    @property
    def failures(self) -> Results:
        """The results that have no figures."""
        return Results(result for result in self if not result.done)

    def filter(self, *, model: str | None = None, task: str | None = None) -> Results:
        """The results of a model, on a task, or both."""
        return Results(r for r in self if model in (None, r.model) and task in (None, r.task))

    def told_apart(self) -> Results:
        """The same; but a model that has several results on the same data goes by names that say how they differ.

        Such are runs that were saved at several depths: tables and reports have one place for each name.
        """
        settings: dict[tuple[str, TaskKey], list[ModelSettings]] = {}
        for result in self:
            settings.setdefault((result.model, _task_key(result)), []).append(result.settings)
        differing: dict[str, set[str]] = {model: set() for model in self.models}
        for (model, _), found in settings.items():
            names = {name for one in found for name in one}
            differing[model] |= {name for name in names if any(one.get(name) != found[0].get(name) for one in found)}
        return Results(replace(r, model=r.model + _apart(r, differing[r.model])) for r in self)

    def means(self, metric: str | None = None) -> dict[str, float]:
        """The mean of each model over the tasks that *every* model has finished, so that means can be compared.

        A model that has finished none has no mean, and takes none from the others. Without a metric, of the main
        figure of every task; a metric may be spelt in any way.
        """
        metric = self._spelt(metric)
        common = self.common_tasks(metric)
        values = {model: [self._value(task, model, metric) for task in common] for model in self._able(metric)}
        return {model: sum(value or 0.0 for value in found) / len(common) for model, found in values.items() if common}

    def common_tasks(self, metric: str | None = None) -> tuple[TaskKey, ...]:
        """The tasks on which every model has the figure that has it on any: name, and hash of the data."""
        metric = self._spelt(metric)
        able = self._able(metric)
        return tuple(
            task for task in self._places if able and all(self._value(task, m, metric) is not None for m in able)
        )

    def _spelt(self, metric: str | None) -> str | None:
        """The metric under the name that results have it by; what is no metric at all is an UnknownName."""
        return metric if metric is None or any(metric in result.metrics for result in self) else str(parse(metric))

    def _able(self, metric: str | None) -> list[str]:
        """The models that have the figure on some task."""
        return [m for m in self.models if any(self._value(task, m, metric) is not None for task in self._places)]

    def table(self, metric: str | None = None, *, intervals: bool = False) -> tuple[list[str], list[list[Cell]]]:
        """Columns and rows: a task a row, a model a column, the best of several marked with a star.

        Many models stand in the rows, where the tasks are fewer.

        Behind each figure stands half the width of its interval; with `intervals`, the interval itself, which is
        seldom symmetric.

        Without a metric every task has its main figure, and names it where the tasks differ in that.

        A task of which only some queries were asked is called partial. With several tasks the last row is the mean
        over the tasks that every model has finished. Different data under one name stands in different rows, told
        apart by its hash.
        """
        metric = self._spelt(metric)
        rows = []
        for task, found in self._places.items():
            best = self._best(self._value(task, model, metric) for model in self.models)
            cells = (_cell(found.get(model), metric, best, intervals) for model in self.models)
            partial = " (partial)" if any(result.partial for result in found.values()) else ""
            rows.append([self._label(task) + partial + self._what(found, metric), *cells])
        if len(self._places) > 1 and (means := self.means(metric)):
            common, best = len(self.common_tasks(metric)), self._best(means.values())
            label = (
                "mean" if common == len(self._places) else f"mean of {common} common task{'' if common == 1 else 's'}"
            )
            figures = {model: _figure(mean, best) + self._spread(model, metric) for model, mean in means.items()}
            rows.append([label, *(figures.get(model, _MISSING) for model in self.models)])
        table = [[self._title(metric), *self.models], *rows]
        if MANY <= len(self.models) > len(rows):
            table = [list(line) for line in zip(*table, strict=True)]
        return table[0], table[1:]

    def summary(self) -> Summary:
        """The mean by task and by type of task, and the Borda rank of every model, as mteb has them."""
        return summarise(self)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The result files as values."""
        return [result.to_dict() for result in self]

    @cached_property
    def _places(self) -> dict[TaskKey, dict[str, Result]]:
        places: dict[TaskKey, dict[str, Result]] = {}
        for result in self:
            places.setdefault(_task_key(result), {})[result.model] = result
        return places

    def _value(self, task: TaskKey, model: str, metric: str | None) -> float | None:
        result = self._places[task].get(model)
        return None if result is None else result.metrics.get(metric or result.main_metric)

    @cached_property
    def _mains(self) -> set[str]:
        """The main metrics there are; that of a failure is known where its task could be read."""
        known = {result.main_metric for result in self if result.done}
        return known or {result.main_metric for result in self if result.facts.data_hash is not None}

    def _title(self, metric: str | None) -> str:
        if metric is None and len(self._mains) != 1:
            return "main score"
        return _title(metric or next(iter(self._mains)))

    def _what(self, found: dict[str, Result], metric: str | None) -> str:
        if metric is not None or len(self._mains) <= 1:
            return ""
        mains = {result.main_metric for result in found.values() if result.done}
        return f" ({_title(mains.pop())})" if len(mains) == 1 else ""

    def _spread(self, model: str, metric: str | None) -> str:
        """How sure the mean over the common tasks is: as their intervals say, tasks being drawn apart."""
        results = [self._places[task][model] for task in self.common_tasks(metric)]
        intervals = [result.intervals.get(metric or result.main_metric) for result in results]
        halves = [(interval.high - interval.low) / 2 for interval in intervals if interval]
        return _half(hypot(*halves) / len(halves)) if len(halves) == len(results) else ""

    def _label(self, task: TaskKey) -> str:
        name, data_hash = task
        alone = sum(other == name for other, _ in self._places) == 1
        return name if alone else f"{name}@{data_hash[:8] if data_hash else 'unknown'}"

    def _best(self, values: Iterable[float | None]) -> float | None:
        """Alone, nobody is the best."""
        there = [value for value in values if value is not None]
        return max(there, default=None) if len(self.models) > 1 else None

    @overload
    def __getitem__(self, place: int) -> Result: ...
    @overload
    def __getitem__(self, place: slice) -> Results: ...
    def __getitem__(self, place: int | slice) -> Result | Results:
        return Results(self._results[place]) if isinstance(place, slice) else self._results[place]

    def __len__(self) -> int:
        return len(self._results)

    def __str__(self) -> str:
        if not self:
            return "no results"
        columns, rows = self.table()
        widths = [max(map(_width, column)) for column in zip(columns, *rows, strict=True)]
        lines = [columns, ["-" * width for width in widths], *rows]
        padded = (
            [cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)] for line in lines
        )
        return "\n".join("  ".join(cells).rstrip() for cells in padded)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"Results({_counted(self.models, 'model')} x {_counted(self.tasks, 'task')}{failed})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the same table as `str`."""
        if not self:
            return "<p>no results</p>"
        columns, rows = self.table()
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _width(text: str) -> int:
    """How many places the text takes in a terminal: Chinese characters take two, marks on a letter none."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _counted(names: Sequence[str], noun: str) -> str:
    return f"{len(names)} {noun}{'' if len(names) == 1 else 's'}"


def _task_key(result: Result) -> TaskKey:
    return result.task, result.facts.data_hash


def _apart(result: Result, differing: set[str]) -> str:
    """Its values of the settings that differ; by the key of the result where there is no short word for one."""
    if not differing:
        return ""
    told = [f"{name} {result.settings.get(name, '-')}" for name in CONDITIONS if name in differing]
    return f" ({', '.join(told) if differing <= set(CONDITIONS) else result.key[:8]})"


def _title(metric: str) -> str:
    """What people call the metric; figures of a whole task go by their own name."""
    if metric in TITLES:
        return TITLES[metric]
    try:
        return parse(metric).display
    except UsageError:
        return metric


def _cell(result: Result | None, metric: str | None, best: float | None, intervals: bool) -> Cell:
    if result is None:
        return _MISSING
    name = metric or result.main_metric
    value = result.metrics.get(name)
    if value is None:
        return _MISSING if result.done else "failed"
    interval = result.intervals.get(name)
    if interval is None:
        return _figure(value, best)
    exact = f" [{interval.low:.4f}, {interval.high:.4f}]"
    return _figure(value, best) + (exact if intervals else _half((interval.high - interval.low) / 2))


def _half(width: float) -> str:
    return f" ±{width:.3f}"


def _figure(value: float, best: float | None) -> Cell:
    return f"{value:.4f}{'*' if value == best else ' '}"
