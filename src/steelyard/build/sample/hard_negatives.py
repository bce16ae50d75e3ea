"""Hard negatives: unjudged documents that models rank high, without those that may well be relevant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from steelyard.build.sample.journal import SamplingContext
from steelyard.build.sample.judged import Judged
from steelyard.build.sample.mining import Mined, MiningQueries, mine
from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.scan import Document, fetch
from steelyard.build.sample.selection import Selection, round_robin
from steelyard.build.source.source import Source
from steelyard.text.pieces import UInt64, jaccard, pieces
from steelyard.types import Queries
from steelyard.types.protocols import Retriever


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
