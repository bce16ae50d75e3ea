"""What vectors are worth on each type of task that has no corpus: STS, pairs, classification, clustering.

`texts_of` says which texts a task needs vectors of, `weigh` makes figures of those vectors: ours with intervals, and
mteb's, key by key. Retrieval and reranking are weighed by their lists, in `engine` and `metrics`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from steelyard.protocols import Settings
from steelyard.results import QueryScores
from steelyard.samples import LabelTask, PairTask, SampleTask, distinct
from steelyard.types import Float32, Interval

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
    resampling: Settings = field(default_factory=dict)
    """How the intervals were made."""
    samples: QueryScores | None = None
    """A value for each pair or text, where a figure is a mean of such values, or made of them."""
    notes: Settings = field(default_factory=dict)


def texts_of(task: SampleTask, profile: Profile) -> list[str]:
    """The distinct texts that the task needs vectors of: of a classification's training texts, only those drawn."""
    if isinstance(task, PairTask):
        return distinct(task.first, task.second)
    if isinstance(task, LabelTask):
        return distinct(task.train_texts, task.texts)
    return distinct(*(problem.texts for problem in task.problems))


def weigh(
    task: SampleTask, texts: Sequence[str], vectors: Float32, similarity: str, profile: Profile = "mteb-2.26"
) -> Weighed:
    """The figures that the vectors of these texts give. `similarity` is the model's own way to compare them."""
    raise NotImplementedError
