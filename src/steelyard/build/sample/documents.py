"""Choose the documents of a sample: every positive, judged negatives, mined ones, and a random draw of the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from steelyard.build.sample.hard_negatives import take_hard_negatives
from steelyard.build.sample.journal import SamplingContext
from steelyard.build.sample.queries import ChosenQueries
from steelyard.build.sample.scan import fetch
from steelyard.build.sample.selection import Judged, SampleCorpus, Selection, judgements_of, round_robin
from steelyard.errors import UsageError
from steelyard.types.protocols import Retriever


def choose_documents(chosen: ChosenQueries, miners: Sequence[Retriever], context: SamplingContext) -> Selection:
    """Fill the corpus of a sample, in the order in which the budget is spent; `miners` find the hard negatives."""
    recipe = context.recipe
    selection = Selection(SampleCorpus(recipe.documents, recipe.near, recipe.copies, recipe.exact))
    judged = judgements_of(chosen, context, selection.tally)
    representatives = _take_judged(selection, judged, context)
    _judge(selection, judged, representatives)
    if miners:
        take_hard_negatives(selection, judged, miners, context)
    _fill(selection, context)
    return selection


def _take_judged(selection: Selection, judged: Judged, context: SamplingContext) -> dict[int, int | None]:
    """Take the judged documents; return for each the position that represents it, None if it was dropped."""
    recipe, corpus = context.recipe, selection.corpus
    positives = set(judged.first)
    if len(positives) > recipe.documents:
        raise UsageError(
            f"{context.source.info.task}: {len(positives):,} positives must fit into {recipe.documents:,} documents",
            hint="ask for more documents or fewer queries, or limit positives with --max-positives",
        )
    # By rank, so that one query with many does not take all the room. Duplicates among the positives leave more room
    # than their number suggests, and duplicates among the negatives take none.
    turns = dict.fromkeys(round_robin([list(grades) for grades in judged.negatives.values()]))
    free = (place for place in turns if place not in positives and place not in judged.omitted)
    extra = list(islice(free, recipe.documents if recipe.judged_negatives else 0))
    documents = fetch(
        context.source, [*positives, *extra, *judged.omitted], context.progress("reading judged documents")
    )
    representatives: dict[int, int | None] = {}
    for place in judged.first:
        representatives[place] = corpus.judged(place, documents[place])
    for place in extra:
        if corpus.room:
            representatives[place] = corpus.judged(place, documents[place], "judged negative")
    for place in judged.omitted:
        corpus.ban(documents[place])
    selection.decided |= set(representatives) | judged.omitted
    return representatives


def _judge(selection: Selection, judged: Judged, representatives: Mapping[int, int | None]) -> None:
    """Set the judgements of each query on the documents taken; of merged duplicates the best grade counts."""
    for row, grades in judged.positives.items():
        own: dict[int, int] = {}
        for place, grade in [*grades.items(), *judged.negatives[row].items()]:
            document = representatives.get(place)
            if document is not None:
                own[document] = max(grade, own.get(document, grade))
        if any(grade > 0 for grade in own.values()):
            selection.judgements[row] = own
        else:
            selection.tally["queries_that_lost_their_positives"] += 1
    offered = sum(map(len, judged.negatives.values()))
    used = sum(grade <= 0 for grades in selection.judgements.values() for grade in grades.values())
    selection.tally["judged_negatives_left_out"] = offered - used


def _fill(selection: Selection, context: SamplingContext) -> None:
    """Spend the rest of the budget, in further rounds if duplicates left room."""
    recipe, scanned, corpus = context.recipe, context.scanned, selection.corpus
    tried = set(corpus.documents) | selection.decided
    in_order = recipe.order == "source"
    # The published recipe reads no further than this into its source, empty documents not counted.
    reach = max(3 * recipe.documents, recipe.documents + len(tried)) if in_order else len(scanned)
    while corpus.room:
        limit = reach + corpus.tally["empty"]
        count = corpus.room + corpus.room // 4 + 50
        places = scanned.first(count, list(tried), source_order=in_order)
        places = places[places < limit]
        if not len(places):
            selection.tally["documents_short_of_the_budget"] = corpus.room
            return
        documents = fetch(context.source, places, context.progress("reading documents"))
        for place in places.tolist():
            if corpus.room:
                corpus.unjudged(place, documents[place], "fill")
        tried.update(places.tolist())
