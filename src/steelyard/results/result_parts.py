"""The parts of a result: facts of the task, queries that went badly, the reason of a failure; names of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SCHEMA_VERSION = 1
"""Version of the `steelyard` part of a result file."""

MAIN_METRIC = "ndcg_at_10"
"""The metric of retrieval tasks that tables and ranks use."""

MAIN_METRICS: Mapping[str, str] = {
    "reranking": "map_at_1000",
    "sts": "cosine_spearman",
    "pair_classification": "max_ap",
    "classification": "accuracy",
    "clustering": "v_measure",
    "bitext_mining": "f1",
    "multilabel_classification": "accuracy",
    "summarization": "cosine_spearman",
    "instruction_reranking": "p-MRR",
}
"""The main metric of other types, unless the task or the version of mteb has another."""

HEADLINES: Mapping[str, str] = {"ndcg_at_10": "nDCG@10", "hit_rate_at_10": "hit@10", "recall_at_100": "recall@100"}
"""Metrics that are always shown, and their display names."""

TITLES: Mapping[str, str] = {
    **HEADLINES,
    "map_at_1000": "MAP@1000",
    "map": "MAP",
    "cosine_spearman": "Spearman of cosines",
    "max_ap": "best AP",
    "max_accuracy": "best accuracy",
    "accuracy": "accuracy",
    "v_measure": "V-measure",
    "f1": "F1",
    "p-MRR": "p-MRR",
}
"""Display names of the main metrics of all types."""

Status = Literal["done", "failed"]


@dataclass(frozen=True)
class TaskFacts:
    """Facts of the task, so that a result can be read without the data. None: the task could not be loaded."""

    language: str = "unknown"
    languages: tuple[str, ...] = ()
    language_tags: tuple[str, ...] = ()
    """The codes that mteb has for the languages, such as `cmn-Hans`; empty if it does not have the task."""
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
    """`Task.content_hash` of the evaluated data; with a limit, of the sample."""
    reference: Mapping[str, float] = field(default_factory=dict)
    """Published scores, such as `bm25_ndcg_at_10`."""
    limit: int | None = None
    """Size of the sample of queries of a partial result."""
    queries_in_full: int | None = None
    """Number of queries of the full task."""
    documents_in_full: int | None = None
    samples_in_full: int | None = None
    ignore_identical_ids: bool = False
    """Whether documents with the id of the query were removed from its list."""


@dataclass(frozen=True)
class Miss:
    """A query with a low score: the first document of its list, and the relevant one that was expected."""

    query_id: str
    query: str
    rank: int | None
    """Rank of the first relevant document, from 1; None if it was not retrieved."""
    top_id: str | None
    top: str | None
    positive_id: str | None
    positive: str | None


@dataclass(frozen=True)
class Failure:
    """The reason why a result has no scores."""

    type: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" + (f" ({self.hint})" if self.hint else "")
