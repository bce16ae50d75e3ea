"""The results of a report, and the mark of each model throughout it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from steelyard.results import Result, Results
from steelyard.results.leaders import Leaders


@dataclass(frozen=True)
class Board:
    """The one view of results (`Results`) with the places of its models in the whole report."""

    results: Sequence[Result]
    series: Sequence[str] = ()
    """The models of the whole report, where this is a part of it: each has its place among them, and its mark."""

    @cached_property
    def view(self) -> Results:
        """Everything that is computed from the results."""
        return Results(self.results)

    def part(self, wanted: Callable[[Result], bool]) -> Board:
        """Return some of the results; every model keeps its mark."""
        return Board([result for result in self.results if wanted(result)], self.series or self.models)

    def place(self, model: str) -> int:
        """Return the place of the model in the whole report, which decides its mark."""
        return list(self.series or self.models).index(model)

    @property
    def tasks(self) -> list[str]:
        """The tasks, in the order of their first result."""
        return list(self.view.labels)

    def task_of(self, result: Result) -> str:
        """Return the label of the result's task."""
        return self.view.label_of(result)

    @cached_property
    def models(self) -> list[str]:
        """The models, in their order in the whole report."""
        present = self.view.models
        return [model for model in self.series if model in present] if self.series else list(present)

    def cell(self, task: str, model: str) -> Result | None:
        """Return the finished result of a pair, if there is one."""
        result = self.view.cell(task, model)
        return result if result is not None and result.done else None

    def first(self, task: str) -> Result:
        """Return the first finished result of the task, or a failure if no model finished it."""
        cells = [result for model in self.models if (result := self.view.cell(task, model))]
        return next((result for result in cells if result.done), cells[0])

    @cached_property
    def failures(self) -> list[Result]:
        """The newest results without scores, with their error."""
        cells = (self.view.cell(task, model) for task in self.tasks for model in self.models)
        return [result for result in cells if result is not None and not result.done]

    def failed(self, task: str, model: str) -> bool:
        """Return whether the pair was tried and has no scores."""
        result = self.view.cell(task, model)
        return result is not None and not result.done

    @cached_property
    def common_tasks(self) -> list[str]:
        """The tasks that every model finished, models without any score aside."""
        return list(self.view.common_tasks())

    def mean(self, model: str, metric: str | None = None) -> float | None:
        """Return the mean of a metric, or of the main score of every task, over the common tasks."""
        values = [self.view.score(task, model, metric) for task in self.common_tasks]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known and len(known) == len(values) else None

    def leaders(self, task: str, metric: str | None = None) -> Leaders | None:
        """Return the model with the highest score of a task and those that cannot be distinguished from it."""
        return self.view.leaders(task, metric)

    def best(self, task: str, metric: str | None = None) -> tuple[str, ...]:
        """Return the models that cannot be distinguished from the best of a task; none if there is only one model."""
        leaders = self.leaders(task, metric) if len(self.models) > 1 else None
        return leaders.best if leaders else ()

    def best_means(self, metric: str | None = None) -> tuple[str, ...]:
        """Return the models whose mean over the common tasks cannot be distinguished from the highest one."""
        leaders = self.view.overall_leaders(metric) if len(self.models) > 1 else None
        return leaders.best if leaders else ()
