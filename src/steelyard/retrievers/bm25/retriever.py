"""BM25: the lexical baseline to which other retrievers are compared."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.retrievers.bm25.forms import FORMS
from steelyard.retrievers.bm25.memory import keep_freed_memory, return_freed_memory
from steelyard.retrievers.bm25.postings import Occurrences, Postings, PostingsBuilder
from steelyard.retrievers.bm25.search import QueryTerms, search
from steelyard.retrievers.bm25.sharded import ShardedBuilder, ShardedPostings
from steelyard.retrievers.model_names import BM25_PRESETS as PRESETS
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.threads import in_order, threads
from steelyard.spec import ModelSpec
from steelyard.text.analysis.analyser import ANALYSIS_VERSION, Analysis
from steelyard.text.analysis.language_policy import KINDS, Policy, choose_policy
from steelyard.text.arrays import text_chunks
from steelyard.text.languages import canonical, is_language
from steelyard.text.tokenizer.segment import HAKARI_VERSION
from steelyard.text.tokenizer.tokens import Words
from steelyard.text.tokenizer.vocabulary import Readers, split_rows
from steelyard.types import Corpus, Int32, Queries, Run, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.mapped import MAPPED

_PORTION = 1 << 18, 1 << 19
"""Minimum and maximum characters analysed at once; a sixteenth of the corpus in between.

The arrays of a portion stay in the cache of the processor and in memory that was freed before. With eight times as many
characters, n-grams take twice the time, most of it for new pages of memory, and three times the memory.
"""
_STRINGS_PORTION = 1 << 21, 1 << 23
"""The same for analysers that make strings."""

_SHARED = 1 << 24
"""From so many characters on, several threads index; for less, starting them costs more than they save."""

POSTING_BYTES_PER_CHARACTER = 4
"""Bytes of postings, and of building them, for one character of text: more than any language needs."""

OPTIONS = ("form", "k1", "b", "delta", "analyser", "language", "preset", "threads")
SEGMENTER_PACKAGES = ("rjieba", "fugashi", "unidic-lite", "pythainlp", "kiwipiepy", "pyvi")


def packages(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of installed packages; missing ones are left out."""
    installed: dict[str, str] = {}
    for name in names:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return installed


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
    analyser: str = "default"
    """The kind of analyser: `default`, `segment` or `hakari`."""
    language: str = ""
    """The language of all texts; empty: that of the task, or else as detected."""
    name: str = "bm25"
    threads: int | None = field(default=None, repr=False, compare=False)
    """Threads to use; None: the available cores, at most eight."""
    memory: tuple[Path, int] | None = field(default=None, repr=False, compare=False)
    """A folder for indexes larger than so many bytes; None: every index is in memory."""

    @property
    def settings(self) -> ModelSettings:
        """Return form, parameters, analysis policy and versions of the code."""
        import Stemmer

        return {
            "form": self.form,
            "k1": self.k1,
            "b": self.b,
            "delta": self.delta,
            "analyser": self.analyser,
            "language": self.language or "of the task",
            "analysis_version": ANALYSIS_VERSION,
            "snowball_version": Stemmer.version(),
            "unicode_version": unicodedata.unidata_version,
            **({"packages": packages(SEGMENTER_PACKAGES)} if self.analyser != "default" else {}),
            **({"hakari_version": HAKARI_VERSION} if self.analyser == "hakari" else {}),
        }

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Bm25Index:
        """Analyse the documents and build the postings."""
        keep_freed_memory()
        texts = corpus.texts
        policy = choose_policy(texts, info, self.analyser, self.language)
        readers, read = Readers(), Counter[str]()
        characters = sum(map(len, texts))
        numbering, builder = PostingsBuilder(len(corpus)), self._builder(len(corpus), characters)
        workers = threads(self.threads) if characters >= _SHARED else 1
        # The distinct strings of code and of segmenters are analysed again in every portion.
        portion = _PORTION if policy.kind == "default" and "code" not in policy.languages else _STRINGS_PORTION
        spans = text_chunks(texts, min(max(characters // 16, portion[0]), portion[1]))
        analysed = in_order(lambda span: (span, _analyse(policy, texts, *span)), spans, workers)
        for postings_part in in_order(numbering.portion, _numbered(analysed, readers, read), workers):
            builder.append(postings_part)
            tick(postings_part.documents)
        postings = builder.finish(len(readers.vocabulary), FORMS[self.form], self.k1, self.b, self.delta, workers)
        if workers > 1:
            return_freed_memory()
        notes: dict[str, Any] = {
            "analysers": dict(read),
            "languages": list(policy.languages),
            "language_from": policy.origin,
            "vocabulary": len(readers.vocabulary),
            "average_length": round(float(builder.lengths.mean()), 2) if len(corpus) else 0.0,
            "documents_without_terms": int((builder.lengths == 0).sum()),
        }
        if isinstance(postings, ShardedPostings):
            notes["shards"] = len(postings.shards)
        return Bm25Index(policy, readers, postings, len(corpus), notes)

    def _builder(self, documents: int, characters: int) -> PostingsBuilder | ShardedBuilder:
        """Return a builder in memory, or of shards in files if the postings may be larger than memory allows."""
        if self.memory is None or characters * POSTING_BYTES_PER_CHARACTER <= self.memory[1]:
            return PostingsBuilder(documents)
        return ShardedBuilder(documents, *self.memory)


_Analysed = list[tuple[Analysis, Words | Sequence[str], Int32]]


def _analyse(policy: Policy, texts: Sequence[str], first: int, last: int) -> _Analysed:
    """Return the words of a portion of texts by analyser, with their rows in the corpus."""
    portion = texts[first:last]
    groups = policy.groups(portion)
    return [
        (analyser, words, first + rows)
        for analyser, group in groups
        for analyser, words, rows in split_rows(analyser, portion, group)
    ]


def _numbered(
    analysed: Iterable[tuple[tuple[int, int], _Analysed]], readers: Readers, read: Counter[str]
) -> Iterator[Occurrences]:
    """Yield the numbered terms of each portion, in order; `read` counts the documents of each analyser."""
    for (first, last), parts in analysed:
        terms, rows = [], []
        for analyser, words, owners in parts:
            numbers, places = readers[analyser].number(words)
            read[str(analyser)] += len(owners)
            terms.append(numbers)
            rows.append(owners.take(places))
        yield Occurrences(_concatenated(terms), _concatenated(rows), last - first)


def _concatenated(parts: list[Int32]) -> Int32:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class Bm25Index:
    """A corpus in postings."""

    def __init__(
        self,
        policy: Policy,
        readers: Readers,
        postings: Postings | ShardedPostings,
        documents: int,
        notes: ModelSettings,
    ) -> None:
        self.policy, self.readers, self.postings = policy, readers, postings
        self.vocabulary = readers.vocabulary
        self.documents = documents
        self.notes = notes
        """Documents of each analyser, languages, size of the vocabulary, mean length."""

    @property
    def size_bytes(self) -> int:
        """Return the memory of postings and vocabulary."""
        return self.postings.size_bytes + self.readers.size_bytes

    def search(self, queries: Queries, top_k: int) -> Run:
        """Return the best `top_k` documents that share a term with the query; ties by row."""
        depth, terms = min(top_k, self.documents), self._terms(queries.texts)
        if isinstance(self.postings, ShardedPostings):
            return Run(*self.postings.search(terms, depth))
        return Run(*search(self.postings, self.documents, terms, depth))

    def _terms(self, texts: Sequence[str]) -> QueryTerms:
        """Return the distinct known terms of each query with their counts."""
        pairs = [np.zeros(0, dtype=np.int64)]
        for analyser, rows in self.policy.groups(texts):
            numbers, owners = self.readers[analyser].read_queries([texts[row] for row in rows.tolist()])
            known = numbers >= 0
            pairs.append(rows[owners[known]].astype(np.int64) << 32 | numbers[known])
        distinct, counts = np.unique(np.concatenate(pairs), return_counts=True)
        offsets = np.searchsorted(distinct, np.arange(len(texts) + 1) << 32)
        return QueryTerms(offsets, (distinct & 0xFFFFFFFF).astype(np.int32), counts.astype(np.float64))


def from_spec(spec: ModelSpec, settings: Settings | None = None) -> Bm25:
    """Return BM25 with the options of a model name, such as `bm25?k1=0.9&b=0.4` or `bm25?preset=hakari`.

    >>> from steelyard.spec import parse
    >>> from_spec(parse("bm25?preset=hakari&b=0.5"))
    Bm25(form='robertson', k1=1.5, b=0.5, delta=0.0, analyser='hakari', language='', name='bm25?b=0.5&preset=hakari')
    """
    if spec.id or spec.revision:
        raise UsageError.invalid(
            "the model name",
            expected="bm25 without an id",
            found=str(spec),
            hint="write bm25?option=value",
            option="model",
        )
    preset = Options("bm25", spec.options, OPTIONS, NOT_FOR["bm25"]).choice("preset", tuple(PRESETS))
    options = Options("bm25", {**PRESETS[preset], **spec.options}, OPTIONS, NOT_FOR["bm25"])
    form = options.choice("form", tuple(FORMS))
    if "delta" in options.values and not FORMS[form].delta:
        raise UsageError(
            f"delta must be used with form=bm25l or form=bm25+, got form={form}", hint="remove delta=", option="delta"
        )
    return Bm25(
        form=form,
        k1=options.number("k1", 1.2, minimum=0, maximum=100),
        b=options.number("b", 0.75, minimum=0, maximum=1),
        delta=options.number("delta", FORMS[form].delta, minimum=0, maximum=100),
        analyser=options.choice("analyser", tuple(KINDS)),
        language=_language(options.text("language") or ""),
        name=result_name(spec),
        threads=options.whole("threads", settings.threads if settings else None),
        memory=(settings.home / MAPPED, settings.memory_bytes) if settings else None,
    )


def _language(code: str) -> str:
    if code and canonical(code) != "code" and not is_language(canonical(code)):
        raise UsageError.invalid(
            "the option language of bm25",
            expected="the code of a language (ja, not jp), code for programs, or und for words without analysis",
            found=code,
            option="language",
        )
    return code
