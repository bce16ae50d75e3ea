"""Late chunking: a passage is encoded in the context of its document.

The model reads the whole document, or as many passages of it as it can read at once, and the vector of a passage is the
mean of the states of its own tokens (Günther et al., 2024, "Late Chunking"). Marks, prompt and title before the first
passage count as part of it, and a mark at the end as part of the last one, so that a document of one passage has the
same vector as without passages.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from steelyard.encoders.cache.cached_encoder import Tally, measured, open_store
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.errors import UsageError
from steelyard.retrievers.chunking.chunking import Passages
from steelyard.retrievers.dense import DenseRetriever, Fetched, SharedVectors
from steelyard.types import Corpus, Float32, Int64, Role
from steelyard.types.protocols import Encoder, ModelSettings, Retriever, Tick, no_tick
from steelyard.types.retrieval import join_title

PART = 64
"""Texts that are read between two writes to the store."""


@runtime_checkable
class EncodesSpans(Protocol):
    """A dense encoder that can pool the states of some tokens of a text."""

    def check_spans(self) -> None:
        """Raise a UsageError if the vectors of the model are not means of the states of tokens."""
        ...

    def span_tokens(self, title: str) -> int | None:
        """Return how many tokens the model reads after prompt and title; None without a limit."""
        ...

    def token_starts(self, texts: Sequence[str]) -> list[Int64]:
        """Return where the tokens of each text start."""
        ...

    def encode_spans(self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> list[Float32]:
        """Return, for each document, a vector for each of its spans of characters, from one reading of the text."""
        ...


@dataclass(frozen=True)
class InContext:
    """The encoder as the store of vectors needs it: vectors in context are stored separately from others."""

    encoder: Encoder

    @property
    def name(self) -> str:
        """Return the name of the encoder."""
        return self.encoder.name

    @property
    def settings(self) -> ModelSettings:
        """Return the settings of the encoder, and the version of this computation."""
        return {**self.encoder.settings, "late_chunking": 1}

    @property
    def computation(self) -> int:
        """Return the version of the encoder's own computation."""
        return int(getattr(self.encoder, "computation", 0))

    @property
    def dimension(self) -> int:
        """Return the length of a vector."""
        return self.encoder.dimension

    @property
    def similarity(self) -> str:
        """Return how vectors are compared."""
        return self.encoder.similarity

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Raise an error: passages are encoded with their documents."""
        raise NotImplementedError("passages are encoded with their documents")


@dataclass(frozen=True)
class Window:
    """Neighbouring passages of one document that the model reads at once."""

    text: str
    spans: tuple[tuple[int, int], ...]
    first: int
    """The row of its first passage."""

    @property
    def keys(self) -> list[str]:
        """Return a text for each passage that identifies it and its context, for the store."""
        digest = hashlib.blake2b(self.text.encode("utf-8", "replace"), digest_size=16).hexdigest()
        return [f"{digest}:{first}:{last}" for first, last in self.spans]


class ContextVectors(SharedVectors):
    """Vectors of the passages of one corpus in the context of their documents; queries are encoded as usual."""

    def __init__(self, shared: SharedVectors, documents: Corpus, passages: Passages) -> None:
        super().__init__(shared.encoder, shared.store, shared._settings)
        self._source, self._passages = documents, passages
        self._context: VectorStore | None = (
            None if shared.store is None else open_store(InContext(shared.encoder), shared._settings)
        )

    def documents(self, corpus: Corpus, tick: Tick = no_tick) -> Fetched:
        """Return the matrix of the passages, and how it was obtained."""
        if corpus is not self._passages.corpus:
            return super().documents(corpus, tick)
        fetched = self._documents.get(corpus)
        if fetched is None:
            fetched = self._documents.set(corpus, self._encoded(tick))
        return fetched

    def _encoded(self, tick: Tick) -> Fetched:
        encoder = self.encoder
        assert isinstance(encoder, EncodesSpans)
        windows = windows_of(self._source, self._passages, encoder)
        keys = [key for window in windows for key in window.keys]
        count = len(self._passages.corpus)
        known, vectors = np.zeros(count, dtype=bool), np.empty((count, encoder.dimension), np.float32)
        hashes = None if self._context is None else self._context.keys(keys, "document")
        if self._context is not None and hashes is not None:
            known, vectors = self._context.get(hashes)
        tick(int(known.sum()))
        start_time = time.perf_counter()
        missing = [w for w in windows if not known[w.first : w.first + len(w.spans)].all()]
        for start in range(0, len(missing), PART):
            part = missing[start : start + PART]
            arrays = encoder.encode_spans([window.text for window in part], [window.spans for window in part])
            rows = np.concatenate([np.arange(w.first, w.first + len(w.spans)) for w in part])
            vectors[rows] = np.concatenate(arrays)
            if self._context is not None and hashes is not None:
                self._context.put(hashes[rows], vectors[rows])
            tick(int((~known[rows]).sum()))
        problems = tuple(self._context.problems) if self._context is not None else ()
        encoded, folder = int((~known).sum()), None if self._context is None else self._context.folder
        costs = measured(folder, "document", encoded, count, start_time)
        tally = Tally(count, encoded, count - encoded, problems, {"documents_read": len(missing)}, *costs)
        return self._normalised(vectors), tally


def windows_of(documents: Corpus, passages: Passages, encoder: EncodesSpans) -> list[Window]:
    """Return the texts to read: whole documents, or as many neighbouring passages as the model reads at once."""
    windows = []
    several = np.flatnonzero(passages.counts > 1)
    starts = dict(zip(several.tolist(), encoder.token_starts([documents.bodies[row] for row in several]), strict=True))
    for row, body in enumerate(documents.bodies):
        first, last = int(passages.offsets[row]), int(passages.offsets[row + 1])
        title = documents.titles[row] if documents.titles is not None else ""
        if row not in starts:
            text = documents.texts[row]
            windows.append(Window(text, ((0, len(text)),), first))
            continue
        room = encoder.span_tokens(title)
        while first < last:
            begin, stop = int(passages.spans[first, 0]), first + 1
            while stop < last and (room is None or _count(starts[row], begin, int(passages.spans[stop, 1])) <= room):
                stop += 1
            own = passages.spans[first:stop]
            part = body[begin : int(own[-1, 1])]
            text = join_title(title, part)
            shift = len(text) - len(part) - begin
            windows.append(Window(text, tuple((int(a) + shift, int(b) + shift) for a, b in own), first))
            first = stop
    return windows


def _count(starts: Int64, begin: int, end: int) -> int:
    """Return the number of tokens that start in a part of a text."""
    return int(np.searchsorted(starts, end) - np.searchsorted(starts, begin))


def check_late(model: Retriever) -> None:
    """Raise a UsageError if a model cannot encode passages in the context of their documents."""
    if not isinstance(model, DenseRetriever) or not isinstance(model.encoder, EncodesSpans):
        raise UsageError(
            f"{model.name} must return the states of tokens for late chunking",
            hint="use a dense model with mean pooling, for torch or ONNX Runtime, or remove late_chunking",
            option="late_chunking",
        )
    model.encoder.check_spans()


def in_context(model: Retriever, documents: Corpus, passages: Passages) -> DenseRetriever:
    """Return the model with vectors of these passages in context."""
    assert isinstance(model, DenseRetriever)
    return replace(model, shared=ContextVectors(model.vectors, documents, passages))
