"""How documents are divided into passages, and how the scores of passages become one score of a document.

`dense:ID?chunk=256&overlap=32` searches passages of 256 tokens of the model. A document has the score of its best
passage (`chunk_score=max`), the mean of its best three (`mean3`), or the score of its first (`first`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from steelyard.encoders.token_starts import FindsTokens
from steelyard.errors import UnknownName, UsageError
from steelyard.options import Options
from steelyard.retrievers.model_names import CHUNK_OPTIONS
from steelyard.spec import ModelSpec
from steelyard.text.passages import UNITS, windows, word_starts
from steelyard.types import Corpus, Float32, Int32, Int64, Ragged, Run
from steelyard.types.protocols import ModelSettings, Tick
from steelyard.vectors.ragged import offsets_of

ALL_UNITS = ("tokens", *UNITS)
SCORES = ("max", "first", "mean3")
MEAN = re.compile(r"mean([1-9][0-9]{0,3})")
LONGEST = 1_000_000
PART = 256
"""Documents whose tokens are found at a time."""


@dataclass(frozen=True)
class Chunking:
    """The options `chunk`, `overlap`, `chunk_by`, `chunk_score` and `late_chunking` of a model.

    >>> Chunking.of({"chunk": "128", "overlap": "16"}, "dense:X")
    Chunking(size=128, overlap=16, unit='', score='max', late=False)
    """

    size: int
    overlap: int = 0
    unit: str = ""
    """Empty: tokens of the model; words if it does not have a tokenizer here."""
    score: str = "max"
    late: bool = False
    """Whether passages are encoded in the context of their document."""

    @classmethod
    def of(cls, options: Mapping[str, str], owner: str) -> Chunking:
        """Read the options of a model that has `chunk`."""
        values = Options(owner, {name: options[name] for name in CHUNK_OPTIONS if name in options}, CHUNK_OPTIONS)
        size = values.whole("chunk", 0, maximum=LONGEST)
        if not size:
            names = ", ".join(values.values)
            raise UsageError(
                f"{names} of {owner} must be used with chunk", hint="add chunk=256", option=next(iter(values.values))
            )
        overlap = values.whole("overlap", 0, minimum=0)
        if overlap >= size:
            raise UsageError.invalid(
                f"the option overlap of {owner}", expected=f"less than chunk={size}", found=overlap, option="overlap"
            )
        score = values.text("chunk_score") or "max"
        if score not in SCORES and not MEAN.fullmatch(score):
            hint = "choose max, first, or the mean of the best passages: mean3"
            raise UnknownName(f"chunk_score of {owner}", score, SCORES, hint=hint, option="chunk_score")
        return cls(
            size, overlap, values.choice("chunk_by", ("", *ALL_UNITS)), score, values.flag("late_chunking", False)
        )

    def with_unit(self, model: object, name: str) -> Chunking:
        """Return the same with the unit that counts for a model; a UsageError for tokens that it does not have."""
        finds = isinstance(model, FindsTokens)
        if self.unit == "tokens" and not finds:
            raise UsageError(
                f"{name} does not have a tokenizer on this machine",
                hint="choose chunk_by=words, sentences or sections",
                option="chunk_by",
                found="tokens",
            )
        return self if self.unit else replace(self, unit="tokens" if finds else "words")

    @property
    def best(self) -> int:
        """The number of passages whose mean is the score of a document."""
        match = MEAN.fullmatch(self.score)
        return int(match[1]) if match else 1

    @property
    def settings(self) -> ModelSettings:
        """Everything that could change a score."""
        late = {"late_chunking": True} if self.late else {}
        return {"chunk": self.size, "overlap": self.overlap, "by": self.unit, "score": self.score, **late}


def split_options(spec: ModelSpec) -> tuple[ModelSpec, Chunking | None]:
    """Return the model without the options of passages, and the values of these options; None if there are none."""
    own = {name: value for name, value in spec.options.items() if name in CHUNK_OPTIONS}
    rest = replace(spec, options={name: value for name, value in spec.options.items() if name not in own})
    if not own or own.get("chunk") in ("none", ""):
        return rest, None
    return rest, Chunking.of(own, str(rest))


@dataclass(frozen=True, eq=False)
class Passages:
    """The passages of a corpus, in the order of their documents, so that ties between documents are broken by row."""

    corpus: Corpus
    offsets: Int64
    """Document `d` owns the passages from `offsets[d]` to before `offsets[d + 1]`."""
    spans: Int64
    """The start and end of each passage in the body of its document."""

    @property
    def owners(self) -> Int32:
        """The document of each passage."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))

    @property
    def counts(self) -> Int64:
        """The number of passages of each document."""
        return np.diff(self.offsets)

    def notes(self, chunking: Chunking) -> dict[str, Any]:
        """Return the number of passages, for the notes of an index."""
        documents = max(1, len(self.counts))
        return {
            "count": len(self.corpus),
            "per_document": len(self.corpus) / documents,
            "documents_divided": int((self.counts > 1).sum()),
            **chunking.settings,
        }

    def of_documents(self, rows: Int32) -> tuple[Int32, Int32]:
        """Return, for lists of documents (-1: none), lists of their passages and the documents that these belong to."""
        real = rows >= 0
        counts = np.where(real, self.counts[np.where(real, rows, 0)], 0)
        lengths = counts.sum(axis=1)
        width = int(lengths.max(initial=0))
        passages = np.full((len(rows), width), -1, dtype=np.int32)
        owners = passages.copy()
        flat = counts.ravel()
        documents = np.repeat(rows.ravel(), flat)
        within = np.arange(int(flat.sum())) - np.repeat(np.cumsum(flat) - flat, flat)
        filled = np.arange(width) < lengths[:, None]
        passages[filled] = self.offsets[documents] + within
        owners[filled] = documents
        return passages, owners


_LATEST: WeakKeyDictionary[Corpus, tuple[tuple[Chunking, object], Passages]] = WeakKeyDictionary()
"""The last passages of each corpus that is in use: variants of a model share them, and so their vectors."""


def passages_of(corpus: Corpus, chunking: Chunking, model: object) -> Passages:
    """Return the passages of a corpus; `model` finds the tokens if those are the unit.

    A passage keeps the title of its document. With `chunk_score=first`, only the first passage of each is made.
    """
    tokenizer = model if chunking.unit == "tokens" else None
    key = (replace(chunking, score="first" if chunking.score == "first" else "max"), tokenizer)
    latest = _LATEST.get(corpus)
    if latest is not None and latest[0] == key:
        return latest[1]
    bodies = corpus.bodies
    divided = _spans(bodies, chunking, tokenizer)
    if chunking.score == "first":
        divided = [spans[:1] for spans in divided]
    owners = [row for row, spans in enumerate(divided) for _ in spans]
    texts = tuple(bodies[row][first:last] for row, spans in enumerate(divided) for first, last in spans)
    # Rows of a corpus are in descending order of ids.
    ids = tuple(f"{number:09d}" for number in range(len(owners), 0, -1))
    titles = None if corpus.titles is None else tuple(corpus.titles[row] for row in owners)
    spans = np.array([span for spans in divided for span in spans], dtype=np.int64).reshape(-1, 2)
    passages = Passages(Corpus(ids, texts, titles), offsets_of(np.array([len(spans) for spans in divided])), spans)
    _LATEST[corpus] = (key, passages)
    return passages


def _spans(bodies: Sequence[str], chunking: Chunking, tokenizer: object) -> list[list[tuple[int, int]]]:
    if tokenizer is None:
        starts_of = UNITS[chunking.unit]
        return [
            _windows(body, starts, np.ones(len(starts), np.int64), chunking)
            for body in bodies
            for starts in [starts_of(body)]
        ]
    assert isinstance(tokenizer, FindsTokens)
    divided = []
    for start in range(0, len(bodies), PART):
        part = bodies[start : start + PART]
        for body, tokens in zip(part, tokenizer.token_starts(part), strict=True):
            divided.append(_token_windows(body, tokens, chunking))
    return divided


def _token_windows(body: str, tokens: Int64, chunking: Chunking) -> list[tuple[int, int]]:
    """Return passages of whole words; a word that is longer than a passage is divided between its tokens."""
    if len(tokens) <= chunking.size:
        return [(0, len(body))]
    words = word_starts(body)
    weights = _counts(words, tokens)
    if (long := np.flatnonzero(weights > chunking.size)).size:
        ends = np.append(words[1:], len(body))
        inside = [tokens[(tokens >= words[word]) & (tokens < ends[word])] for word in long]
        words = np.unique(np.concatenate([words, *inside]))
        weights = _counts(words, tokens)
    return _windows(body, words, weights, chunking)


def _counts(words: Int64, tokens: Int64) -> Int64:
    """Return the number of tokens that start in each word."""
    return np.bincount(np.searchsorted(words, tokens, side="right") - 1, minlength=len(words)).astype(np.int64)


def _windows(body: str, starts: Int64, weights: Int64, chunking: Chunking) -> list[tuple[int, int]]:
    """Return where the passages of a text begin and end; a text that fits into one passage is not changed."""
    if int(weights.sum()) <= chunking.size:
        return [(0, len(body))]
    ends = np.append(starts[1:], len(body))
    spans = []
    for first, last in windows(weights, chunking.size, chunking.overlap):
        begin, end = int(starts[first]), int(ends[last - 1])
        text = body[begin:end]
        spans.append((begin + len(text) - len(text.lstrip()), begin + len(text.rstrip())))
    return [span for span in spans if span[0] < span[1]] or [(0, len(body))]


def document_run(run: Run, passages: Passages, chunking: Chunking, top_k: int) -> Run:
    """Return the best `top_k` documents of a run of passages.

    A passage that the run does not have counts as 0 in a mean: it matches nothing.
    """
    owners = np.append(passages.owners, -1)[run.rows]
    best = np.full(len(passages.counts), chunking.best)
    rows, scores = aggregate(owners, run.scores, np.minimum(best, passages.counts))
    return (Run(rows, scores) if chunking.best == 1 else Run.of(rows, scores)).top(top_k)


def aggregate(owners: Int32, scores: np.ndarray, best: Int64) -> tuple[Int32, Float32]:
    """Return the documents of each line (-1: none) in the order of their best passage, with the mean of their best.

    Lines are sorted by falling score. `best` is the number of passages that the mean of each document is taken of.

    >>> owners, scores = np.array([[1, 0, 1, 1]], dtype=np.int32), np.array([[4.0, 3.0, 2.0, 1.0]], dtype=np.float32)
    >>> rows, means = aggregate(owners, scores, np.array([1, 2]))
    >>> rows.tolist(), means.tolist()
    ([[1, 0]], [[3.0, 3.0]])
    """
    lines, width = owners.shape
    real = owners >= 0
    line = np.nonzero(real)[0]
    keys = line * max(len(best), 1) + owners[real]
    values = np.asarray(scores)[real]
    order = np.argsort(keys, kind="stable")  # within a document the best passage stays first
    sorted_keys = keys[order]
    new = np.concatenate(([True], sorted_keys[1:] != sorted_keys[:-1])) if len(order) else np.zeros(0, dtype=bool)
    group = np.cumsum(new) - 1
    begins = np.flatnonzero(new)
    place = np.arange(len(order)) - begins[group]
    firsts = order[begins]  # where the best passage of each document is
    document = owners[real][firsts]
    if (best == 1).all():
        means = values[firsts]
    else:
        counted = place < best[owners[real][order]]
        sums = np.bincount(group, np.where(counted, values[order].astype(np.float64), 0), minlength=len(begins))
        means = (sums / best[document]).astype(np.float32)
    ranked = np.argsort(firsts)  # documents of a line in the order of their best passage
    counts = np.bincount(line[firsts], minlength=lines)
    filled = np.arange(min(width, int(counts.max(initial=0)))) < counts[:, None]
    rows = np.full(filled.shape, -1, dtype=np.int32)
    result = np.full(filled.shape, -np.inf, dtype=values.dtype if (best == 1).all() else np.float32)
    rows[filled], result[filled] = document[ranked], means[ranked]
    return rows, result


def passage_lists(passages: Passages, lists: Ragged) -> Ragged:
    """Return the passages of each query's candidates."""
    counts = passages.counts[lists.rows]
    sums = np.concatenate(([0], np.cumsum(counts)))
    starts = passages.offsets[lists.rows]
    within = np.arange(int(counts.sum())) - np.repeat(sums[:-1], counts)
    return Ragged(sums[lists.offsets], (np.repeat(starts, counts) + within).astype(np.int32))


def by_documents(tick: Tick, documents: int, passages: int) -> Tick:
    """Return a tick of passages that counts documents for `tick`."""
    done = [0, 0]

    def count(number: int) -> None:
        done[0] += number
        now = done[0] * documents // max(passages, 1)
        tick(now - done[1])
        done[1] = now

    return count
