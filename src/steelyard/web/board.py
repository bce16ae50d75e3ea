"""The data of one leaderboard: tasks, models and scores. Console, static site and server get the same value.

`Board.payload()` is the JSON that the scripts in `assets` read. Scores are columns, one entry per model and task that
has a score.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, NamedTuple

import numpy as np

PARTIAL = 1
"""Some splits or subsets of the task have no score."""
LIMITED = 2
"""Only a sample of the queries was evaluated."""
OTHER_REVISION = 4
"""The score is of another revision of the model than its other scores."""
OTHER_DATA = 8
"""The score is on other data, or another sample of it, than most scores of the task: it is not averaged."""
TRAINED = 16
"""The model declares the task's training split as training data."""
CONTAMINATED = 32
"""An audit found queries of the task in the model's training data."""
UNRECORDED = 64
"""Which revision of the data was used is not recorded."""
PAYLOAD_VERSION = 2


@dataclass(frozen=True)
class BoardTask:
    """A column of the board."""

    name: str
    type: str = "unknown"
    category: str | None = None
    languages: tuple[str, ...] = ()
    metric: str | None = None
    queries: int | None = None
    documents: int | None = None
    revision: str | None = None
    """The revision of the data that most scores have, where published results record it."""


@dataclass(frozen=True)
class BoardStage:
    """A stage of a pipeline, with means over the tasks."""

    name: str
    score: float
    gain: float | None = None
    """The difference from its best input."""
    ceiling: float | None = None
    """The recall of its input, which no order of the documents can exceed."""
    depth: int | None = None
    """Documents of each query that it reads."""


@dataclass(frozen=True)
class BoardModel:
    """A row of the board."""

    name: str
    revision: str | None = None
    family: str | None = None
    parameters: int | None = None
    dimension: int | None = None
    tokens: int | None = None
    license: str | None = None
    open: bool | None = None
    date: str | None = None
    url: str | None = None
    own: bool = False
    """Evaluated here, not published by others."""
    variant_of: str | None = None
    """The model whose dimension or precision this one reduces."""
    bytes: float | None = None
    """Bytes per document in the index."""
    passages: float | None = None
    """Passages per document in the index, where documents are divided."""
    rescore: float | None = None
    """Bytes per document of the vectors for rescoring, besides those of the index."""
    seconds: float | None = None
    """Seconds of an evaluation, summed over the tasks."""
    latency: float | None = None
    """Milliseconds of one query."""
    rate: float | None = None
    """Documents that are encoded and indexed in a second."""
    price: float | None = None
    """Price of 1,000 queries."""
    p95: float | None = None
    """Milliseconds within which 95 of 100 queries are answered; this and what follows is measured by `run --costs`."""
    p99: float | None = None
    encode: float | None = None
    """Milliseconds of encoding one query."""
    search: float | None = None
    rerank: float | None = None
    throughput: float | None = None
    """Queries in a second, in batches."""
    gigabytes: float | None = None
    """Size of the index of a million documents, a projection."""
    hours: float | None = None
    """Hours of encoding and indexing a million documents, a projection."""
    documents_price: float | None = None
    """Price of encoding a million documents, a projection."""
    memory: float | None = None
    """Peak memory in MB, in a process of its own."""
    stages: tuple[BoardStage, ...] = ()
    """The stages of a pipeline or fusion, first stage first."""
    queries: int = 0
    """Tasks for which the scores of single queries are stored."""


class Cell(NamedTuple):
    """The score of a model on a task, by their positions in the board. A board may have 100,000."""

    model: int
    task: int
    score: float
    low: float | None = None
    high: float | None = None
    flags: int = 0
    data: str | None = None
    """The data of a score that has `OTHER_DATA`: its revision, and its limit if it is a sample."""


@dataclass(frozen=True)
class Place:
    """The rank of a model among the models that have all tasks, with its uncertainty."""

    model: int
    low: int
    high: int
    group: int
    """Models of one group cannot be distinguished from the best model of the group."""


@dataclass(frozen=True)
class Failed:
    """An evaluation without scores."""

    model: str
    task: str
    error: str


@dataclass(frozen=True)
class Board:
    """One leaderboard."""

    name: str
    title: str
    tasks: Sequence[BoardTask]
    models: Sequence[BoardModel]
    cells: Sequence[Cell]
    metrics: dict[str, Sequence[float | None]] = field(default_factory=dict)
    """Other metrics of the cells, in the same order."""
    stored: Sequence[str] = ()
    """Further metrics of the cells, which are loaded when they are asked for."""
    tied: Sequence[int] = ()
    """Models that a paired test over queries cannot distinguish from the best, if there are scores of queries."""
    leaders: Sequence[Sequence[int]] = ()
    """For each task, the models that a paired test cannot distinguish from its best one."""
    note: str = ""
    places: Sequence[Place] = ()
    """Ranks on all tasks, computed from the scores of queries where there are any."""
    failures: Sequence[Failed] = ()
    audits: Sequence[dict[str, Any]] = ()
    """Audits of training data that have tasks of the board, and the models that they concern."""
    queries: bool = False
    """Whether there are scores of queries: then tasks have details, and two models can be compared query by query."""

    @property
    def slug(self) -> str:
        """The board's name in URLs and file names.

        >>> Board("MTEB(cmn, v1)", "", (), (), ()).slug
        'mteb-cmn-v1'
        """
        return slug(self.name)

    def payload(self) -> dict[str, Any]:
        """Return the board as the plain values that the scripts read; None and empty fields of models are left out."""
        return {
            "version": PAYLOAD_VERSION,
            "name": self.name,
            "title": self.title,
            "note": self.note,
            "tasks": [_compact(task) for task in self.tasks],
            "models": [_compact(model) for model in self.models],
            "model": [cell.model for cell in self.cells],
            "task": [cell.task for cell in self.cells],
            "score": _rounded(cell.score for cell in self.cells),
            "low": _column(_rounded(cell.low for cell in self.cells)),
            "high": _column(_rounded(cell.high for cell in self.cells)),
            "flags": _column([cell.flags or None for cell in self.cells]),
            "data": {place: cell.data for place, cell in enumerate(self.cells) if cell.data},
            "metrics": {name: _rounded(values) for name, values in self.metrics.items()},
            "stored": list(self.stored),
            "tied": list(self.tied),
            "leaders": [list(best) for best in self.leaders],
            "places": [asdict(place) for place in self.places],
            "failures": [asdict(failed) for failed in self.failures],
            "audits": list(self.audits),
            "queries": self.queries,
        }


def slug(name: str) -> str:
    """Return a name that is safe in URLs and as a file name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "board"


def _compact(value: Any) -> dict[str, Any]:
    """Return the fields that have a value; numbers keep five significant digits after the point."""
    given = ((name, item) for name, item in vars(value).items() if item is not None)
    fields = ((name, _short(item)) for name, item in given)
    return {name: item for name, item in fields if item not in (None, "", (), [], False, 0)}


def _short(value: Any) -> Any:
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, list | tuple):
        return [_short(item) for item in value]
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items() if item is not None}
    return value


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    """Return numbers with five digits after the point; None stays, and what is not a number becomes None.

    >>> _rounded([0.123456, None, float("nan")])
    [0.12346, None, None]
    """
    numbers = np.round(np.array(list(values), dtype=np.float64), 5)
    return [value if value == value else None for value in numbers.tolist()]


def _column(values: Iterable[Any]) -> list[Any] | None:
    """Return the values, or None if all of them are."""
    listed = list(values)
    return listed if any(value is not None for value in listed) else None
