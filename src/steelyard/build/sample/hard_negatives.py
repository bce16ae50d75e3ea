"""Hard negatives: unjudged documents that models rank high, without those that may well be relevant.

The corpus is indexed and searched one portion at a time, together with the positives of the queries, and the best of
all portions are kept. Scores of a dense model are comparable across portions. BM25 weights terms by their rarity in
the portion, which is nearly the same in every portion of tens of thousands of documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.build.sample.journal import SamplingContext
from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.scan import Document, documents_of, fetch, numbered
from steelyard.build.sample.selection import Judged, Selection, round_robin
from steelyard.build.source.source import Source
from steelyard.text.pieces import UInt64, jaccard, pieces
from steelyard.types import Corpus, Float64, Int64, Queries, TaskInfo
from steelyard.types.protocols import Retriever, Tick


def take_hard_negatives(
    selection: Selection, judged: Judged, miners: Sequence[Retriever], context: SamplingContext
) -> None:
    """Add the hard negatives of each model in turn, best first, one per query and round."""
    source, recipe, corpus = context.source, context.recipe, selection.corpus
    queries = _queries_of(selection, source)
    depth = 2 * recipe.hard_negatives + 10  # a document that the guard rejects needs a successor
    finds = [mine(miner, queries, context, step=f"mining-{n}", depth=depth) for n, miner in enumerate(miners)]
    places = [place for find in finds for place in find.places[find.places >= 0]]
    mined = fetch(source, places, context.progress("reading mined documents"))
    guard = _Guard(recipe, mined, corpus.documents.keys() | judged.omitted, selection.tally)
    lists = []
    for query, own in queries.owned.items():
        positives = [pieces(queries.positives[place].text) for place in own]
        lists.append(guard.passed(_offers(query, finds), positives))
    for place in round_robin(lists):
        if corpus.room and place not in selection.decided:
            corpus.unjudged(place, mined[place], "hard negative")
            selection.decided.add(place)


def _queries_of(selection: Selection, source: Source) -> MiningQueries:
    """Return the queries of the sample with their positives."""
    ids, texts = source.queries["_id"].to_pylist(), source.queries["text"].to_pylist()
    rows = list(selection.judgements)
    queries = Queries(tuple(ids[row] for row in rows), tuple(texts[row] for row in rows))
    owned = {
        query: [place for place, grade in selection.judgements[row].items() if grade > 0]
        for query, row in enumerate(rows)
    }
    positives = {place: selection.corpus.documents[place] for places in owned.values() for place in places}
    return MiningQueries(queries, owned, positives)


@dataclass(frozen=True)
class _Offer:
    """A document that a model found for a query."""

    place: int
    score: float
    positive: float
    """The best score of the model for a positive of the query."""


def _offers(query: int, finds: Sequence[Mined]) -> Iterator[_Offer]:
    """Yield the documents found for the query, models in turn."""
    return round_robin(
        [
            [
                _Offer(int(place), score, find.positive[query])
                for place, score in zip(find.places[query], find.scores[query], strict=True)
            ]
            for find in finds
        ]
    )


@dataclass(frozen=True, eq=False)
class _Guard:
    """Rejects what may well be relevant, and counts it."""

    recipe: Recipe
    mined: Mapping[int, Document]
    known: Collection[int]
    """Positions that are already in the sample, or excluded from it."""
    tally: Counter[str]

    def passed(self, offers: Iterator[_Offer], positives: Sequence[UInt64]) -> list[int]:
        """Return the positions of a query's offers that may be used as negatives, as many as the recipe asks for."""
        taken: dict[int, None] = {}
        for offer in offers:
            if len(taken) == self.recipe.hard_negatives:
                break
            if offer.place < 0 or offer.place in taken or offer.place in self.known:
                continue
            if (doubt := self._doubt(offer, positives)) is None:
                taken[offer.place] = None
            else:
                self.tally[doubt] += 1
        return list(taken)

    def _doubt(self, offer: _Offer, positives: Sequence[UInt64]) -> str | None:
        """Return why the document may be relevant; None if nothing suggests it."""
        margin, similarity = self.recipe.guard_margin, self.recipe.guard_similarity
        if margin is not None and offer.score > margin * offer.positive:
            return "guarded_by_score"
        if similarity:
            text = pieces(self.mined[offer.place].text)
            if any(jaccard(text, positive) >= similarity for positive in positives):
                return "guarded_by_similarity"
        return None


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


def mine(retriever: Retriever, mining: MiningQueries, context: SamplingContext, *, step: str, depth: int) -> Mined:
    """Return the best `depth` documents of the corpus for each query; each finished portion is stored under `step`."""
    journal, tick = context.journal, context.progress(f"mining with {retriever.name}")
    best, done = Mined.nothing(len(mining.queries)), 0
    stored = journal.recall(step)
    if stored is not None and {"places", "scores", "positive", "done"} <= stored.keys():
        best, done = Mined(stored["places"], stored["scores"], stored["positive"]), int(stored["done"])
    most = max(map(len, mining.owned.values()), default=0)
    for end, portion in _portions(context, mining.positives, done, tick):
        fresh = _search(retriever, context.source.info, mining, portion, depth + most)
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
    retriever: Retriever, info: TaskInfo, mining: MiningQueries, portion: Mapping[int, Document], depth: int
) -> Mined:
    everything = [*portion.items(), *mining.positives.items()]
    place_of = {document.id: place for place, document in everything}
    documents = [document for _, document in everything]
    corpus = Corpus.of([d.id for d in documents], [d.body for d in documents], [d.title for d in documents])
    places = np.array([place_of[id_] for id_ in corpus.ids], dtype=np.int64)
    # Positives of other queries fill positions of a list, too; they are in the sample already.
    run = retriever.index(corpus, info).search(mining.queries, min(len(corpus), depth + len(mining.positives)))
    real = run.rows >= 0
    results = np.where(real, places[run.rows], -1)
    scores = np.where(real, run.scores.astype(np.float64), -np.inf)
    own = np.zeros(results.shape, dtype=bool)
    for query, positives in mining.owned.items():
        own[query] = np.isin(results[query], positives)
    best = np.where(own, scores, -np.inf).max(axis=1, initial=-np.inf)
    good = real & ~np.isin(results, list(mining.positives))
    return Mined(np.where(good, results, -1), np.where(good, scores, -np.inf), best).best(depth)
