"""The figures of one part of a page each, as plain values: lengths, languages, a profile, a slice, an example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.reports.pages.measure.inputs import LABELS, Kind
from steelyard.types import Interval


@dataclass(frozen=True)
class Histogram:
    """Counts between edges; `counts[i]` lies from `edges[i]` to below `edges[i + 1]`."""

    edges: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Spread:
    """How values are spread."""

    mean: float
    min: int
    median: float
    max: int
    histogram: Histogram | None = None
    """In classes that double: 1, 2-3, 4-7 ..."""


@dataclass(frozen=True)
class Lengths:
    """How long texts are."""

    characters: Spread
    words: Spread | None = None
    """Between spaces and punctuation; where a script has no spaces, characters (Han, kana) or clusters (Thai ...)."""
    tokens: Spread | None = None
    """Pieces of the tokenizer."""
    tokens_of: int = 0
    """How many texts the tokens were counted of: all, or a seeded sample."""
    tokenizer: str = ""
    """Whose pieces the tokens are."""
    empty: int = 0
    """Texts that hold nothing but space."""


@dataclass(frozen=True)
class Positives:
    """Relevant documents by query."""

    count: int
    mean: float
    min: int
    median: float
    max: int
    multi_positive_queries: int
    multi_positive_share: float
    judgements: int = 0
    outside_corpus: int = 0
    """Relevant documents that the corpus does not hold."""
    queries_without: int = 0
    grades: Mapping[str, int] = field(default_factory=dict)
    """Positive judgements by their grade, where there is more than one."""


@dataclass(frozen=True)
class LanguageProfile:
    """Languages and scripts, told from the beginning of each text; shares of queries, documents, pairs."""

    query_languages: Mapping[str, float]
    document_languages: Mapping[str, float]
    query_scripts: Mapping[str, float]
    document_scripts: Mapping[str, float]
    pair_languages: Mapping[str, float]
    """`ar-en`: an Arabic query with an English positive."""
    pairs: int
    """Pairs of a query and one of its positives in the corpus."""
    same_language: float
    cross_language: float
    undecided: float
    """Pairs of which one text shows no language."""
    cross_script: float


@dataclass(frozen=True)
class Overlap:
    """The share of a query's terms that its nearest positive holds, after the analysis that BM25 uses."""

    mean: float
    median: float
    none: float
    """Share of queries that have no term in common with any positive."""
    full: float
    """Share of queries all of whose terms stand in one positive."""
    histogram: tuple[int, ...]
    """Queries by tenths of overlap."""


@dataclass(frozen=True)
class Tendencies:
    """What queries are like."""

    questions: float
    """Share that ends with a question mark or has a question word of its language."""
    question_words: Mapping[str, int]
    """The most frequent ones."""
    length_classes: Mapping[str, float]
    numbers: float
    """Share with a digit."""
    names: float | None
    """Share with a capitalised word inside, of queries in languages that capitalise names only; None: too few."""
    duplicate_queries: int
    """Queries whose text came before, case and outer space aside."""
    duplicate_documents: int
    queries_that_are_documents: int


@dataclass(frozen=True)
class ProfileValues:
    """What one profile's lists are worth.

    `recall_at_100` is the mean over queries; pooled recall counts all positives together, as published tables do.
    """

    kind: Kind
    config: str
    ndcg_at_10: float
    hit_rate_at_10: float
    pooled_recall_at_100: float | None
    recall_at_100: float | None = None
    candidates: str = ""
    """`top-500`: how deep the lists are, safeguards not counted."""
    stored: bool = True
    """Whether the lists came with the set."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    candidates_min: int | None = None
    candidates_max: int | None = None
    candidates_mean: float | None = None
    safeguard_rows: int = 0
    perfect_rerank_ndcg_at_10: float | None = None
    """nDCG@10 of the first 100 candidates in the best possible order."""
    first_positive: Mapping[str, int] = field(default_factory=dict)
    """Queries by the rank of their first relevant document."""

    @property
    def label(self) -> str:
        """What tables call the profile."""
        return LABELS[self.kind]


@dataclass(frozen=True)
class Comparison:
    """Two profiles on the same queries, by nDCG@10, the better one first."""

    better: Kind
    worse: Kind
    difference: float
    interval: Interval
    p_value: float
    """Of Fisher's randomisation test, adjusted after Holm for the comparisons of the page."""
    wins: int
    ties: int
    losses: int
    significant: bool


@dataclass(frozen=True)
class SliceValues:
    """A part of the queries: nDCG@10 by profile, and what sets the part apart."""

    dimension: str
    """`language`, `languages of the pair`, `script`, `query length`, `overlap`."""
    name: str
    queries: int
    ndcg_at_10: Mapping[Kind, float]
    intervals: Mapping[Kind, Interval]
    best: Kind
    tied: tuple[Kind, ...] = ()
    """Profiles that a paired test cannot tell from the best; all others for a slice too small to test."""
    against_rest: Mapping[Kind, float] = field(default_factory=dict)
    """The slice's mean minus that of the other queries."""
    rest_p_values: Mapping[Kind, float] = field(default_factory=dict)
    """Of Welch's test of that difference, adjusted after Holm over all slices."""


@dataclass(frozen=True)
class Text:
    """A text cut for showing; `characters` is its full length."""

    text: str
    characters: int


@dataclass(frozen=True)
class FailureExample:
    """One query that went badly, and the document that won."""

    query_id: str
    query: Text
    ranks: Mapping[Kind, int | None]
    """Of the first relevant document; None: not in the list."""
    winner: Kind
    """The profile whose first document is shown."""
    won_id: str | None
    won: Text | None
    positive_id: str
    positive: Text


@dataclass(frozen=True)
class FailureMode:
    """Queries that went badly in one way, and the plainest of them."""

    mode: str
    """`bm25_misses_dense_finds`, `dense_misses_bm25_finds`, `both_miss`, `hybrid_loses`."""
    queries: int
    share: float
    examples: tuple[FailureExample, ...]


@dataclass(frozen=True)
class Example:
    """A query with one of its positives."""

    query_id: str
    query: Text
    document_id: str
    document: Text


@dataclass(frozen=True)
class Bubble:
    """So many queries lie about here: their overlap, and nDCG@10 of BM25 minus that of the dense profile."""

    overlap: float
    gain: float
    queries: int


@dataclass(frozen=True)
class Ceiling:
    """What a perfect ranking of the corpus would reach."""

    ndcg_at_10: float
    recall_at_100: float
    random_recall_at_100: float
    """What a random order would reach."""


@dataclass(frozen=True)
class Source:
    """Where something comes from."""

    title: str
    year: str
    type: str
    url: str


@dataclass(frozen=True)
class Leakage:
    """What is known of training data; `not_recorded` where nobody wrote it down."""

    train_split: str = "not_recorded"
    split_origin: str = "not_recorded"
    audit: str = "not_audited"
    note: str = ""
    multi_positive: str = ""
    useful_data: str = "not_recorded"


@dataclass(frozen=True)
class PublishedScore:
    """A figure of ours beside the published one."""

    kind: Kind
    metric: str
    here: float
    published: float
    difference: float
    interval: Interval | None = None
    """Of the difference, from ours by query; None where the metric has none."""

    @property
    def inside(self) -> bool | None:
        """Whether the published figure lies in our interval; None without one."""
        return None if self.interval is None else self.interval.low <= 0 <= self.interval.high


@dataclass(frozen=True)
class PublishedCount:
    """A count of our data beside that of the data behind the published figures."""

    what: str
    """`queries`, `documents`, `positives`."""
    here: int
    published: int
