"""All values of a page: the content of the JSON file, from which the other formats are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.reports.pages.measure.diagnosis_values import Diagnosis
from steelyard.reports.pages.measure.page_inputs import Kind
from steelyard.reports.pages.measure.part_values import (
    Bubble,
    CardQuote,
    Ceiling,
    Comparison,
    Draft,
    Example,
    FailureMode,
    LanguageProfile,
    Leakage,
    Lengths,
    MissingTask,
    NoteText,
    Overlap,
    Positives,
    ProfileValues,
    PublishedCount,
    PublishedScore,
    SliceValues,
    Source,
    Tendencies,
)
from steelyard.reports.pages.thresholds import NEARLY_ALL
from steelyard.text.language_id.detect import UNDECIDED

PAGE_SCHEMA = 4
"""The version of the JSON files; it increases when a field changes its name or meaning."""

MULTILINGUAL, UNKNOWN = "multilingual", "unknown"
"""The language of a task with several languages, and of one that declares none."""
NOT_RECORDED = "not_recorded"
"""What is written for a fact that nobody recorded."""


@dataclass(frozen=True)
class TaskValues:
    """All values of a task's page."""

    name: str
    nano_set: str
    backing_dataset: str
    task: str
    dataset: str
    """The hub dataset, or the name of another source."""
    language: str
    category: str
    queries: int
    documents: int
    positives: Positives
    query_lengths: Lengths
    document_lengths: Lengths
    profiles: tuple[ProfileValues, ...] = ()
    focus: str = ""
    """The kind of queries and documents in a few words."""
    description: str = ""
    """The description of the dataset card or catalogue."""
    type: str = "retrieval"
    """`retrieval`, or `reranking`: only the candidates of a query are ranked."""
    on_hub: bool = False
    split: str = ""
    revision: str | None = None
    licence: str | None = None
    languages: tuple[str, ...] = ()
    """The languages that the source declares."""
    content_hash: str = ""
    language_profile: LanguageProfile | None = None
    overlap: Overlap | None = None
    tendencies: Tendencies | None = None
    comparisons: tuple[Comparison, ...] = ()
    slices: tuple[SliceValues, ...] = ()
    failures: tuple[FailureMode, ...] = ()
    overlap_gain: tuple[Bubble, ...] = ()
    overlap_gain_correlation: float | None = None
    """Spearman correlation of overlap and gain."""
    overlap_gain_p_value: float | None = None
    ceiling: Ceiling | None = None
    diagnosis: Diagnosis | None = None
    examples: tuple[Example, ...] = ()
    sources: tuple[Source, ...] = ()
    cards: tuple[CardQuote, ...] = ()
    """What dataset cards say about the data."""
    unread_cards: Mapping[str, str] = field(default_factory=dict)
    """Cards that exist but could not be read, with the reason."""
    synthetic_data: Mapping[str, str] = field(default_factory=dict)
    """Recorded guidance on synthetic data, by part."""
    language_notes: str = ""
    rerank_suitability: str = ""
    leakage: Leakage = field(default_factory=Leakage)
    published: tuple[PublishedScore, ...] = ()
    published_name: str = ""
    published_counts: tuple[PublishedCount, ...] = ()
    """Counts of the data of the published scores, from the catalogue."""
    notes: tuple[NoteText, ...] = ()
    """Hand-written text, by section."""
    draft: Draft | None = None
    """Text that a model drafted."""
    made_from: str = ""
    """A hash of everything that the values depend on: data, lists, settings, version."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings of the build: the dense model, and whether stored lists were used."""

    @property
    def declared_languages(self) -> tuple[str, ...]:
        """The codes of the languages that the set declares; empty if it declares none, or only `multilingual`."""
        return self.languages or (() if self.language in (MULTILINGUAL, UNKNOWN) else (self.language,))

    @property
    def language_label(self) -> str:
        """The language for a table: the declared one, else the one that nearly all queries were identified as."""
        if self.language != UNKNOWN:
            return self.language
        languages = self.language_profile.query_languages if self.language_profile else {}
        first = next(iter(languages), UNDECIDED)
        return f"{first} (identified)" if first != UNDECIDED and languages[first] >= NEARLY_ALL else NOT_RECORDED

    def profile(self, kind: Kind) -> ProfileValues | None:
        """Return the profile of that kind."""
        return next((profile for profile in self.profiles if profile.kind == kind), None)

    @property
    def main(self) -> tuple[ProfileValues, ...]:
        """The profiles that are in summaries."""
        return tuple(profile for profile in self.profiles if profile.kind != "other")

    @property
    def best(self) -> ProfileValues | None:
        """The profile with the highest nDCG@10; the first of equal ones."""
        return max(self.main, key=lambda profile: profile.ndcg_at_10, default=None)

    @property
    def tied(self) -> tuple[ProfileValues, ...]:
        """Profiles that the paired tests cannot distinguish from the best."""
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
    """All values of a group's page."""

    name: str
    tasks: tuple[TaskValues, ...]
    languages: tuple[LanguageRow, ...] = ()
    sources: tuple[Source, ...] = ()
    means: Mapping[Kind, float] = field(default_factory=dict)
    """Mean nDCG@10 over tasks, for the profiles that every task has."""
    comparisons: tuple[Comparison, ...] = ()
    """Two profiles over the same tasks; each task counts once."""
    notes: tuple[NoteText, ...] = ()
    """Hand-written text, by section."""
    missing: tuple[MissingTask, ...] = ()
    """Tasks of the group that could not be measured, or were not built yet."""

    @property
    def total(self) -> int:
        """The number of tasks of the group, measured or not."""
        return len(self.tasks) + len(self.missing)

    @property
    def queries(self) -> int:
        """The sum over all tasks."""
        return sum(task.queries for task in self.tasks)

    @property
    def documents(self) -> int:
        """The sum over all tasks, each with its own corpus."""
        return sum(task.documents for task in self.tasks)

    @property
    def positives(self) -> int:
        """The sum over all tasks."""
        return sum(task.positives.count for task in self.tasks)
