"""The values of the parts of a page: lengths, languages, a profile, a slice, an example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.reports.pages.measure.page_inputs import LABELS, Kind
from steelyard.types import Interval


@dataclass(frozen=True)
class Histogram:
    """Counts between edges: `counts[i]` counts values from `edges[i]` to below `edges[i + 1]`."""

    edges: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Summary:
    """The mean, the median and the ends of a distribution."""

    mean: float
    min: int
    median: float
    max: int


@dataclass(frozen=True)
class Spread(Summary):
    """The distribution of lengths."""

    histogram: Histogram | None = None
    """With bins that double: 1, 2-3, 4-7 ..."""


@dataclass(frozen=True)
class Lengths:
    """The lengths of texts."""

    characters: Spread
    words: Spread | None = None
    """Words between spaces and punctuation; in scripts without spaces, characters (Han, kana) or clusters (Thai)."""
    tokens: Spread | None = None
    """Tokens of the tokenizer."""
    tokens_of: int = 0
    """The number of texts whose tokens were counted: all, or a seeded sample."""
    tokenizer: str = ""
    """The tokenizer."""
    empty: int = 0
    """The number of texts that are empty or white space."""


@dataclass(frozen=True)
class Positives(Summary):
    """Relevant documents per query."""

    count: int
    multi_positive_queries: int
    multi_positive_share: float
    judgements: int = 0
    outside_corpus: int = 0
    """Relevant documents that are not in the corpus."""
    queries_without: int = 0
    grades: Mapping[str, int] = field(default_factory=dict)
    """Relevant judgements by grade, if there are several grades."""


@dataclass(frozen=True)
class LanguageProfile:
    """Languages and scripts, identified from the start of each text; shares of queries, documents and pairs."""

    query_languages: Mapping[str, float]
    document_languages: Mapping[str, float]
    query_scripts: Mapping[str, float]
    document_scripts: Mapping[str, float]
    pair_languages: Mapping[str, float]
    """`ar-en`: an Arabic query with an English relevant document."""
    pairs: int
    """Pairs of a query and one of its relevant documents in the corpus."""
    same_language: float
    cross_language: float
    undecided: float
    """Pairs with a text whose language is uncertain."""
    cross_script: float


@dataclass(frozen=True)
class Overlap:
    """The share of a query's terms in its most similar relevant document, after the text analysis of BM25."""

    mean: float
    median: float
    none: float
    """Share of queries without a common term with any relevant document."""
    full: float
    """Share of queries whose terms are all in one relevant document."""
    histogram: tuple[int, ...]
    """Number of queries by tenths of overlap."""


@dataclass(frozen=True)
class Tendencies:
    """Properties of the queries."""

    questions: float
    """Share with a question mark at the end or a question word of their language."""
    question_words: Mapping[str, int]
    """The most frequent question words."""
    length_classes: Mapping[str, float]
    numbers: float
    """Share that contain a digit."""
    names: float | None
    """Share with a capital letter after the first word, in languages that capitalise only names; null: too few."""
    duplicate_queries: int
    """Queries that repeat an earlier one, ignoring case and outer white space."""
    duplicate_documents: int
    queries_that_are_documents: int


@dataclass(frozen=True)
class ProfileValues:
    """The scores and lists of one profile.

    `recall_at_100` is the mean over queries; pooled recall counts all relevant documents together,
    as published tables do.
    """

    kind: Kind
    config: str
    ndcg_at_10: float
    hit_rate_at_10: float
    pooled_recall_at_100: float | None
    recall_at_100: float | None = None
    candidates: str = ""
    """`top-500`: the length of the lists, without safeguards."""
    stored: bool = True
    """Whether the lists are stored with the set."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    candidates_min: int | None = None
    candidates_max: int | None = None
    candidates_mean: float | None = None
    safeguard_rows: int = 0
    perfect_rerank_ndcg_at_10: float | None = None
    """nDCG@10 of the top 100 candidates in the best possible order."""
    first_positive: Mapping[str, int] = field(default_factory=dict)
    """Number of queries by the rank of their first relevant document."""

    @property
    def label(self) -> str:
        """The name of the profile in tables."""
        return LABELS[self.kind]


@dataclass(frozen=True)
class Comparison:
    """Two profiles on the same queries by nDCG@10, the better one first."""

    better: Kind
    worse: Kind
    difference: float
    interval: Interval
    p_value: float
    """p-value of Fisher's randomisation test with Holm's correction for the comparisons of the page."""
    wins: int
    ties: int
    losses: int
    significant: bool


@dataclass(frozen=True)
class SliceValues:
    """A part of the queries: nDCG@10 by profile, and the difference from the other queries."""

    dimension: str
    """`relation`, `language`, `languages of the pair`, `script`, `query length`, `overlap`."""
    name: str
    queries: int
    ndcg_at_10: Mapping[Kind, float]
    intervals: Mapping[Kind, Interval]
    best: Kind
    tied: tuple[Kind, ...] = ()
    """Profiles that cannot be distinguished from the best; all others if the slice is too small to test."""
    against_rest: Mapping[Kind, float] = field(default_factory=dict)
    """The mean of the slice minus that of the other queries."""
    rest_p_values: Mapping[Kind, float] = field(default_factory=dict)
    """p-values of Welch's test of that difference, with Holm's correction over all slices. Queries in languages that
    the dense model does not declare are left out for the profiles with that model."""
    undeclared: bool = False
    """Whether most of the queries are in languages that the dense model does not declare."""


@dataclass(frozen=True)
class Text:
    """A text that is truncated for display; `characters` is its full length."""

    text: str
    characters: int


@dataclass(frozen=True)
class FailureExample:
    """One query that failed, and the document that was ranked first."""

    query_id: str
    query: Text
    ranks: Mapping[Kind, int | None]
    """The rank of the first relevant document; null: not in the list."""
    winner: Kind
    """The profile whose first document is shown."""
    won_id: str | None
    won: Text | None
    positive_id: str
    positive: Text


@dataclass(frozen=True)
class FailureMode:
    """Queries that failed in one way, with the clearest examples."""

    mode: str
    """`bm25_misses_dense_finds`, `dense_misses_bm25_finds`, `both_miss`, `hybrid_loses`."""
    queries: int
    share: float
    examples: tuple[FailureExample, ...]


@dataclass(frozen=True)
class Example:
    """A query with one of its relevant documents."""

    query_id: str
    query: Text
    document_id: str
    document: Text


@dataclass(frozen=True)
class Bubble:
    """A number of queries with about this overlap, and nDCG@10 of BM25 minus that of the dense profile."""

    overlap: float
    gain: float
    queries: int


@dataclass(frozen=True)
class Ceiling:
    """The scores of a perfect ranking of the corpus."""

    ndcg_at_10: float
    recall_at_100: float
    random_recall_at_100: float
    """The recall of a random ranking."""


@dataclass(frozen=True)
class Source:
    """A source of the data."""

    title: str
    year: str
    type: str
    url: str
    doi: str = ""
    confidence: str = ""
    """How certain it is that this is the source: `definitive_paper_link` ...; empty: not recorded."""
    bibtex: str = ""
    """The BibTeX entry; empty for a source without a title of its own."""


@dataclass(frozen=True)
class CardQuote:
    """The first paragraphs of a dataset card."""

    name: str
    """The hub dataset or folder of the card."""
    role: str
    """`set`: the task's own dataset; `source`: a dataset that it was made from."""
    text: str
    url: str = ""


@dataclass(frozen=True)
class NoteText:
    """Text of a person or a model for one section."""

    heading: str
    text: str
    """Markdown."""
    origin: str
    """The file, or the model that drafted it."""


@dataclass(frozen=True)
class DroppedSentence:
    """A sentence of a draft that failed a check."""

    heading: str
    sentence: str
    reason: str


@dataclass(frozen=True)
class Draft:
    """Text that a model drafted from the values of the page; sentences that failed a check are not in it."""

    model: str
    made_from: str
    """The hash of the values that it was drafted from."""
    notes: tuple[NoteText, ...] = ()
    dropped: tuple[DroppedSentence, ...] = ()


@dataclass(frozen=True)
class Leakage:
    """What is recorded about training data; `not_recorded` if nothing is."""

    train_split: str = "not_recorded"
    split_origin: str = "not_recorded"
    audit: str = "not_audited"
    note: str = ""
    multi_positive: str = ""
    useful_data: str = "not_recorded"
    signs: Mapping[str, int] = field(default_factory=dict)
    """Signs of leakage that `steelyard build` counted in the set; empty: not counted."""


@dataclass(frozen=True)
class MissingTask:
    """A task of a group that its page does not measure, with what is published about it."""

    name: str
    task: str
    reason: str
    language: str = ""
    queries: int | None = None
    documents: int | None = None
    published: Mapping[str, float] = field(default_factory=dict)
    """Published nDCG@10 by profile."""


@dataclass(frozen=True)
class PublishedScore:
    """A measured score and the published one."""

    kind: Kind
    metric: str
    here: float
    published: float
    difference: float
    interval: Interval | None = None
    """The interval of the difference, from our scores per query; null if the metric has none."""

    @property
    def inside(self) -> bool | None:
        """Whether the published score is within our interval; None without one."""
        return None if self.interval is None else self.interval.low <= 0 <= self.interval.high


@dataclass(frozen=True)
class PublishedCount:
    """A count of our data and that of the data of the published scores."""

    what: str
    """`queries`, `documents`, `positives`."""
    here: int
    published: int
