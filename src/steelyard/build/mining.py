"""Hard negatives: what a model finds for the chosen queries anywhere in the corpus, in bounded memory.

The corpus is indexed and searched a portion at a time, the positives of the queries beside it, and the best of all
portions are kept. Scores of a dense model are comparable across portions. BM25 weighs terms by how rare they are in
the portion, which among tens of thousands of documents is nearly the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.build.journal import Journal
from steelyard.build.scan import Document, Scan, documents_of, numbered
from steelyard.build.source import Source
from steelyard.protocols import Retriever, Tick, no_tick
from steelyard.types import Corpus, Float64, Int64, Queries, TaskInfo

PORTION = 50_000
"""Documents that are indexed at a time."""


@dataclass(frozen=True, eq=False)
class Mined:
    """Places of the best documents of each query that are not positives, best first, -1 where there are no more."""

    places: Int64
    scores: Float64
    positive: Float64
    """The best score that a positive of the query got; -inf where none came among the best."""


def mine(
    source: Source,
    scanned: Scan,
    retriever: Retriever,
    queries: Queries,
    positives: Mapping[int, Document],
    owned: Mapping[int, list[int]],
    *,
    depth: int,
    pool: int | None,
    journal: Journal,
    step: str,
    tick: Tick = no_tick,
) -> Mined:
    """Search the corpus for each query.

    `positives` are the documents, by place, that nobody takes for a negative; `owned` tells the places of those of
    each query. Every portion is noted in the journal under `step` when it is done.
    """
    found = Mined(
        np.full((len(queries), 0), -1, dtype=np.int64),
        np.full((len(queries), 0), -np.inf),
        np.full(len(queries), -np.inf),
    )
    done = 0
    if (kept := journal.recall(step)) is not None:
        found, done = Mined(kept["places"], kept["scores"], kept["positive"]), int(kept["done"])
    most = max(map(len, owned.values()), default=0)
    for end, portion in _portions(source, scanned, positives, pool, done, tick):
        fresh = _search(retriever, source.info, queries, portion, positives, owned, depth + most)
        found = _best(found, fresh, depth)
        journal.note(step, places=found.places, scores=found.scores, positive=found.positive, done=np.int64(end))
    return found


def _portions(
    source: Source, scanned: Scan, positives: Mapping[int, Document], pool: int | None, done: int, tick: Tick
) -> Iterator[tuple[int, dict[int, Document]]]:
    """The corpus after the first `done` places, or the pool that was drawn from it, without the positives.

    With each portion comes the place where it ends.
    """
    free = scanned.free()
    if pool is not None:
        free[:] = False
        free[scanned.first(pool, without=[])] = True
    free[list(positives)] = False
    free[:done] = False
    waiting: dict[int, Document] = {}
    for start, columns in numbered(source):
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
    retriever: Retriever,
    info: TaskInfo,
    queries: Queries,
    portion: Mapping[int, Document],
    positives: Mapping[int, Document],
    owned: Mapping[int, list[int]],
    depth: int,
) -> Mined:
    everything = [*portion.items(), *positives.items()]
    place_of = {document.id: place for place, document in everything}
    documents = [document for _, document in everything]
    corpus = Corpus.of([d.id for d in documents], [d.body for d in documents], [d.title for d in documents])
    places = np.array([place_of[id_] for id_ in corpus.ids], dtype=np.int64)
    # Positives of other queries take places in a list, too; they are in the cut already.
    run = retriever.index(corpus, info).search(queries, min(len(corpus), depth + len(positives)))
    there = run.rows >= 0
    found = np.where(there, places[run.rows], -1)
    scores = np.where(there, run.scores.astype(np.float64), -np.inf)
    own = np.zeros(found.shape, dtype=bool)
    for query, mine in owned.items():
        own[query] = np.isin(found[query], mine)
    best = np.where(own, scores, -np.inf).max(axis=1, initial=-np.inf)
    good = there & ~np.isin(found, list(positives))
    return _best(
        Mined(np.where(good, found, -1), np.where(good, scores, -np.inf), best),
        Mined(np.empty((len(queries), 0), dtype=np.int64), np.empty((len(queries), 0)), best),
        depth,
    )


def _best(one: Mined, other: Mined, depth: int) -> Mined:
    """The best of two finds; ties by place."""
    places = np.concatenate([one.places, other.places], axis=1)
    scores = np.concatenate([one.scores, other.scores], axis=1)
    order = np.lexsort((places, -scores), axis=1)[:, :depth]
    return Mined(
        np.take_along_axis(places, order, axis=1),
        np.take_along_axis(scores, order, axis=1),
        np.maximum(one.positive, other.positive),
    )
