"""The figures of one model on one task without a corpus."""

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
class Weighed:
    """The figures of one model on one task."""

    main_metric: str
    metrics: Mapping[str, float | None]
    """Ours, by name; the main metric is among them. None where undefined."""
    mteb: Mapping[str, Any]
    """mteb's keys and values under the profile, lists of experiments included, without `main_score`."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    resampling: ModelSettings = field(default_factory=dict)
    """How the intervals were made."""
    samples: QueryScores | None = None
    """A value for each pair or text, where a figure is a mean of such values, or made of them."""
    notes: ModelSettings = field(default_factory=dict)


def main_metric(info: TaskInfo, usual: str, found: Mapping[str, float | None]) -> str:
    """What the task is ranked by, if it says so, else what is usual; a DataError where there is no such figure.

    >>> main_metric(TaskInfo("X/y", type="sts"), "cosine_spearman", {"cosine_spearman": 0.5})
    'cosine_spearman'
    """
    name = info.main_metric or usual
    if name not in found:
        known = ", ".join(found)
        raise DataError(
            f"is ranked by {name!r}, which a task of type {info.type} has not", where=info.name, hint=f"it has {known}"
        )
    return name
