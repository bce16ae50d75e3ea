"""The facts of a task. This module imports nothing heavy, so that tasks can be listed without numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.types.task_metadata import TaskMetadata

MTEB_TYPES = {
    "retrieval": "Retrieval",
    "reranking": "Reranking",
    "sts": "STS",
    "pair_classification": "PairClassification",
    "classification": "Classification",
    "clustering": "Clustering",
    "bitext_mining": "BitextMining",
    "multilabel_classification": "MultilabelClassification",
    "summarization": "Summarization",
    "instruction_retrieval": "InstructionRetrieval",
    "instruction_reranking": "InstructionReranking",
}
"""The types of tasks, and their names in mteb."""

RERANKED = ("reranking", "instruction_reranking")
"""The types whose models rank the candidates of the task."""
SEARCHED = ("retrieval", "instruction_retrieval", *RERANKED)
"""The types of tasks with a corpus."""
CHANGED = "qrel_diff"
"""The name of the lists of documents that a changed instruction makes irrelevant (`instruction_reranking`)."""


@dataclass(frozen=True)
class TaskInfo:
    """The facts of a task besides its data. `language` is a two-letter code, `multilingual` or `unknown`."""

    name: str
    """`Group/task`, as on the command line."""
    language: str = "unknown"
    languages: tuple[str, ...] = ()
    language_tags: tuple[str, ...] = ()
    """The codes that mteb has for the languages, such as `cmn-Hans`; empty if it does not have the task."""
    category: str = "natural_language"
    """`natural_language` or `code`."""
    type: str = "retrieval"
    """`retrieval`, `reranking`, `sts`, `pair_classification`, `classification` or `clustering`."""
    main_metric: str | None = None
    """The metric that ranks models; None: that of the task's type."""
    source: str = ""
    """The origin of the data: a path, a hub id, a package with its version."""
    revision: str | None = None
    split: str = "test"
    description: str = ""
    licence: str | None = None
    ignore_identical_ids: bool = False
    """Whether a document whose id equals the query's id is left out of its ranking."""
    reference: Mapping[str, float] = field(default_factory=dict)
    """Published scores, such as `bm25_ndcg_at_10`, for comparison only."""
    metadata: TaskMetadata = field(default_factory=TaskMetadata)
    """References, splits, training data and advice, as far as a maintainer or the catalogue recorded them."""

    @property
    def group(self) -> str:
        """The part of the name before the last slash."""
        return self.name.rpartition("/")[0]

    @property
    def task(self) -> str:
        """The part of the name after the last slash."""
        return self.name.rpartition("/")[2]
