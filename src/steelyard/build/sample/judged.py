"""What the judgements of the chosen queries say of the corpus: which documents are positives, and which are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.build.sample.journal import Cutting
from steelyard.build.sample.queries import ChosenQueries
from steelyard.build.sample.scan import Scan


@dataclass(frozen=True, eq=False)
class Judged:
    """The judgements of the chosen queries that reach into the corpus: grade by place, by query row."""

    positives: Mapping[int, Mapping[int, int]]
    negatives: Mapping[int, Mapping[int, int]]
    omitted: frozenset[int]
    """Places of positives beyond the cap: they must not come back as fill."""
    first: tuple[int, ...]
    """Places of positives in the order in which they are taken: of two copies the first stays."""


def judgements_of(chosen: ChosenQueries, cutting: Cutting, tally: Counter[str]) -> Judged:
    """The judgements of the chosen queries, at most `recipe.max_positives` of them positive for each."""
    source, scanned, recipe = cutting.source, cutting.scanned, cutting.recipe
    asked = np.isin(source.asked, chosen.rows)
    places = scanned.places[source.judged]
    tally["judgements_outside_corpus"] = int((asked & (places < 0)).sum())
    positives: dict[int, dict[int, int]] = {int(row): {} for row in chosen.rows}
    negatives: dict[int, dict[int, int]] = {int(row): {} for row in chosen.rows}
    for at in np.flatnonzero(asked & (places >= 0)):
        grade, place, row = int(source.grades[at]), int(places[at]), int(source.asked[at])
        (positives if grade > 0 else negatives)[row][place] = grade
    if recipe.order == "source":  # the published recipe goes by the judgements, and round-robin by ids
        ids = source.queries["_id"].to_pylist()
        negatives = dict(sorted(negatives.items(), key=lambda item: ids[item[0]]))
        first = tuple(dict.fromkeys(places[asked & (places >= 0) & (source.grades > 0)].tolist()))
    else:
        first = tuple(dict.fromkeys(place for grades in positives.values() for place in grades))
    everything = Judged(positives, negatives, frozenset(), first)
    return everything if recipe.max_positives is None else _capped(everything, recipe.max_positives, scanned, tally)


def _capped(judged: Judged, most: int, scanned: Scan, tally: Counter[str]) -> Judged:
    """The same with the best-graded positives of each query.

    What another query keeps stays in the corpus, so it stays judged for this one as well.
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
