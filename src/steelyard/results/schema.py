"""A result: the scores of one model, with its settings, on one task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from steelyard.errors import ResultError, UnknownName
from steelyard.results import result_file
from steelyard.results.query_scores import QueryScores, queries_path
from steelyard.results.result_parts import (
    HEADLINES,
    MAIN_METRIC,
    MAIN_METRICS,
    SCHEMA_VERSION,
    TITLES,
    Failure,
    Miss,
    Status,
    TaskFacts,
)
from steelyard.types import Interval
from steelyard.types.protocols import ModelSettings

__all__ = [
    "HEADLINES",
    "MAIN_METRIC",
    "MAIN_METRICS",
    "SCHEMA_VERSION",
    "TITLES",
    "Failure",
    "Miss",
    "Result",
    "Status",
    "TaskFacts",
    "with_interval",
]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """One model on one task: scores with their uncertainty, costs, and how they were obtained.

    >>> result = Result("NanoX/en", "bm25", {}, "k1", metrics={"ndcg_at_10": 0.5},
    ...                 intervals={"ndcg_at_10": Interval(0.4, 0.6)}, timings={"total": 0.25})
    >>> result
    Result(bm25 on NanoX/en: nDCG@10 0.5000 [0.4000, 0.6000], 0.25 s)
    >>> result.score, result["ndcg_at_10"], result.done
    (0.5, 0.5, True)
    """

    task: str
    """`Group/task`."""
    model: str
    """The canonical model name."""
    settings: ModelSettings
    """Everything that could change a score: the model's settings, top_k, metrics, fusion, limit."""
    key: str
    """A hash of settings, data and version of the scoring: equal keys mean equal scores."""
    status: Status = "done"
    main_metric: str = MAIN_METRIC
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    """Means over queries and metrics of the whole task, by canonical name; None where undefined."""
    mteb: Mapping[str, Any] = field(default_factory=dict)
    """The same under mteb's names, formulas and rounding; None where undefined. Some types have lists with a value
    for each experiment."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    facts: TaskFacts = field(default_factory=TaskFacts)
    timings: Mapping[str, float] = field(default_factory=dict)
    """Seconds: `load`, `index`, `search`, `score`, and `total`, their sum. `reused` seconds of it were spent by
    another model of the same run (the lists of a fusion)."""
    index_bytes: int | None = None
    peak_memory_bytes: int | None = None
    """Most memory that the model took, in a process of its own (`run --costs`); None if it was not measured."""
    misses: tuple[Miss, ...] = ()
    """The worst queries, worst first; at most ten."""
    notes: ModelSettings = field(default_factory=dict)
    """Details of the evaluation: analyser chosen, texts truncated, vectors read from the cache."""
    provenance: ModelSettings = field(default_factory=dict)
    """Versions of the software, and the machine."""
    error: Failure | None = None
    created: str = ""
    """UTC, ISO 8601."""
    path: Path | None = None
    """The file that the result was read from or written to; not part of the file."""
    queries: QueryScores | None = None
    """Scores by query while in memory; read them through `per_query`."""

    @property
    def done(self) -> bool:
        """Whether there are scores."""
        return self.status == "done"

    @property
    def partial(self) -> bool:
        """Whether only a sample of the queries was used."""
        return self.facts.limit is not None

    @property
    def score(self) -> float | None:
        """The value of the main metric; None for a failure."""
        return self.metrics.get(self.main_metric)

    @property
    def interval(self) -> Interval | None:
        """The interval of the main metric."""
        return self.intervals.get(self.main_metric)

    @cached_property
    def per_query(self) -> QueryScores:
        """Scores of every query, read from the Parquet file next to the result at first use."""
        if self.queries is not None:
            return self.queries
        if self.path is None or not self.done:
            raise ResultError(f"{self!r} has no scores by query", hint="use a result that is done")
        return QueryScores.read(queries_path(self.path))

    def __getitem__(self, metric: str) -> float | None:
        if metric not in self.metrics:
            raise UnknownName("metric", metric, self.metrics, hint="see the attribute `metrics`")
        return self.metrics[metric]

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the result file: MTEB's layout, with our own fields under `steelyard`."""
        return result_file.to_dict(self)

    def to_json(self) -> str:
        """Return the text of the result file: strict JSON, null instead of NaN."""
        return result_file.to_json(self)

    @classmethod
    def from_json(cls, text: str | bytes, path: Path | None = None) -> Result:
        """Read a result file; a damaged one is a ResultError that names the field."""
        return cls(**result_file.read_fields(text, path))

    def __repr__(self) -> str:
        head = f"{self.model} on {self.task}"
        if self.error is not None:
            return f"Result({head}: failed, {self.error.type}: {self.error.message})"
        return f"Result({head}: {', '.join([*self._scores(), *self._seconds()])})"

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.model} on {self.task}: failed\n  {self.error}"
        facts = self.facts
        lines = [f"{self.model} on {self.task}{' (partial)' if self.partial else ''}", *self._scores()]
        if facts.queries is not None and facts.documents is not None:
            lines.append(f"{facts.queries:,} queries x {facts.documents:,} documents, {facts.language}")
        if facts.samples is not None:
            lines.append(f"{facts.samples:,} samples, {facts.type.replace('_', ' ')}, {facts.language}")
        return "\n  ".join([*lines, *self._seconds()])

    def _repr_html_(self) -> str:
        """Return what a notebook shows: scores with intervals, size and costs, or the reason of a failure."""
        from steelyard.results.export import html_table

        if self.error is not None:
            return html_table([self.model, self.task], [["failed", str(self.error)]])
        rows = [
            [TITLES.get(name, name), with_interval(self.metrics[name], self.intervals.get(name))]
            for name in self._shown
        ]
        facts = [("queries", self.facts.queries), ("documents", self.facts.documents), ("samples", self.facts.samples)]
        rows += [[name, f"{value:,}"] for name, value in facts if value is not None]
        rows += [["time", line] for line in self._seconds()]
        return html_table([self.model, self.task], rows)

    @property
    def _shown(self) -> list[str]:
        """The metrics that a person is shown first."""
        shown = dict.fromkeys([self.main_metric, *HEADLINES]) if self.facts.type != "retrieval" else HEADLINES
        return [name for name in shown if name in self.metrics]

    def _scores(self) -> list[str]:
        return [
            f"{TITLES.get(name, name)} {with_interval(self.metrics[name], self.intervals.get(name))}"
            for name in self._shown
        ]

    def _seconds(self) -> list[str]:
        return [f"{self.timings['total']:.2f} s"] if "total" in self.timings else []


def with_interval(value: float | None, interval: Interval | None) -> str:
    """Return a score with its interval as text.

    >>> with_interval(0.5, Interval(0.4, 0.6)), with_interval(0.5, None), with_interval(None, None)
    ('0.5000 [0.4000, 0.6000]', '0.5000', 'undefined')
    """
    if value is None:
        return "undefined"
    return f"{value:.4f}" + (f" [{interval.low:.4f}, {interval.high:.4f}]" if interval else "")
