"""Events of a batch, as values. A listener may draw, log or ignore them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from steelyard.datasets.problems import Problem
from steelyard.results import Result


@dataclass(frozen=True)
class Opening:
    """A model is being loaded, before the batch begins."""

    model: str


@dataclass(frozen=True)
class Planned:
    """The batch begins: the number of evaluations, and how many seem to be stored already."""

    models: int
    tasks: int
    stored: int
    runs: int | None = None
    """Number of saved runs to score again; None for a batch of evaluations."""
    names: Sequence[str] = field(default=(), compare=False)
    """The names of the models, in the order of the evaluations."""
    sizes: Sequence[tuple[int, int] | None] = field(default=(), compare=False)
    """Documents (or samples) and queries of each task; None where they are not known before it is loaded."""
    lengths: Sequence[float | None] = field(default=(), compare=False)
    """About how long a document of each task is, relative to those of the others; None where it is not known."""
    stored_at: frozenset[tuple[str, int]] = field(default=frozenset(), compare=False)
    """The evaluations that seem to be stored: a model and the place of a task."""
    encoded_at: frozenset[tuple[str, int]] = field(default=frozenset(), compare=False)
    """The evaluations whose vectors and scores of pairs seem to be stored."""

    @property
    def evaluations(self) -> int:
        """The number of evaluations, or of runs."""
        return self.models * self.tasks if self.runs is None else self.runs


@dataclass(frozen=True)
class Loading:
    """A task is being loaded."""

    task: str


@dataclass(frozen=True)
class Noticed:
    """The data of a task has problems: rows that were left out, or look wrong."""

    task: str
    problems: Sequence[Problem]


@dataclass(frozen=True)
class Started:
    """The evaluation of a model on a task begins. `steps` is the number of items that it will report."""

    model: str
    task: str
    steps: int


@dataclass(frozen=True)
class Advanced:
    """The current evaluation has finished so many more items."""

    steps: int


@dataclass(frozen=True)
class Finished:
    """An evaluation has its result: new, failed, or `stored` earlier."""

    result: Result
    stored: bool


@dataclass(frozen=True)
class Distributed:
    """The state of all workers of an executor."""

    executor: str
    workers: int
    """Workers that are ready or computing."""
    texts: int
    """Texts that were encoded so far."""
    shards: int
    """Shards that are finished."""
    retries: int
    """How often a shard was given to a worker again, because one ended, was slow or could not store."""


Event = Opening | Planned | Loading | Noticed | Started | Advanced | Finished | Distributed

Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """Ignore the event."""
