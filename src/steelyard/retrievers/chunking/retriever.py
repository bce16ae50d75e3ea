"""A model that searches the passages of documents and ranks documents by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.streaming import LooksUpVectors
from steelyard.errors import UsageError
from steelyard.retrievers import load_retriever
from steelyard.retrievers.chunking.chunking import (
    Chunking,
    Passages,
    aggregate,
    by_documents,
    document_run,
    passage_lists,
    passages_of,
    split_options,
)
from steelyard.retrievers.chunking.late_chunking import check_late, in_context
from steelyard.retrievers.composite import for_task
from steelyard.retrievers.model_names import NOT_CHUNKED, WHOLE_DOCUMENTS, result_name
from steelyard.retrievers.model_variants import with_chunks
from steelyard.retrievers.ranking import BLOCK, RanksCandidates, rank_by_search
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Queries, Ragged, Run, TaskInfo
from steelyard.types.protocols import Composite, Index, ModelSettings, Retriever, Tick, no_tick

PER_DOCUMENT = ("bytes_per_document", "rescore_bytes_per_document", "vectors_per_document", "active_dims")
"""Notes of an index that are means over what it indexed, which are passages here."""


@dataclass(frozen=True, eq=False)
class ChunkedIndex:
    """An index of passages that returns documents."""

    inner: Index
    passages: Passages
    chunking: Chunking

    @property
    def size_bytes(self) -> int:
        """Return the memory of the index of passages."""
        return self.inner.size_bytes

    @property
    def notes(self) -> ModelSettings:
        """Return the notes of the index of passages; means are over documents."""
        notes: dict[str, Any] = {**self.inner.notes, "passages": self.passages.notes(self.chunking)}
        ratio = notes["passages"]["per_document"]
        for name in PER_DOCUMENT:
            if isinstance(notes.get(name), int | float):
                notes[name] *= ratio
        if "bytes_per_document" in notes:
            notes.setdefault("vectors_per_document", ratio)
        return notes

    def search(self, queries: Queries, top_k: int) -> Run:
        """Return the best `top_k` documents of each query."""
        count, counts = len(self.passages.corpus), self.passages.counts
        if self.chunking.best > 1:
            return self._search_all(queries, top_k)
        # So many passages belong to at least `top_k` documents, whichever they are.
        enough = int(np.sort(counts)[::-1][:top_k].sum())
        depth = min(enough, 2 * top_k * -(-count // max(len(counts), 1)))
        passage_run = self.inner.search(queries, depth)
        run = document_run(passage_run, self.passages, self.chunking, top_k)
        short = (run.lengths < min(top_k, len(counts))) & (passage_run.lengths == depth)
        if depth < enough and short.any():
            run = document_run(self.inner.search(queries, enough), self.passages, self.chunking, top_k)
        return run

    def _search_all(self, queries: Queries, top_k: int) -> Run:
        """Search every passage: a mean depends on passages that are far from the best."""
        count = len(self.passages.corpus)
        step = max(1, BLOCK // max(count, 1))
        runs = []
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            block = Queries(queries.ids[part], queries.texts[part]) if step < len(queries) else queries
            runs.append(document_run(self.inner.search(block, count), self.passages, self.chunking, top_k))
        width = max((run.depth for run in runs), default=0)
        rows = [np.pad(run.rows, ((0, 0), (0, width - run.depth)), constant_values=-1) for run in runs]
        scores = [np.pad(run.scores, ((0, 0), (0, width - run.depth)), constant_values=-np.inf) for run in runs]
        return Run(np.concatenate(rows), np.concatenate(scores))

    def rank(self, queries: Queries, lists: Ragged) -> Run:
        """Return the candidates of each query, best first."""
        counts = self.passages.counts
        if not isinstance(self.inner, RanksCandidates):
            return rank_by_search(self, queries, lists, len(counts))
        run = self.inner.rank(queries, passage_lists(self.passages, lists))
        owners = np.append(self.passages.owners, -1)[run.rows]
        return Run.of(*aggregate(owners, run.scores, np.minimum(self.chunking.best, counts)))


@dataclass(frozen=True, eq=False)
class ChunkedRetriever:
    """A model of any family that reads passages of documents; the judgements remain those of documents."""

    name: str
    inner: Retriever
    chunking: Chunking

    @property
    def settings(self) -> ModelSettings:
        """Return the settings of the model, and how documents are divided."""
        return {**self.inner.settings, "chunking": dict(self.chunking.settings)}

    def for_task(self, info: TaskInfo) -> Retriever:
        """Return the model for that task; itself if it is the same for all."""
        inner = for_task(self.inner, info)
        return self if inner is self.inner else replace(self, inner=inner)

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> ChunkedIndex:
        """Divide the documents and index their passages; `tick` counts documents."""
        passages = passages_of(corpus, self.chunking, getattr(self.inner, "encoder", None))
        counted = by_documents(tick, len(corpus), len(passages.corpus))
        model = in_context(self.inner, corpus, passages) if self.chunking.late else self.inner
        return ChunkedIndex(model.index(passages.corpus, info, counted), passages, self.chunking)


def chunked(inner: Retriever, chunking: Chunking, name: str) -> ChunkedRetriever:
    """Return the model with passages; a UsageError if it cannot read texts that are not documents of the task."""
    encoder = getattr(inner, "encoder", None)
    if name.partition("?")[0].partition(":")[0] in NOT_CHUNKED or isinstance(encoder, LooksUpVectors):
        raise UsageError(
            f"{inner.name} must read documents as they are: its documents were indexed or encoded elsewhere",
            hint="remove chunk=, or divide the documents there",
            option="chunk",
        )
    if chunking.late:
        check_late(inner)
    return ChunkedRetriever(name, inner, chunking.with_unit(encoder, inner.name))


def from_spec(spec: ModelSpec, settings: Settings) -> ChunkedRetriever:
    """Return the model of `FAMILY:ID?chunk=256&overlap=32`."""
    model, chunking = split_options(spec)
    assert chunking is not None, "the caller checks for the option chunk"
    return chunked(load_retriever(model, settings), chunking, result_name(spec))


def chunked_models(
    models: Sequence[str | ModelSpec | Retriever], chunk: str, overlap: int = 0
) -> list[str | ModelSpec | Retriever]:
    """Return models by name or as objects with passages of each size of a list; `none` is the model as it is."""
    if not chunk:
        with_chunks([], chunk, overlap)  # an overlap alone is an error
        return list(models)
    expanded: list[str | ModelSpec | Retriever] = []
    for model in models:
        if isinstance(model, str | ModelSpec):
            expanded += with_chunks([model], chunk, overlap)
            continue
        if isinstance(model, Composite):
            raise UsageError(
                f"{model.name} must be a name to be divided into passages, got a loaded model of several parts",
                hint="write the model as a name, or set chunk= in the names of its parts",
                option="chunk",
            )
        for size in chunk.split(","):
            options = {"chunk": size.strip(), "overlap": str(overlap)}
            whole = size.strip() in WHOLE_DOCUMENTS
            expanded.append(
                model if whole else chunked(model, Chunking.of(options, model.name), _named(model, options))
            )
    return expanded


def _named(model: Retriever, options: dict[str, str]) -> str:
    """Return the name of a loaded model with options of passages."""
    mark = "&" if "?" in model.name else "?"
    return f"{model.name}{mark}" + "&".join(f"{name}={value}" for name, value in options.items() if value != "0")
