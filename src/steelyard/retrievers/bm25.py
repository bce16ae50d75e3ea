"""BM25: the lexical baseline that every other retriever is weighed against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import UnknownName, UsageError
from steelyard.protocols import Settings, Tick, no_tick
from steelyard.retrievers.bm25_forms import FORMS
from steelyard.retrievers.bm25_postings import Postings, PostingsBuilder
from steelyard.retrievers.bm25_search import Searcher
from steelyard.spec import ModelSpec
from steelyard.text.analyser import ANALYSIS_VERSION, Analyser
from steelyard.text.languages import canonical
from steelyard.types import Corpus, Float64, Int32, Queries, Run, TaskInfo

_PORTION = 1 << 24
"""Characters analysed at once: enough to keep the arrays busy, few enough to keep them small."""

OPTIONS = ("form", "k1", "b", "delta", "analyser", "preset")


@dataclass(frozen=True)
class Bm25:
    """A BM25 retriever.

    >>> from steelyard.types import Corpus, Queries, TaskInfo
    >>> index = Bm25().index(Corpus.of(["a", "b"], ["a red fox", "blue whales"]), TaskInfo("x/y", language="en"))
    >>> index.search(Queries(("q",), ("foxes",)), top_k=5)
    Run(1 queries, depth 2, 1 documents)
    """

    form: str = "lucene"
    k1: float = 1.2
    b: float = 0.75
    delta: float = 0.0
    name: str = "bm25"

    @property
    def settings(self) -> Settings:
        """Form, parameters, analysis policy and versions of the code behind it."""
        return {"form": self.form, "k1": self.k1, "b": self.b, "delta": self.delta, "analysis": ANALYSIS_VERSION}

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Bm25Index:
        """Analyse the documents and build the postings."""
        analyser = Analyser("code" if info.category == "code" else canonical(info.language))
        builder, vocabulary = PostingsBuilder(len(corpus)), Vocabulary()
        for rows in portions(corpus.texts):
            tokens = analyser.tokens([corpus.texts[row] for row in rows])
            numbers = vocabulary.grow(tokens.distinct)
            builder.add(numbers[tokens.numbers], rows[tokens.owners])
            tick(len(rows))
        postings = builder.finish(len(vocabulary.number_of), FORMS[self.form], self.k1, self.b, self.delta)
        return Bm25Index(analyser, vocabulary, postings, builder.lengths.astype(np.float64))


class Vocabulary:
    """Terms and their numbers."""

    def __init__(self) -> None:
        self.number_of: dict[str, int] = {}

    def grow(self, terms: list[str]) -> Int32:
        """The numbers of terms, new ones for terms not seen before."""
        number_of = self.number_of
        return np.array([number_of.setdefault(term, len(number_of)) for term in terms], dtype=np.int32)

    def look_up(self, terms: list[str]) -> Int32:
        """The numbers of terms, -1 for those that no document has."""
        return np.array([self.number_of.get(term, -1) for term in terms], dtype=np.int32)


def portions(texts: Sequence[str]) -> Iterator[Int32]:
    """Rows of the texts, in portions of a bounded number of characters; plain ASCII texts apart from the others.

    ASCII takes a much faster way through tokenising, and one accent would close it for the whole portion.
    """
    plain = np.fromiter(map(str.isascii, texts), dtype=np.bool_, count=len(texts))
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    for rows in (np.flatnonzero(plain), np.flatnonzero(~plain)):
        if len(rows):
            cuts = np.flatnonzero(np.diff(np.cumsum(sizes[rows]) // _PORTION)) + 1
            yield from np.split(rows.astype(np.int32), cuts)


class Bm25Index:
    """A corpus in postings."""

    def __init__(self, analyser: Analyser, vocabulary: Vocabulary, postings: Postings, lengths: Float64) -> None:
        self.analyser, self.vocabulary, self.postings, self.lengths = analyser, vocabulary, postings, lengths

    @property
    def size_bytes(self) -> int:
        """Memory of postings and vocabulary."""
        return self.postings.size_bytes + sum(map(len, self.vocabulary.number_of)) * 2

    @property
    def notes(self) -> Settings:
        """The analyser, and the size of what it gave."""
        return {"analyser": str(self.analyser), "vocabulary": len(self.vocabulary.number_of)}

    def search(self, queries: Queries, top_k: int) -> Run:
        """The best `top_k` documents that share a term with the query."""
        documents = len(self.lengths)
        depth = min(top_k, documents)
        rows = np.full((len(queries), depth), -1, dtype=np.int32)
        scores = np.full((len(queries), depth), -np.inf, dtype=np.float32)
        searcher = Searcher(self.postings, documents)
        for query, terms, counts in self._terms(queries.texts):
            found, values = searcher.best(terms, counts, depth)
            rows[query, : len(found)] = found
            scores[query, : len(found)] = values
        return Run(rows, scores)

    def _terms(self, texts: Sequence[str]) -> Iterator[tuple[int, Int32, Float64]]:
        """The distinct known terms of each query and how often each is in it."""
        tokens = self.analyser.tokens(texts)
        numbers = self.vocabulary.look_up(tokens.distinct)[tokens.numbers]
        known = numbers >= 0
        pairs = tokens.owners[known].astype(np.int64) << 32 | numbers[known]
        distinct, counts = np.unique(pairs, return_counts=True)
        owners = distinct >> 32
        edges = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1], [True])))
        for begin, end in zip(edges[:-1], edges[1:], strict=True):
            terms = (distinct[begin:end] & 0xFFFFFFFF).astype(np.int32)
            yield int(owners[begin]), terms, counts[begin:end].astype(np.float64)


def from_spec(spec: ModelSpec) -> Bm25:
    """BM25 with the options of a model name, such as `bm25?form=lucene&k1=0.9&b=0.4`."""
    for option in spec.options:
        if option not in OPTIONS:
            raise UnknownName("option of bm25", option, OPTIONS, hint=f"bm25 takes {', '.join(OPTIONS)}")
    form = spec.options.get("form", "lucene")
    if form not in FORMS:
        raise UnknownName("form of BM25", form, FORMS, hint=f"known: {', '.join(FORMS)}")
    numbers = {name: _number(spec.options, name, default) for name, default in (("k1", 1.2), ("b", 0.75))}
    return Bm25(form, **numbers, delta=_number(spec.options, "delta", FORMS[form].delta), name=str(spec))


def _number(options: Mapping[str, str], name: str, default: float) -> float:
    text = options.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    limit = 1.0 if name == "b" else 1000.0
    if not 0 <= value <= limit:
        raise UsageError(f"the option {name} of bm25 is {text!r}", hint=f"a number from 0 to {limit:g} was expected")
    return value
