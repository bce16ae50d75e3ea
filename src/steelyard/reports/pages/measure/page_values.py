"""Every figure of a page, as plain values: what the JSON file holds and all other forms are written from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.reports.pages.measure.inputs import Kind
from steelyard.reports.pages.measure.values import (
    Bubble,
    Ceiling,
    Comparison,
    Example,
    FailureMode,
    LanguageProfile,
    Leakage,
    Lengths,
    Overlap,
    Positives,
    ProfileValues,
    PublishedCount,
    PublishedScore,
    SliceValues,
    Source,
    Tendencies,
)

PAGE_SCHEMA = 3
"""The form of the JSON files; goes up when a field changes its name or meaning."""


@dataclass(frozen=True)
class TaskValues:
    """Everything that a task's page says in numbers."""

    name: str
    nano_set: str
    backing_dataset: str
    task: str
    dataset: str
    """The hub dataset, or whatever the source calls itself."""
    language: str
    category: str
    queries: int
    documents: int
    positives: Positives
    query_lengths: Lengths
    document_lengths: Lengths
    profiles: tuple[ProfileValues, ...] = ()
    focus: str = ""
    """What is asked with, and what is sought, in a few words."""
    description: str = ""
    """Words of the card or catalogue, not ours."""
    type: str = "retrieval"
    """`retrieval`, or `reranking`: every query has candidates, and nothing else is ranked."""
    on_hub: bool = False
    split: str = ""
    revision: str | None = None
    licence: str | None = None
    languages: tuple[str, ...] = ()
    """As the source declares them."""
    content_hash: str = ""
    language_profile: LanguageProfile | None = None
    overlap: Overlap | None = None
    tendencies: Tendencies | None = None
    comparisons: tuple[Comparison, ...] = ()
    slices: tuple[SliceValues, ...] = ()
    failures: tuple[FailureMode, ...] = ()
    overlap_gain: tuple[Bubble, ...] = ()
    overlap_gain_correlation: float | None = None
    """Spearman's, of overlap and gain."""
    overlap_gain_p_value: float | None = None
    ceiling: Ceiling | None = None
    examples: tuple[Example, ...] = ()
    sources: tuple[Source, ...] = ()
    leakage: Leakage = field(default_factory=Leakage)
    published: tuple[PublishedScore, ...] = ()
    published_name: str = ""
    published_counts: tuple[PublishedCount, ...] = ()
    """Counts that the catalogue tells of the data behind the published figures."""
    made_from: str = ""
    """A hash of everything that the figures follow from: the data, the lists, the settings, the version."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What was asked for: the dense model, and whether stored lists were taken."""

    def profile(self, kind: Kind) -> ProfileValues | None:
        """The profile of that kind."""
        return next((profile for profile in self.profiles if profile.kind == kind), None)

    @property
    def main(self) -> tuple[ProfileValues, ...]:
        """The profiles that stand in summaries."""
        return tuple(profile for profile in self.profiles if profile.kind != "other")

    @property
    def best(self) -> ProfileValues | None:
        """The profile with the highest nDCG@10; the earlier of equal ones."""
        return max(self.main, key=lambda profile: profile.ndcg_at_10, default=None)

    @property
    def tied(self) -> tuple[ProfileValues, ...]:
        """Profiles that the paired tests cannot tell from the best."""
        best = self.best
        close = {c.worse for c in self.comparisons if best and c.better == best.kind and not c.significant}
        return tuple(profile for profile in self.main if profile.kind in close)


@dataclass(frozen=True)
class LanguageRow:
    """The queries of a language, over all tasks of a group."""

    language: str
    tasks: int
    queries: int
    ndcg_at_10: Mapping[Kind, float]


@dataclass(frozen=True)
class GroupValues:
    """Everything that a group's page says in numbers."""

    name: str
    tasks: tuple[TaskValues, ...]
    languages: tuple[LanguageRow, ...] = ()
    sources: tuple[Source, ...] = ()
    means: Mapping[Kind, float] = field(default_factory=dict)
    """nDCG@10 over tasks, of the profiles that every task has."""
    comparisons: tuple[Comparison, ...] = ()
    """Two profiles over the same tasks, a task counting as one."""

    @property
    def queries(self) -> int:
        """Of all tasks."""
        return sum(task.queries for task in self.tasks)

    @property
    def documents(self) -> int:
        """Of all tasks, each with its own corpus."""
        return sum(task.documents for task in self.tasks)

    @property
    def positives(self) -> int:
        """Of all tasks."""
        return sum(task.positives.count for task in self.tasks)
