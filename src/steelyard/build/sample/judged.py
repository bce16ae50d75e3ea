"""The judgements of the chosen queries: which documents of the corpus are positives, and which are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.build.sample.journal import SamplingContext
from steelyard.build.sample.queries import ChosenQueries
from steelyard.build.sample.scan import Scan


@dataclass(frozen=True, eq=False)
class Judged:
    """The judgements of the chosen queries on documents of the corpus: grade by position, by query row."""

    positives: Mapping[int, Mapping[int, int]]
    negatives: Mapping[int, Mapping[int, int]]
    omitted: frozenset[int]
    """Positions of positives beyond the limit: they must not be used as fill."""
    first: tuple[int, ...]
    """Positions of positives in the order in which they are taken: of two duplicates the first is kept."""


def judgements_of(chosen: ChosenQueries, context: SamplingContext, tally: Counter[str]) -> Judged:
    """Return the judgements of the chosen queries, at most `recipe.max_positives` positives for each."""
    source, scanned, recipe = context.source, context.scanned, context.recipe
    asked = np.isin(source.asked, chosen.rows)
    places = scanned.places[source.judged]
    tally["judgements_outside_corpus"] = int((asked & (places < 0)).sum())
    positives: dict[int, dict[int, int]] = {int(row): {} for row in chosen.rows}
    negatives: dict[int, dict[int, int]] = {int(row): {} for row in chosen.rows}
    for at in np.flatnonzero(asked & (places >= 0)):
        grade, place, row = int(source.grades[at]), int(places[at]), int(source.asked[at])
        (positives if grade > 0 else negatives)[row][place] = grade
    if recipe.order == "source":  # the published recipe uses the order of the judgements, and round-robin by ids
        ids = source.queries["_id"].to_pylist()
        negatives = dict(sorted(negatives.items(), key=lambda item: ids[item[0]]))
        first = tuple(dict.fromkeys(places[asked & (places >= 0) & (source.grades > 0)].tolist()))
    else:
        first = tuple(dict.fromkeys(place for grades in positives.values() for place in grades))
    everything = Judged(positives, negatives, frozenset(), first)
    return everything if recipe.max_positives is None else _capped(everything, recipe.max_positives, scanned, tally)


def _capped(judged: Judged, most: int, scanned: Scan, tally: Counter[str]) -> Judged:
    """Return the same with only the best-graded positives of each query.

    What another query keeps is in the corpus, so its judgement for this query is kept as well.
    """
    positives = judged.positives
    capped = {row: _best_graded(grades, scanned, most) for row, grades in positives.items()}
    kept = {place for grades in capped.values() for place in grades}
    omitted = {place for grades in positives.values() for place in grades} - kept
    final = {row: {place: g for place, g in grades.items() if place in kept} for row, grades in positives.items()}
    tally["positives_omitted"] = sum(map(len, positives.values())) - sum(map(len, final.values()))
    tally["positives_beyond_the_cap"] = sum(map(len, final.values())) - sum(map(len, capped.values()))
    first = tuple(place for place in judged.first if place in kept)
    return Judged(final, judged.negatives, frozenset(omitted), first)


def _best_graded(grades: Mapping[int, int], scanned: Scan, most: int) -> dict[int, int]:
    ordered = sorted(grades, key=lambda place: (-grades[place], int(scanned.draws[place])))
    return {place: grades[place] for place in ordered[:most]}
