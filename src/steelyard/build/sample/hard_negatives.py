"""Hard negatives: what models take for relevant and nobody judged, without what may well be relevant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from steelyard.build.sample.journal import Cutting
from steelyard.build.sample.judged import Judged
from steelyard.build.sample.mining import Asked, Mined, mine
from steelyard.build.sample.near_duplicates import UInt64, jaccard, pieces
from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.scan import Document, fetch
from steelyard.build.sample.selection import Selection, round_robin
from steelyard.build.source.source import Source
from steelyard.types import Queries
from steelyard.types.protocols import Retriever


def take_hard_negatives(selection: Selection, judged: Judged, miners: Sequence[Retriever], cutting: Cutting) -> None:
    """Add the hard negatives of each model in turn, best first, each query once a round."""
    source, recipe, basket = cutting.source, cutting.recipe, selection.basket
    asked = _asked(selection, source)
    depth = 2 * recipe.hard_negatives + 10  # what the guard turns down must have a successor
    finds = [mine(miner, asked, cutting, step=f"mining-{n}", depth=depth) for n, miner in enumerate(miners)]
    places = [place for find in finds for place in find.places[find.places >= 0]]
    mined = fetch(source, places, cutting.watch("reading mined documents"))
    guard = _Guard(recipe, mined, basket.documents.keys() | judged.omitted, selection.tally)
    lists = []
    for query, own in asked.owned.items():
        positives = [pieces(asked.positives[place].text) for place in own]
        lists.append(guard.passed(_offers(query, finds), positives))
    for place in round_robin(lists):
        if basket.room and place not in selection.settled:
            basket.unjudged(place, mined[place], "hard negative")
            selection.settled.add(place)


def _asked(selection: Selection, source: Source) -> Asked:
    """The queries of the cut with their positives."""
    ids, texts = source.queries["_id"].to_pylist(), source.queries["text"].to_pylist()
    rows = list(selection.judgements)
    queries = Queries(tuple(ids[row] for row in rows), tuple(texts[row] for row in rows))
    owned = {
        query: [place for place, grade in selection.judgements[row].items() if grade > 0]
        for query, row in enumerate(rows)
    }
    positives = {place: selection.basket.documents[place] for places in owned.values() for place in places}
    return Asked(queries, owned, positives)


@dataclass(frozen=True)
class _Offer:
    """A document that a model found for a query."""

    place: int
    score: float
    positive: float
    """The best score that the model gave to a positive of the query."""


def _offers(query: int, finds: Sequence[Mined]) -> Iterator[_Offer]:
    """What was found for the query, models in turn."""
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
    """Turns down what may well be relevant, and counts it."""

    recipe: Recipe
    mined: Mapping[int, Document]
    known: Collection[int]
    """Places that are in the cut already, or kept out of it."""
    tally: Counter[str]

    def passed(self, offers: Iterator[_Offer], positives: Sequence[UInt64]) -> list[int]:
        """The places of a query's offers that may be taken for negatives, as many as the recipe wants."""
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
        """Why the document may be relevant; None where nothing speaks for it."""
        margin, similarity = self.recipe.guard_margin, self.recipe.guard_similarity
        if margin is not None and offer.score > margin * offer.positive:
            return "guarded_by_score"
        if similarity:
            text = pieces(self.mined[offer.place].text)
            if any(jaccard(text, positive) >= similarity for positive in positives):
                return "guarded_by_similarity"
        return None
