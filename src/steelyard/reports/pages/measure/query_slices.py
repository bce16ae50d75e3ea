"""Slices of the queries by language, script, length and overlap, with tests of their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from steelyard import stats
from steelyard.reports.pages.measure.page_inputs import Kind
from steelyard.reports.pages.measure.part_values import SliceValues
from steelyard.reports.pages.measure.profile_scores import Measured, by_kind
from steelyard.reports.pages.measure.significance import randomisation, welch
from steelyard.reports.pages.measure.text_languages import Reading, pair_name
from steelyard.reports.pages.thresholds import FEW, FEWEST, HIGH_OVERLAP, LOW_OVERLAP, MANY, MOST, SIGNIFICANT
from steelyard.stats.corrections import holm
from steelyard.text.language_id.detect import UNDECIDED
from steelyard.types import Float64, Int64, Task


@dataclass(frozen=True, eq=False)
class Part:
    """A slice: some queries with a common property."""

    dimension: str
    name: str
    queries: Int64


def parts(task: Task, reading: Reading) -> Iterator[Part]:
    """Return every slice of the task, without dimensions of one value or with the same slices as an earlier one."""
    cuts: set[frozenset[bytes]] = set()
    for dimension, names in (
        ("relation", _relations(reading, len(task.queries))),
        ("language", reading.query_languages),
        ("languages of the pair", _pair_names(reading, len(task.queries))),
        ("script", reading.query_scripts),
    ):
        named = list(_named(dimension, names))
        cut = frozenset(part.queries.tobytes() for part in named)
        if cut not in cuts or dimension == "relation":
            yield from named
        cuts |= set() if dimension == "relation" else {cut}
    lengths = np.fromiter(map(len, task.queries.texts), dtype=np.float64, count=len(task.queries))
    low, high = (int(edge) for edge in np.quantile(lengths, [1 / 3, 2 / 3])) if len(lengths) else (0, 0)
    yield from _classes(
        "query length",
        {
            f"up to {low} characters": lengths <= low,
            f"{low + 1} to {high} characters": (lengths > low) & (lengths <= high),
            f"over {high} characters": lengths > high,
        },
    )
    shared = reading.overlap  # NaN where it is not defined: neither low nor high
    yield from _classes(
        "overlap",
        {
            f"low (up to {LOW_OVERLAP:.2f})": shared <= LOW_OVERLAP,
            f"middle ({LOW_OVERLAP:.2f} to {HIGH_OVERLAP:.2f})": (shared > LOW_OVERLAP) & (shared < HIGH_OVERLAP),
            f"high (from {HIGH_OVERLAP:.2f})": shared >= HIGH_OVERLAP,
        },
    )


def _classes(dimension: str, masks: Mapping[str, npt.NDArray[np.bool_]]) -> Iterator[Part]:
    """Return the classes with queries, if there are several."""
    filled = {name: np.flatnonzero(mask) for name, mask in masks.items() if mask.any()}
    if _parts_queries([len(queries) for queries in filled.values()]):
        for name, queries in filled.items():
            yield Part(dimension, name, queries)


def _pair_names(reading: Reading, queries: int) -> list[str]:
    """Return `ar-en` for each query with relevant documents in one language, else `en-several`; `und` if unknown."""
    sought: list[set[str]] = [set() for _ in range(queries)]
    for query, row in zip(reading.pair_queries.tolist(), reading.pair_rows.tolist(), strict=True):
        sought[query].add(reading.document_languages[row])
    return [
        pair_name((language, next(iter(targets)) if len(targets) == 1 else "several" if targets else "none"))
        for language, targets in zip(reading.query_languages, sought, strict=True)
    ]


def _relations(reading: Reading, queries: int) -> list[str]:
    """Return for each query whether its relevant documents are in its language, in others, or in both."""
    sought: list[set[str]] = [set() for _ in range(queries)]
    for query, row in zip(reading.pair_queries.tolist(), reading.pair_rows.tolist(), strict=True):
        sought[query].add(reading.document_languages[row])

    def relation(language: str, targets: set[str]) -> str:
        if UNDECIDED in (language, *targets) or not targets:
            return UNDECIDED
        return "same language" if targets == {language} else "both" if language in targets else "another language"

    return [relation(language, targets) for language, targets in zip(reading.query_languages, sought, strict=True)]


def _named(dimension: str, names: Sequence[str]) -> Iterator[Part]:
    values = np.array(names, dtype=np.str_)
    distinct, counts = np.unique(values, return_counts=True)
    if not _parts_queries(counts.tolist()):
        return
    for place in sorted(range(len(distinct)), key=lambda i: (-counts[i], distinct[i])):
        yield Part(dimension, str(distinct[place]), np.flatnonzero(values == distinct[place]))


def _parts_queries(sizes: Sequence[int]) -> bool:
    """Return whether slices of these sizes are more than the whole and a few exceptions.

    >>> _parts_queries([60, 40]), _parts_queries([100]), _parts_queries([98, 1, 1])
    (True, False, False)
    """
    others = sum(sizes) - max(sizes, default=0)
    return others >= FEW or (others > 0 and sum(sizes) < FEWEST)


def slices(
    task: Task, reading: Reading, measured: Sequence[Measured], affected: npt.NDArray[np.bool_] | None = None
) -> tuple[SliceValues, ...]:
    """Return the values of every slice, with tests and Holm's correction.

    `affected` are the queries in languages that the dense model does not declare.
    """
    if not measured:
        return ()
    odd = np.zeros(len(task.queries), dtype=bool) if affected is None else affected
    all_parts = list(parts(task, reading))
    figures = [_figures(part, measured) for part in all_parts]
    rest = _adjusted([_against_rest(part, measured, odd) for part in all_parts])
    leads = _adjusted(_leads(all_parts, figures, measured))
    return tuple(
        replace(
            one,
            tied=one.tied or tuple(kind for kind, p in lead.items() if p >= SIGNIFICANT),
            rest_p_values=apart,
            undeclared=bool(odd[part.queries].mean() > MOST),
        )
        for part, one, lead, apart in zip(all_parts, figures, leads, rest, strict=True)
    )


def _adjusted(raw: Sequence[Mapping[Kind, float]]) -> list[dict[Kind, float]]:
    """Return the p-values with Holm's correction over all of them."""
    places = [(i, kind) for i, values in enumerate(raw) for kind in values]
    adjusted: list[dict[Kind, float]] = [{} for _ in raw]
    for (i, kind), p in zip(places, holm([raw[i][kind] for i, kind in places]).tolist(), strict=True):
        adjusted[i][kind] = p
    return adjusted


def _figures(part: Part, measured: Sequence[Measured]) -> SliceValues:
    inside: dict[Kind, Float64] = {one.kind: one.ndcg[part.queries] for one in measured}
    outside: dict[Kind, Float64] = {one.kind: np.delete(one.ndcg, part.queries) for one in measured}
    best = max(inside, key=lambda kind: float(inside[kind].mean()))
    return SliceValues(
        dimension=part.dimension,
        name=part.name,
        queries=len(part.queries),
        ndcg_at_10={kind: float(values.mean()) for kind, values in inside.items()},
        intervals=stats.intervals(inside, method=_method(part)),  # type: ignore[arg-type]
        best=best,
        tied=() if len(part.queries) >= FEWEST else tuple(kind for kind in inside if kind != best),
        against_rest={k: float(inside[k].mean() - v.mean()) for k, v in outside.items() if len(v)},
    )


def _method(part: Part) -> Literal["bootstrap", "t"]:
    """Return the method of the interval: Student's for many values, whose mean is normal."""
    return "t" if len(part.queries) >= MANY else "bootstrap"


def _against_rest(part: Part, measured: Sequence[Measured], odd: npt.NDArray[np.bool_]) -> dict[Kind, float]:
    """Return p-values of Welch's test of the slice against the other queries, if both are large enough."""
    inside = np.zeros(len(odd), dtype=bool)
    inside[part.queries] = True
    tested: dict[Kind, float] = {}
    for profile in measured:
        usable = np.ones(len(odd), dtype=bool) if profile.kind == "bm25" else ~odd
        first, second = profile.ndcg[inside & usable], profile.ndcg[~inside & usable]
        p = welch(first, second) if min(len(first), len(second)) >= FEWEST else None
        tested |= {} if p is None else {profile.kind: p}
    return tested


def _leads(
    all_parts: Sequence[Part], figures: Sequence[SliceValues], measured: Sequence[Measured]
) -> list[dict[Kind, float]]:
    """Return p-values of the best profile of each slice against the others, for slices that are large enough.

    Outside its slice a difference is 0, which no change of signs moves: one set of sign changes tests all slices.
    """
    values = by_kind(measured)
    slots, columns = [], []
    for i, (part, slice_values) in enumerate(zip(all_parts, figures, strict=True)):
        for kind in values if len(part.queries) >= FEWEST else ():
            if kind != slice_values.best:
                column = np.zeros(len(measured[0].ndcg))
                column[part.queries] = (values[slice_values.best].ndcg - values[kind].ndcg)[part.queries]
                slots.append((i, kind))
                columns.append(column)
    leads: list[dict[Kind, float]] = [{} for _ in all_parts]
    for (i, kind), p in zip(slots, randomisation(columns), strict=True):
        leads[i][kind] = p
    return leads
