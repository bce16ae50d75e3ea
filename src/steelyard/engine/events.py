"""What happens in a batch, as values. The engine tells; whoever listens may draw, log or stay silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from steelyard.datasets.problems import Problem
from steelyard.results import Result


@dataclass(frozen=True)
class Opening:
    """A model is being opened, before the batch begins: read, fetched, or asked what it is."""

    model: str


@dataclass(frozen=True)
class Planned:
    """The batch begins: how much there is, and how much of it seems to be stored already."""

    models: int
    tasks: int
    stored: int
    runs: int | None = None
    """How many runs there are to score again, where that is what is done."""

    @property
    def evaluations(self) -> int:
        """Every model on every task, or every run."""
        return self.models * self.tasks if self.runs is None else self.runs


@dataclass(frozen=True)
class Loading:
    """A task is being read."""

    task: str


@dataclass(frozen=True)
class Noticed:
    """The data of a task was read, and there is something to know of it: what was left out, or looks wrong."""

    task: str
    problems: Sequence[Problem]


@dataclass(frozen=True)
class Started:
    """A model begins on a task. `steps` is how many documents it will report as done."""

    model: str
    task: str
    steps: int


@dataclass(frozen=True)
class Advanced:
    """The model at work has done so many documents more."""

    steps: int


@dataclass(frozen=True)
class Finished:
    """An evaluation has its result: made now, failed, or `stored` from before."""

    result: Result
    stored: bool


Event = Opening | Planned | Loading | Noticed | Started | Advanced | Finished

Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """The listener of someone who does not watch."""
