"""The scores of one model on one task without a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from steelyard.errors import DataError
from steelyard.results import QueryScores
from steelyard.types import Interval, TaskInfo
from steelyard.types.protocols import ModelSettings

Profile = Literal["mteb-2.26", "mteb-1.14"]


@dataclass(frozen=True, eq=False)
class SampleScores:
    """The scores of one model on one task."""

    main_metric: str
    metrics: Mapping[str, float | None]
    """Our metrics by name, including the main metric. None if undefined."""
    mteb: Mapping[str, Any]
    """mteb's keys and values under the profile, lists of experiments included, without `main_score`."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    resampling: ModelSettings = field(default_factory=dict)
    """How the intervals were made."""
    samples: QueryScores | None = None
    """A value for each pair or text, if a metric is computed from such values."""
    notes: ModelSettings = field(default_factory=dict)
    predictions: Any = None
    """What mteb saves: labels by experiment, clusters by problem or level, nearest texts; None if in `samples`."""


def main_metric(info: TaskInfo, default: str, metrics: Mapping[str, float | None]) -> str:
    """Return the main metric of the task, or else the default; an unknown one raises a DataError.

    >>> main_metric(TaskInfo("X/y", type="sts"), "cosine_spearman", {"cosine_spearman": 0.5})
    'cosine_spearman'
    """
    name = info.main_metric or default
    if name not in metrics:
        raise DataError.invalid(
            f"the main metric of a task of type {info.type}",
            expected=f"one of {', '.join(metrics)}",
            found=name,
            where=info.name,
            field="main_metric",
        )
    return name
