"""A reranker that scores the passages of candidates: a document has the score of its best passages."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from steelyard.retrievers.chunking.chunking import Chunking, Passages, aggregate, by_documents, passages_of
from steelyard.retrievers.rerank.pair_scores import PairScorer, Scored
from steelyard.types import Int32, TaskInfo
from steelyard.types.protocols import ModelSettings, Reranker, Tick, Unjudged, no_tick


class PassageScorer:
    """Scores documents like `PairScorer`, which scores their passages here."""

    def __init__(self, inner: PairScorer, chunking: Chunking) -> None:
        self.inner = inner
        self.chunking = chunking.with_unit(inner.reranker, inner.reranker.name)
        self._tasks: WeakKeyDictionary[Unjudged, tuple[Unjudged, Passages]] = WeakKeyDictionary()

    @property
    def reranker(self) -> Reranker:
        """The model that scores pairs."""
        return self.inner.reranker

    @property
    def settings(self) -> ModelSettings:
        """Everything that could change a score."""
        return {**self.inner.settings, "chunking": dict(self.chunking.settings)}

    def for_task(self, info: TaskInfo) -> PassageScorer:
        """Return the scorer of the reranker for that task."""
        inner = self.inner.for_task(info)
        return self if inner is self.inner else PassageScorer(inner, self.chunking)

    def without_store(self) -> PassageScorer:
        """Return a scorer that computes every pair."""
        return PassageScorer(self.inner.without_store(), self.chunking)

    def score(self, task: Unjudged, rows: Int32, tick: Tick = no_tick) -> Scored:
        """Return the scores of each query's candidates: `rows` has a line for each query, -1 without a document."""
        if task not in self._tasks:
            passages = passages_of(task.corpus, self.chunking, self.reranker)
            self._tasks[task] = Unjudged(task.info, passages.corpus, task.queries), passages
        divided, passages = self._tasks[task]
        lists, owners = passages.of_documents(rows)
        counted = by_documents(tick, int((rows >= 0).sum()), int((lists >= 0).sum()))
        scored = self.inner.score(divided, lists, counted)
        order = np.argsort(-scored.scores, axis=1, kind="stable")
        best = np.minimum(self.chunking.best, passages.counts)
        documents, means = aggregate(
            np.take_along_axis(owners, order, axis=1), np.take_along_axis(scored.scores, order, axis=1), best
        )
        scores = np.full(rows.shape, -np.inf, dtype=np.float32)
        for line, (own, ranked, values) in enumerate(zip(rows, documents, means, strict=True)):
            by_row = dict(zip(ranked.tolist(), values.tolist(), strict=True))
            scores[line] = [by_row[row] if row >= 0 else -np.inf for row in own.tolist()]
        notes = {**scored.notes, "passages": passages.notes(self.chunking)}
        return Scored(scores, scored.reused, notes)
