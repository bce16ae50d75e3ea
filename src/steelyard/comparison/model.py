"""The values of a comparison: differences per task and overall, changed queries, slices, flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal

from steelyard.types import Float64

FEWEST = 20
"""No conclusion is drawn from a slice of fewer queries."""

Verdict = Literal["better", "worse", "not distinguishable", "not tested"]


@dataclass(frozen=True)
class Score:
    """The score of one model on one task, or its mean over tasks, with its interval."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Difference:
    """The score of a model minus that of a baseline, on the same queries."""

    model: str
    baseline: str
    difference: float
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    """Two-sided paired randomisation test; None if the score is not a mean over queries."""
    p_holm: float | None = None
    """Corrected by Holm's method over all tests of the same table."""
    p_bh: float | None = None
    """Corrected by Benjamini and Hochberg's method over all tests of the same table."""
    effect_size: float | None = None
    """Cohen's d_z; None if all differences are equal."""
    probability_better: float | None = None
    """Share of bootstrap resamples in which the model has the higher mean."""
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    detectable: float | None = None
    """The smallest difference that this number of queries detects with probability 0.8."""
    low_over_tasks: float | None = None
    """Interval of a group mean over other tasks of this kind; only in `overall`."""
    high_over_tasks: float | None = None

    def verdict(self, alpha: float) -> Verdict:
        """Return what the corrected test allows to conclude."""
        if self.p_holm is None:
            return "not tested"
        if self.p_holm >= alpha:
            return "not distinguishable"
        return "better" if self.difference > 0 else "worse"


@dataclass(frozen=True)
class TaskComparison:
    """All models on one task."""

    task: str
    metric: str
    type: str
    language: str
    queries: int
    scores: Mapping[str, Score]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Overall:
    """The means over the compared tasks; every task counts alike."""

    tasks: tuple[str, ...]
    queries: int
    scores: Mapping[str, Score]
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Positive:
    """A relevant document of a changed query: its rank in both rankings, None if it was not retrieved."""

    id: str
    text: str
    rank: int | None
    baseline_rank: int | None


@dataclass(frozen=True)
class QueryChange:
    """A query whose score differs much between two models."""

    task: str
    query_id: str
    model: str
    baseline: str
    score: float
    baseline_score: float
    query: str | None = None
    first_rank: int | None = None
    """The rank of the first relevant document; None if none was retrieved, or if it is not known."""
    baseline_first_rank: int | None = None
    positives: tuple[Positive, ...] = ()
    """Empty if the ranked lists were not saved."""
    instead_id: str | None = None
    """The document that the worse ranking has where the better one has its first relevant document."""
    instead: str | None = None

    @property
    def difference(self) -> float:
        """The model's score minus the baseline's."""
        return self.score - self.baseline_score


@dataclass(frozen=True)
class SliceDifference:
    """The difference on a part of the queries of all tasks."""

    dimension: str
    name: str
    queries: int
    difference: Difference

    @property
    def conclusive(self) -> bool:
        """Whether there are enough queries to conclude anything."""
        return self.queries >= FEWEST


@dataclass(frozen=True)
class Flag:
    """Something that limits the comparison: results that were left out, or that differ in a setting."""

    task: str
    reason: str
    refused: bool
    """Whether the task was left out."""


@dataclass(frozen=True, eq=False)
class TaskScores:
    """Per-query scores of one task: what every number of the comparison is computed from."""

    ids: tuple[str, ...]
    scores: Float64
    """(models, queries)."""


def plain(value: Any) -> Any:
    """Return dataclasses, mappings and tuples as JSON-ready values; numbers that are not finite become None."""
    if hasattr(value, "__dataclass_fields__"):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value
