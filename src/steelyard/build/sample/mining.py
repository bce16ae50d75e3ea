"""Search the whole corpus for the chosen queries with a model, in bounded memory.

The corpus is indexed and searched one portion at a time, together with the positives of the queries, and the best of
all portions are kept. Scores of a dense model are comparable across portions. BM25 weights terms by their rarity in
the portion, which is nearly the same in every portion of tens of thousands of documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.build.sample.journal import SamplingContext
from steelyard.build.sample.scan import Document, documents_of, numbered
from steelyard.types import Corpus, Float64, Int64, Queries, TaskInfo
from steelyard.types.protocols import Retriever, Tick

PORTION = 50_000
"""Documents that are indexed at a time."""


@dataclass(frozen=True, eq=False)
class MiningQueries:
    """The queries to search with, and their positives, which are never negatives."""

    queries: Queries
    owned: Mapping[int, list[int]]
    """For each query the positions of its positives."""
    positives: Mapping[int, Document]
    """The positives of all queries, by position."""


@dataclass(frozen=True, eq=False)
class Mined:
    """Positions of the best documents of each query that are not positives, best first, -1 for none."""

    places: Int64
    scores: Float64
    positive: Float64
    """The best score of a positive of the query; -inf if none is among the best."""

    @classmethod
    def nothing(cls, queries: int) -> Mined:
        """Return the result before the first search."""
        return cls(np.empty((queries, 0), dtype=np.int64), np.empty((queries, 0)), np.full(queries, -np.inf))

    def best(self, depth: int) -> Mined:
        """Return the best `depth` of each query; ties by position."""
        order = np.lexsort((self.places, -self.scores), axis=1)[:, :depth]
        places = np.take_along_axis(self.places, order, axis=1)
        return Mined(places, np.take_along_axis(self.scores, order, axis=1), self.positive)

    def joined(self, other: Mined) -> Mined:
        """Return both results together, in no order."""
        return Mined(
            np.concatenate([self.places, other.places], axis=1),
            np.concatenate([self.scores, other.scores], axis=1),
            np.maximum(self.positive, other.positive),
        )


def mine(retriever: Retriever, asked: MiningQueries, context: SamplingContext, *, step: str, depth: int) -> Mined:
    """Return the best `depth` documents of the corpus for each query; each finished portion is stored under `step`."""
    journal, tick = context.journal, context.progress(f"mining with {retriever.name}")
    best, done = Mined.nothing(len(asked.queries)), 0
    stored = journal.recall(step)
    if stored is not None and {"places", "scores", "positive", "done"} <= stored.keys():
        best, done = Mined(stored["places"], stored["scores"], stored["positive"]), int(stored["done"])
    most = max(map(len, asked.owned.values()), default=0)
    for end, portion in _portions(context, asked.positives, done, tick):
        fresh = _search(retriever, context.source.info, asked, portion, depth + most)
        best = best.joined(fresh).best(depth)
        journal.note(step, places=best.places, scores=best.scores, positive=best.positive, done=np.int64(end))
    return best


def _portions(
    context: SamplingContext, positives: Mapping[int, Document], done: int, tick: Tick
) -> Iterator[tuple[int, dict[int, Document]]]:
    """Yield the corpus after the first `done` positions, or the pool drawn from it, without the positives.

    Each portion comes with the position where it ends.
    """
    scanned, pool = context.scanned, context.recipe.pool
    free = scanned.free()
    if pool is not None:
        free[:] = False
        free[scanned.first(pool, without=[])] = True
    free[list(positives)] = False
    free[:done] = False
    waiting: dict[int, Document] = {}
    for start, columns in numbered(context.source):
        end = start + len(columns["id"])
        rows = np.flatnonzero(free[start:end])
        for row, document in zip(rows.tolist(), documents_of(columns, rows) if len(rows) else (), strict=True):
            if document.text:
                waiting[start + row] = document
        tick(end - start)
        if len(waiting) >= PORTION:
            yield end, waiting
            waiting = {}
    if waiting:
        yield len(scanned), waiting


def _search(
    retriever: Retriever, info: TaskInfo, asked: MiningQueries, portion: Mapping[int, Document], depth: int
) -> Mined:
    everything = [*portion.items(), *asked.positives.items()]
    place_of = {document.id: place for place, document in everything}
    documents = [document for _, document in everything]
    corpus = Corpus.of([d.id for d in documents], [d.body for d in documents], [d.title for d in documents])
    places = np.array([place_of[id_] for id_ in corpus.ids], dtype=np.int64)
    # Positives of other queries fill positions of a list, too; they are in the sample already.
    run = retriever.index(corpus, info).search(asked.queries, min(len(corpus), depth + len(asked.positives)))
    real = run.rows >= 0
    found = np.where(real, places[run.rows], -1)
    scores = np.where(real, run.scores.astype(np.float64), -np.inf)
    own = np.zeros(found.shape, dtype=bool)
    for query, positives in asked.owned.items():
        own[query] = np.isin(found[query], positives)
    best = np.where(own, scores, -np.inf).max(axis=1, initial=-np.inf)
    good = real & ~np.isin(found, list(asked.positives))
    return Mined(np.where(good, found, -1), np.where(good, scores, -np.inf), best).best(depth)
