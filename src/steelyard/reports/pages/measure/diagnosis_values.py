"""The values of the diagnosis of a task: why queries fail, what limits the score, what would change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.reports.pages.measure.page_inputs import Kind
from steelyard.reports.pages.measure.part_values import FailureExample
from steelyard.types import Interval


@dataclass(frozen=True)
class UndeclaredLanguages:
    """Languages of the task that the dense model does not declare."""

    model: str
    languages: Mapping[str, int]
    """Queries that are in the language, or whose relevant documents all are."""
    queries: int
    """All queries that are affected."""
    ndcg_at_10: Mapping[Kind, float]
    """nDCG@10 of the profiles on the other queries; empty without any."""


@dataclass(frozen=True)
class FailureClass:
    """Queries of one profile that failed and match a rule. A query may match several rules."""

    name: str
    """`undeclared_language`, `translation`, `script`, `paraphrase`, `missing_term`, `same_topic`, `name`, `number`,
    `long_document`, `near_duplicate`."""
    profile: Kind
    failed: int
    """Failed queries that match."""
    failures: int
    """Failed queries that the rule was applied to."""
    share: float
    """Their share."""
    interval: Interval
    """Wilson's interval of the share."""
    found: int
    """Queries with a relevant document in the top 10 that match as well."""
    successes: int
    """Queries with a relevant document in the top 10 that the rule was applied to."""
    p_value: float | None = None
    """Fisher's exact test of the two shares, with Holm's correction over all classes of the page; null: not tested."""
    significant: bool = False
    """Whether the class is significantly more frequent among failed queries."""
    examples: tuple[FailureExample, ...] = ()


@dataclass(frozen=True)
class Separator:
    """A property that differs between queries that a profile finds and those that it misses."""

    property: str
    profile: Kind
    found: float
    """The median (the share, of a property that a query has or does not have) of queries that are found."""
    missed: float
    auc: float
    """The probability that a found query has the higher value; ties count half."""
    p_value: float
    """The Mann-Whitney test, with Holm's correction over all properties and profiles."""
    significant: bool
    is_share: bool = False


@dataclass(frozen=True)
class Limit:
    """What a profile lacks to an nDCG@10 of 1: the three losses and the score add up to 1."""

    profile: Kind
    ndcg_at_10: float
    ranking_loss: float
    """What a perfect ranking of its first 100 documents would add."""
    pool_loss: float
    """What a perfect ranking of the corpus would add to that."""
    judgement_loss: float
    """What no ranking can reach: relevant documents that are not in the corpus, queries without any."""


@dataclass(frozen=True)
class Complement:
    """How BM25 and the dense profile complement each other."""

    both: int
    """Queries that both find."""
    only_bm25: int
    only_dense: int
    neither: int
    best_single: Kind
    best_single_ndcg_at_10: float
    choice_ndcg_at_10: float
    """nDCG@10 if the better of the two lists were chosen for every query."""
    choice_gain: float
    choice_interval: Interval
    pool_ndcg_at_10: float
    """nDCG@10 of a perfect ranking of the first 100 documents of both."""
    hybrid_ndcg_at_10: float | None = None


@dataclass(frozen=True)
class Counterfactual:
    """The score of a profile if one thing were different."""

    name: str
    """`other_languages`, `near_duplicates`, `head_256`, `head_1024`, `rerank_pool`, `rerank_oracle`."""
    profile: Kind
    before: float
    after: float
    difference: float
    interval: Interval
    p_value: float
    """The randomisation test, with Holm's correction over all counterfactuals of the page."""
    significant: bool
    changed: int
    """Queries whose score differs."""
    queries: int = 0
    """Queries that were compared: for a reranker, those with at least 50 candidates of BM25."""


@dataclass(frozen=True)
class Relation:
    """Relevant documents in the language of their query, or in another one."""

    name: str
    """`same` or `cross`."""
    pairs: int
    queries: int
    found_at_10: Mapping[Kind, float]
    """The mean over queries of the share of these documents in the top 10."""
    intervals: Mapping[Kind, Interval]
    found_at_100: Mapping[Kind, float]


@dataclass(frozen=True)
class Snippet:
    """A query with the part of a relevant document that shares most of its terms."""

    query_id: str
    query: str
    document_id: str
    snippet: str
    shared: int
    """Terms of the query in the snippet."""
    terms: int
    """Terms of the query."""


@dataclass(frozen=True)
class Diagnosis:
    """Why queries fail, what limits the score, and what would change it."""

    undeclared: UndeclaredLanguages | None = None
    classes: tuple[FailureClass, ...] = ()
    separators: tuple[Separator, ...] = ()
    limits: tuple[Limit, ...] = ()
    complement: Complement | None = None
    counterfactuals: tuple[Counterfactual, ...] = ()
    relations: tuple[Relation, ...] = ()
    relation_p_values: Mapping[Kind, float] = field(default_factory=dict)
    """Same language against another language, share in the top 10, with Holm's correction."""
    snippets: tuple[Snippet, ...] = ()
