"""A result: one model, with its settings, on one task. What the store keeps and every report reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from steelyard.errors import ResultError, UnknownName
from steelyard.results.queries import QueryScores, queries_path
from steelyard.types import Interval
from steelyard.types.protocols import ModelSettings

SCHEMA_VERSION = 1
"""The form of the `steelyard` part of a result file."""

MAIN_METRIC = "ndcg_at_10"
"""The figure that tables and ranks go by."""

MAIN_METRICS: Mapping[str, str] = {
    "reranking": "map_at_1000",
    "sts": "cosine_spearman",
    "pair_classification": "max_ap",
    "classification": "accuracy",
    "clustering": "v_measure",
}
"""Its like for other types of tasks, unless the task or the version of mteb says otherwise."""

HEADLINES: Mapping[str, str] = {"ndcg_at_10": "nDCG@10", "hit_rate_at_10": "hit@10", "recall_at_100": "recall@100"}
"""The metrics that are shown without being asked for, and what people call them."""

TITLES: Mapping[str, str] = {
    **HEADLINES,
    "map_at_1000": "MAP@1000",
    "map": "MAP",
    "cosine_spearman": "Spearman of cosines",
    "max_ap": "best AP",
    "max_accuracy": "best accuracy",
    "accuracy": "accuracy",
    "v_measure": "V-measure",
}
"""What people call the main figures of all types of tasks."""

Status = Literal["done", "failed"]


@dataclass(frozen=True)
class TaskFacts:
    """What a result says of its task, so that it can be read without the data. None: the task did not load."""

    language: str = "unknown"
    languages: tuple[str, ...] = ()
    category: str = "natural_language"
    type: str = "retrieval"
    split: str = "test"
    queries: int | None = None
    documents: int | None = None
    positives: int | None = None
    samples: int | None = None
    """Pairs, or texts to classify or cluster, of a task without a corpus."""
    source: str = ""
    revision: str | None = None
    data_hash: str | None = None
    """`Task.content_hash` of the data that was weighed: with a limit, of the part that was kept."""
    reference: Mapping[str, float] = field(default_factory=dict)
    """Published figures of others, such as `bm25_ndcg_at_10`."""
    limit: int | None = None
    """With a number: a partial result, on a sample of so many queries."""
    queries_in_full: int | None = None
    """How many queries the whole task has."""
    documents_in_full: int | None = None
    samples_in_full: int | None = None
    ignore_identical_ids: bool = False
    """Whether a document that bears the query's id was left out of its list."""


@dataclass(frozen=True)
class Miss:
    """A query that went badly: what came first instead of what should have come."""

    query_id: str
    query: str
    rank: int | None
    """Where the first relevant document stood, from 1; None: it was not found."""
    top_id: str | None
    top: str | None
    positive_id: str | None
    positive: str | None


@dataclass(frozen=True)
class Failure:
    """Why there are no figures."""

    type: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" + (f" ({self.hint})" if self.hint else "")


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """One model on one task: figures with their uncertainty, costs, and all that is needed to trust them.

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
    """Everything asked for that could change a figure: the model's settings, top_k, metrics, fusion, limit."""
    key: str
    """A hash of settings, data and version of the scoring: equal keys, equal figures."""
    status: Status = "done"
    main_metric: str = MAIN_METRIC
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    """Means over queries and figures of the whole task, by canonical name; None where undefined."""
    mteb: Mapping[str, Any] = field(default_factory=dict)
    """The same under mteb's names, formulas and rounding: figures, None where undefined, and for some types lists
    of the figures of each experiment."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    facts: TaskFacts = field(default_factory=TaskFacts)
    timings: Mapping[str, float] = field(default_factory=dict)
    """Seconds: `load`, `index`, `search`, `score`, and `total`, their sum. `reused` of them came from a part
    that another model of the same run had already paid for (a fusion's lists)."""
    index_bytes: int | None = None
    peak_memory_bytes: int | None = None
    """The most memory that the process held while the model indexed and searched."""
    misses: tuple[Miss, ...] = ()
    """The worst queries, worst first; at most ten."""
    notes: ModelSettings = field(default_factory=dict)
    """What was decided on the way: analyser chosen, texts cut, vectors taken from the cache."""
    provenance: ModelSettings = field(default_factory=dict)
    """Versions of the software, and the machine."""
    error: Failure | None = None
    created: str = ""
    """UTC, ISO 8601."""
    path: Path | None = None
    """The file it was read from or written to; not part of the file."""
    queries: QueryScores | None = None
    """The values by query while in memory; read them through `per_query`."""

    @property
    def done(self) -> bool:
        """Whether there are figures."""
        return self.status == "done"

    @property
    def partial(self) -> bool:
        """Whether only a sample of the queries was used."""
        return self.facts.limit is not None

    @property
    def score(self) -> float | None:
        """The main figure; None for a failure."""
        return self.metrics.get(self.main_metric)

    @property
    def interval(self) -> Interval | None:
        """The uncertainty of the main figure."""
        return self.intervals.get(self.main_metric)

    @cached_property
    def per_query(self) -> QueryScores:
        """The values of every query; read from the Parquet file beside the result when first asked for."""
        if self.queries is not None:
            return self.queries
        if self.path is None or not self.done:
            raise ResultError(f"{self!r} has no values by query", hint="only a finished result has them")
        return QueryScores.read(queries_path(self.path))

    def __getitem__(self, metric: str) -> float | None:
        if metric not in self.metrics:
            raise UnknownName("figure", metric, self.metrics, hint="`metrics` has them all")
        return self.metrics[metric]

    def to_dict(self) -> dict[str, Any]:
        """The file as a value: MTEB's layout, with ours under `steelyard`."""
        from steelyard.results.layout import to_dict

        return to_dict(self)

    def to_json(self) -> str:
        """The file's text: strict JSON, null and never NaN."""
        from steelyard.results.layout import to_json

        return to_json(self)

    @classmethod
    def from_json(cls, text: str | bytes, path: Path | None = None) -> Result:
        """Read a result file; a damaged one is a ResultError that says what is wrong with it."""
        from steelyard.results.layout import from_json

        return from_json(text, path)

    def __repr__(self) -> str:
        head = f"{self.model} on {self.task}"
        if self.error is not None:
            return f"Result({head}: failed, {self.error.type}: {self.error.message})"
        return f"Result({head}: {', '.join([*self._figures(), *self._seconds()])})"

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.model} on {self.task}: failed\n  {self.error}"
        facts = self.facts
        lines = [f"{self.model} on {self.task}{' (partial)' if self.partial else ''}", *self._figures()]
        if facts.queries is not None and facts.documents is not None:
            lines.append(f"{facts.queries:,} queries x {facts.documents:,} documents, {facts.language}")
        if facts.samples is not None:
            lines.append(f"{facts.samples:,} samples, {facts.type.replace('_', ' ')}, {facts.language}")
        return "\n  ".join([*lines, *self._seconds()])

    def _figures(self) -> list[str]:
        shown = dict.fromkeys([self.main_metric, *HEADLINES]) if self.facts.type != "retrieval" else HEADLINES
        names = [name for name in shown if name in self.metrics]
        return [
            f"{TITLES.get(name, name)} {with_interval(self.metrics[name], self.intervals.get(name))}" for name in names
        ]

    def _seconds(self) -> list[str]:
        return [f"{self.timings['total']:.2f} s"] if "total" in self.timings else []


def with_interval(value: float | None, interval: Interval | None) -> str:
    """A figure and its uncertainty in words.

    >>> with_interval(0.5, Interval(0.4, 0.6)), with_interval(0.5, None), with_interval(None, None)
    ('0.5000 [0.4000, 0.6000]', '0.5000', 'undefined')
    """
    if value is None:
        return "undefined"
    return f"{value:.4f}" + (f" [{interval.low:.4f}, {interval.high:.4f}]" if interval else "")
