"""Which documents a cut keeps: every positive, judged negatives, mined ones, and a fair draw of the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from steelyard.build.sample.hard_negatives import take_hard_negatives
from steelyard.build.sample.journal import Cutting
from steelyard.build.sample.judged import Judged, judgements_of
from steelyard.build.sample.queries import ChosenQueries
from steelyard.build.sample.scan import fetch
from steelyard.build.sample.selection import Basket, Selection, round_robin
from steelyard.errors import UsageError
from steelyard.types.protocols import Retriever


def choose_documents(chosen: ChosenQueries, miners: Sequence[Retriever], cutting: Cutting) -> Selection:
    """Fill the corpus of a cut, in the order in which the budget is spent; `miners` find the hard negatives."""
    recipe = cutting.recipe
    selection = Selection(Basket(recipe.documents, recipe.near, recipe.copies, recipe.exact))
    judged = judgements_of(chosen, cutting, selection.tally)
    stands = _take_judged(selection, judged, cutting)
    _judge(selection, judged, stands)
    if miners:
        take_hard_negatives(selection, judged, miners, cutting)
    _fill(selection, cutting)
    return selection


def _take_judged(selection: Selection, judged: Judged, cutting: Cutting) -> dict[int, int | None]:
    """Put judged documents into the basket; for each the place that stands for it, None where it was dropped."""
    recipe, basket = cutting.recipe, selection.basket
    wanted = set(judged.first)
    if len(wanted) > recipe.documents:
        raise UsageError(
            f"{cutting.source.info.task}: {len(wanted):,} positives do not fit into {recipe.documents:,} documents",
            hint="ask for more documents, fewer queries, or a cap with --max-positives",
        )
    # By rank, so that one query with many does not take all the room. Copies among the positives leave more room
    # than their number tells, and copies among the negatives take none.
    turns = dict.fromkeys(round_robin([list(grades) for grades in judged.negatives.values()]))
    free = (place for place in turns if place not in wanted and place not in judged.omitted)
    extra = list(islice(free, recipe.documents if recipe.judged_negatives else 0))
    found = fetch(cutting.source, [*wanted, *extra, *judged.omitted], cutting.watch("reading judged documents"))
    stands: dict[int, int | None] = {}
    for place in judged.first:
        stands[place] = basket.judged(place, found[place])
    for place in extra:
        if basket.room:
            stands[place] = basket.judged(place, found[place], "judged negative")
    for place in judged.omitted:
        basket.ban(found[place])
    selection.settled |= set(stands) | judged.omitted
    return stands


def _judge(selection: Selection, judged: Judged, stands: Mapping[int, int | None]) -> None:
    """The judgements of each query on the documents that were taken; of merged copies the best grade counts."""
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


def _fill(selection: Selection, cutting: Cutting) -> None:
    """Spend the rest of the budget; in a second round, should copies have left room, and so on."""
    recipe, scanned, basket = cutting.recipe, cutting.scanned, selection.basket
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
        found = fetch(cutting.source, places, cutting.watch("reading documents"))
        for place in places.tolist():
            if basket.room:
                basket.unjudged(place, found[place], "fill")
        tried.update(places.tolist())
