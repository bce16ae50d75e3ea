"""Which documents a cut keeps: every positive, judged negatives, mined ones, and a fair draw of the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import TypeVar

import numpy as np

from steelyard.build.basket import Basket
from steelyard.build.copies import UInt64, jaccard, pieces
from steelyard.build.journal import Journal
from steelyard.build.mining import Mined, mine
from steelyard.build.queries import ChosenQueries
from steelyard.build.recipe import Recipe
from steelyard.build.scan import Document, Scan, fetch
from steelyard.build.source import Source
from steelyard.errors import UsageError
from steelyard.protocols import Retriever, Tick, no_tick
from steelyard.types import Queries

Watch = Callable[[str], Tick]
"""Called with the name of a stage; what it returns is called with the documents read since the last call."""

T = TypeVar("T")


def unwatched(stage: str) -> Tick:
    """The watch of someone who does not look."""
    return no_tick


@dataclass(eq=False)
class Selection:
    """The corpus of the cut, and the judgements of each query (by row of the source) on it (by place)."""

    basket: Basket
    judgements: dict[int, dict[int, int]]
    tally: Counter[str] = field(default_factory=Counter)
    settled: set[int] = field(default_factory=set)
    """Places that were decided upon, taken or not."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The judgements of the chosen queries that reach into the corpus: grade by place, by query row."""

    positives: Mapping[int, Mapping[int, int]]
    negatives: Mapping[int, Mapping[int, int]]
    omitted: frozenset[int]
    """Places of positives beyond the cap: they must not come back as fill."""
    first: tuple[int, ...]
    """Places of positives in the order in which they are taken: of two copies the first stays."""


def choose_documents(
    source: Source,
    scanned: Scan,
    chosen: ChosenQueries,
    recipe: Recipe,
    miners: Sequence[Retriever],
    journal: Journal,
    watch: Watch = unwatched,
) -> Selection:
    """Fill the corpus of a cut, in the order in which the budget is spent; `miners` find the hard negatives."""
    selection = Selection(Basket(recipe.documents, recipe.near, recipe.copies, recipe.exact), {})
    judged = judgements_of(source, scanned, chosen, recipe, selection.tally)
    _take_judged(source, judged, recipe, selection, watch)
    if miners:
        _take_mined(source, scanned, judged, recipe, miners, selection, journal, watch)
    _fill(source, scanned, recipe, selection, watch)
    return selection


def judgements_of(source: Source, scanned: Scan, chosen: ChosenQueries, recipe: Recipe, tally: Counter[str]) -> Judged:
    """The judgements of the chosen queries, at most `recipe.max_positives` of them positive for each."""
    mine = np.isin(source.asked, chosen.rows)
    places = scanned.places[source.judged]
    tally["judgements_outside_corpus"] = int((mine & (places < 0)).sum())
    positives: dict[int, dict[int, int]] = {int(row): {} for row in chosen.rows}
    negatives: dict[int, dict[int, int]] = {int(row): {} for row in chosen.rows}
    for at in np.flatnonzero(mine & (places >= 0)):
        grade, place, row = int(source.grades[at]), int(places[at]), int(source.asked[at])
        (positives if grade > 0 else negatives)[row][place] = grade
    if recipe.order == "source":  # the published recipe goes by the judgements, and round-robin by ids
        ids = source.queries["_id"].to_pylist()
        negatives = dict(sorted(negatives.items(), key=lambda item: ids[item[0]]))
        first = tuple(dict.fromkeys(places[mine & (places >= 0) & (source.grades > 0)].tolist()))
    else:
        first = tuple(dict.fromkeys(place for grades in positives.values() for place in grades))
    if recipe.max_positives is None:
        return Judged(positives, negatives, frozenset(), first)
    capped = {row: _best_graded(grades, scanned, recipe.max_positives) for row, grades in positives.items()}
    kept = {place for grades in capped.values() for place in grades}
    omitted = {place for grades in positives.values() for place in grades} - kept
    # What another query keeps stays in the corpus, so it stays judged for this one as well.
    final = {row: {place: g for place, g in grades.items() if place in kept} for row, grades in positives.items()}
    tally["positives_omitted"] = sum(map(len, positives.values())) - sum(map(len, final.values()))
    tally["positives_beyond_the_cap"] = sum(map(len, final.values())) - sum(map(len, capped.values()))
    return Judged(final, negatives, frozenset(omitted), tuple(place for place in first if place in kept))


def _best_graded(grades: Mapping[int, int], scanned: Scan, most: int) -> dict[int, int]:
    ordered = sorted(grades, key=lambda place: (-grades[place], int(scanned.draws[place])))
    return {place: grades[place] for place in ordered[:most]}


def _take_judged(source: Source, judged: Judged, recipe: Recipe, selection: Selection, watch: Watch) -> None:
    basket = selection.basket
    wanted = set(judged.first)
    if len(wanted) > recipe.documents:
        raise UsageError(
            f"{source.info.task}: {len(wanted):,} positives do not fit into {recipe.documents:,} documents",
            hint="ask for more documents, fewer queries, or a cap with --max-positives",
        )
    # Round-robin by rank, so that one query with many does not take all the room. Copies among the positives leave
    # more room than their number tells, and copies among the negatives take none.
    turns = dict.fromkeys(_round_robin([list(grades) for grades in judged.negatives.values()]))
    free = (place for place in turns if place not in wanted and place not in judged.omitted)
    extra = list(islice(free, recipe.documents if recipe.judged_negatives else 0))
    found = fetch(source, [*wanted, *extra, *judged.omitted], watch("reading judged documents"))
    stands: dict[int, int | None] = {}
    for place in judged.first:
        stands[place] = basket.judged(place, found[place])
    for place in extra:
        if basket.room:
            stands[place] = basket.judged(place, found[place], "judged negative")
    for place in judged.omitted:
        basket.ban(found[place])
    selection.settled |= set(stands) | judged.omitted
    for row, grades in judged.positives.items():
        kept: dict[int, int] = {}
        for place, grade in [*grades.items(), *judged.negatives[row].items()]:
            stand = stands.get(place)
            if stand is not None:
                kept[stand] = max(grade, kept.get(stand, grade))
        if any(grade > 0 for grade in kept.values()):
            selection.judgements[row] = kept
        else:
            selection.tally["queries_that_lost_their_positives"] += 1
    offered = sum(map(len, judged.negatives.values()))
    there = sum(grade <= 0 for grades in selection.judgements.values() for grade in grades.values())
    selection.tally["judged_negatives_left_out"] = offered - there


def _take_mined(
    source: Source,
    scanned: Scan,
    judged: Judged,
    recipe: Recipe,
    miners: Sequence[Retriever],
    selection: Selection,
    journal: Journal,
    watch: Watch,
) -> None:
    """The hard negatives of each model in turn, best first, each query once a round."""
    basket = selection.basket
    rows = list(selection.judgements)
    ids, texts = source.queries["_id"].to_pylist(), source.queries["text"].to_pylist()
    queries = Queries(tuple(ids[row] for row in rows), tuple(texts[row] for row in rows))
    owned = {q: [p for p, grade in selection.judgements[row].items() if grade > 0] for q, row in enumerate(rows)}
    known = {place: basket.documents[place] for places in owned.values() for place in places}
    # What the guard may turn down must have a successor.
    depth = 2 * recipe.hard_negatives + 10
    finds = [
        mine(
            source, scanned, miner, queries, known, owned, depth=depth, pool=recipe.pool,
            journal=journal, step=f"mining-{number}", tick=watch(f"mining with {miner.name}"),
        )
        for number, miner in enumerate(miners)
    ]  # fmt: skip
    found = fetch(
        source, [p for find in finds for p in find.places[find.places >= 0]], watch("reading mined documents")
    )
    lists = [_guarded(q, finds, found, owned[q], basket, judged, recipe, selection.tally) for q in range(len(rows))]
    for place in _round_robin(lists):
        if basket.room and place not in selection.settled:
            basket.unjudged(place, found[place], "hard negative")
            selection.settled.add(place)


def _guarded(
    query: int,
    finds: Sequence[Mined],
    found: Mapping[int, Document],
    own: Iterable[int],
    basket: Basket,
    judged: Judged,
    recipe: Recipe,
    tally: Counter[str],
) -> list[int]:
    """The mined places of one query, models in turn, without those that may well be relevant."""
    positives: list[UInt64] = [pieces(basket.documents[place].text) for place in own]
    taken: dict[int, None] = {}
    turns = _round_robin([list(zip(find.places[query], find.scores[query], strict=True)) for find in finds])
    owners = _round_robin([[find.positive[query]] * find.places.shape[1] for find in finds])
    for (place, score), positive in zip(turns, owners, strict=True):
        place = int(place)
        if len(taken) == recipe.hard_negatives:
            break
        if place < 0 or place in taken or place in basket.documents or place in judged.omitted:
            continue
        if recipe.guard_margin is not None and score > recipe.guard_margin * positive:
            tally["guarded_by_score"] += 1
            continue
        mine = pieces(found[place].text)
        if recipe.guard_similarity and any(jaccard(mine, one) >= recipe.guard_similarity for one in positives):
            tally["guarded_by_similarity"] += 1
            continue
        taken[place] = None
    return list(taken)


def _fill(source: Source, scanned: Scan, recipe: Recipe, selection: Selection, watch: Watch) -> None:
    """Spend the rest of the budget; in a second round, should copies have left room, and so on."""
    basket = selection.basket
    tried = set(basket.documents) | selection.settled
    in_order = recipe.order == "source"
    # The published recipe looks no further into its source than this, empty documents not counted.
    reach = max(3 * recipe.documents, recipe.documents + len(tried)) if in_order else len(scanned)
    while basket.room:
        limit = reach + basket.tally["empty"]
        wanted = basket.room + basket.room // 4 + 50
        places = scanned.first(wanted, list(tried), source_order=in_order)
        places = places[places < limit]
        if not len(places):
            selection.tally["documents_short_of_the_budget"] = basket.room
            return
        found = fetch(source, places, watch("reading documents"))
        for place in places.tolist():
            if basket.room:
                basket.unjudged(place, found[place], "fill")
        tried.update(places.tolist())


def _round_robin(lists: Iterable[Sequence[T]]) -> Iterator[T]:
    """The first of each list, then the second of each ..."""
    missing = object()
    for turn in zip_longest(*lists, fillvalue=missing):
        for item in turn:
            if item is not missing:
                yield item  # type: ignore[misc]
