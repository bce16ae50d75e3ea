"""Results arranged for reading: tasks down, models across, and which model is strongest where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from steelyard.results import Result
from steelyard.stats import paired_test

SIGNIFICANT = 0.05
"""Below this p-value of the paired test a lead is called a lead."""


@dataclass(frozen=True)
class Strongest:
    """The model with the highest figure of a task, and the runner-up if chance could explain its lead."""

    model: str
    score: float
    rival: str | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class Board:
    """Results by task and model; of several for the same pair the newest counts.

    Different data under one name is different tasks, told apart by its hash.
    """

    results: Sequence[Result]

    series: Sequence[str] = ()
    """The models of the whole report, where this is a part of it: each has its place among them, and its mark."""

    def part(self, wanted: Callable[[Result], bool]) -> Board:
        """Some of the results; every model keeps its mark."""
        return Board([result for result in self.results if wanted(result)], self.series or self.models)

    def place(self, model: str) -> int:
        """The place of the model in the whole report, by which its mark goes."""
        return list(self.series or self.models).index(model)

    @cached_property
    def tasks(self) -> list[str]:
        """Task names, in the order in which they were met."""
        return list(dict.fromkeys(map(self.task_of, self.results)))

    def task_of(self, result: Result) -> str:
        """The name under which the result's task stands here."""
        name, data = result.task, result.facts.data_hash
        return f"{name}@{data[:8]}" if data and len(self._data[name]) > 1 else name

    @cached_property
    def _data(self) -> dict[str, set[str]]:
        """The hashes of the data that goes by each name; a task that could not be read has none."""
        known: dict[str, set[str]] = {result.task: set() for result in self.results}
        for result in self.results:
            if result.facts.data_hash:
                known[result.task].add(result.facts.data_hash)
        return known

    @cached_property
    def models(self) -> list[str]:
        """Model names, in the order in which they were met in the whole report."""
        here = dict.fromkeys(result.model for result in self.results)
        return [model for model in self.series if model in here] if self.series else list(here)

    @cached_property
    def _cells(self) -> dict[tuple[str, str], Result]:
        return {(self.task_of(r), r.model): r for r in sorted(self.results, key=lambda r: r.created)}

    def cell(self, task: str, model: str) -> Result | None:
        """The finished result of a pair, if there is one."""
        result = self._cells.get((task, model))
        return result if result is not None and result.done else None

    def first(self, task: str) -> Result:
        """What tells of the task: its first finished result, or a failure where there is none."""
        there = [result for model in self.models if (result := self._cells.get((task, model)))]
        return next((result for result in there if result.done), there[0])

    @cached_property
    def failures(self) -> list[Result]:
        """Pairs that have no figures, with their error."""
        return [r for r in self._cells.values() if not r.done]

    def failed(self, task: str, model: str) -> bool:
        """Whether the pair was tried and has no figures."""
        result = self._cells.get((task, model))
        return result is not None and not result.done

    @cached_property
    def common_tasks(self) -> list[str]:
        """Tasks that every model finished, but for models that finished none: only their means may be compared."""
        able = [model for model in self.models if any(self.cell(task, model) for task in self.tasks)]
        return [task for task in self.tasks if able and all(self.cell(task, model) for model in able)]

    def mean(self, model: str, metric: str | None = None) -> float | None:
        """The mean of a metric, or of the main figure of every task, over the common tasks."""
        cells = (self.cell(task, model) for task in self.common_tasks)
        values = [
            value for cell in cells if cell and (value := cell.metrics.get(metric or cell.main_metric)) is not None
        ]
        return sum(values) / len(values) if values and len(values) == len(self.common_tasks) else None

    def strongest(self, task: str) -> Strongest | None:
        """The leader of a task by the main metric; with its rival where the paired test can't tell them apart."""
        cells = [cell for model in self.models if (cell := self.cell(task, model)) and cell.score is not None]
        ranked = sorted(cells, key=lambda cell: -(cell.score or 0.0))
        if not ranked:
            return None
        first = ranked[0]
        if len(ranked) == 1:
            return Strongest(first.model, first.score or 0.0)
        second = ranked[1]
        a, b = (cell.per_query.by_metric.get(first.main_metric) for cell in (first, second))
        if a is None or b is None or len(a) != len(b):
            return Strongest(first.model, first.score or 0.0)
        p_value = paired_test(a, b).p_value
        rival = second.model if p_value >= SIGNIFICANT else None
        return Strongest(first.model, first.score or 0.0, rival, p_value)
