"""What a model finds for the chosen queries anywhere in the corpus, in bounded memory.

The corpus is indexed and searched a portion at a time, the positives of the queries beside it, and the best of all
portions are kept. Scores of a dense model are comparable across portions. BM25 weighs terms by how rare they are in
the portion, which among tens of thousands of documents is nearly the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.build.sample.journal import Cutting
from steelyard.build.sample.scan import Document, documents_of, numbered
from steelyard.types import Corpus, Float64, Int64, Queries, TaskInfo
from steelyard.types.protocols import Retriever, Tick

PORTION = 50_000
"""Documents that are indexed at a time."""


@dataclass(frozen=True, eq=False)
class Asked:
    """The queries to search for, and their positives, which nobody takes for negatives."""

    queries: Queries
    owned: Mapping[int, list[int]]
    """For each query the places of its positives."""
    positives: Mapping[int, Document]
    """The positives of all queries, by place."""


@dataclass(frozen=True, eq=False)
class Mined:
    """Places of the best documents of each query that are not positives, best first, -1 where there are no more."""

    places: Int64
    scores: Float64
    positive: Float64
    """The best score that a positive of the query got; -inf where none came among the best."""

    @classmethod
    def nothing(cls, queries: int) -> Mined:
        """What is found before the first search."""
        return cls(np.empty((queries, 0), dtype=np.int64), np.empty((queries, 0)), np.full(queries, -np.inf))

    def best(self, depth: int) -> Mined:
        """The best `depth` of each query; ties by place."""
        order = np.lexsort((self.places, -self.scores), axis=1)[:, :depth]
        places = np.take_along_axis(self.places, order, axis=1)
        return Mined(places, np.take_along_axis(self.scores, order, axis=1), self.positive)

    def joined(self, other: Mined) -> Mined:
        """Both finds, one beside the other, in no order."""
        return Mined(
            np.concatenate([self.places, other.places], axis=1),
            np.concatenate([self.scores, other.scores], axis=1),
            np.maximum(self.positive, other.positive),
        )


def mine(retriever: Retriever, asked: Asked, cutting: Cutting, *, step: str, depth: int) -> Mined:
    """The best `depth` documents of the corpus for each query; each portion is noted under `step` when it is done."""
    journal, tick = cutting.journal, cutting.watch(f"mining with {retriever.name}")
    found, done = Mined.nothing(len(asked.queries)), 0
    if (kept := journal.recall(step)) is not None:
        found, done = Mined(kept["places"], kept["scores"], kept["positive"]), int(kept["done"])
    most = max(map(len, asked.owned.values()), default=0)
    for end, portion in _portions(cutting, asked.positives, done, tick):
        fresh = _search(retriever, cutting.source.info, asked, portion, depth + most)
        found = found.joined(fresh).best(depth)
        journal.note(step, places=found.places, scores=found.scores, positive=found.positive, done=np.int64(end))
    return found


def _portions(
    cutting: Cutting, positives: Mapping[int, Document], done: int, tick: Tick
) -> Iterator[tuple[int, dict[int, Document]]]:
    """The corpus after the first `done` places, or the pool that was drawn from it, without the positives.

    With each portion comes the place where it ends.
    """
    scanned, pool = cutting.scanned, cutting.recipe.pool
    free = scanned.free()
    if pool is not None:
        free[:] = False
        free[scanned.first(pool, without=[])] = True
    free[list(positives)] = False
    free[:done] = False
    waiting: dict[int, Document] = {}
    for start, columns in numbered(cutting.source):
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


def _search(retriever: Retriever, info: TaskInfo, asked: Asked, portion: Mapping[int, Document], depth: int) -> Mined:
    everything = [*portion.items(), *asked.positives.items()]
    place_of = {document.id: place for place, document in everything}
    documents = [document for _, document in everything]
    corpus = Corpus.of([d.id for d in documents], [d.body for d in documents], [d.title for d in documents])
    places = np.array([place_of[id_] for id_ in corpus.ids], dtype=np.int64)
    # Positives of other queries take places in a list, too; they are in the cut already.
    run = retriever.index(corpus, info).search(asked.queries, min(len(corpus), depth + len(asked.positives)))
    there = run.rows >= 0
    found = np.where(there, places[run.rows], -1)
    scores = np.where(there, run.scores.astype(np.float64), -np.inf)
    own = np.zeros(found.shape, dtype=bool)
    for query, positives in asked.owned.items():
        own[query] = np.isin(found[query], positives)
    best = np.where(own, scores, -np.inf).max(axis=1, initial=-np.inf)
    good = there & ~np.isin(found, list(asked.positives))
    return Mined(np.where(good, found, -1), np.where(good, scores, -np.inf), best).best(depth)
