"""Choose the queries of a sample: those with a positive, drawn at random or by strata, without duplicates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from steelyard.build.sample.near_duplicates import NearDuplicates
from steelyard.build.sample.recipe import Recipe, Shares, draw
from steelyard.build.sample.scan import Scan
from steelyard.build.source.source import Source
from steelyard.errors import DataError, UsageError
from steelyard.text.pieces import plain
from steelyard.types import Int64


@dataclass(frozen=True, eq=False)
class ChosenQueries:
    """Rows of the source's queries, what was excluded and why, and how many come from each stratum."""

    rows: Int64
    tally: Mapping[str, int]
    strata: Mapping[str, int]


def choose_queries(source: Source, scanned: Scan, recipe: Recipe) -> ChosenQueries:
    """Return at most `recipe.queries` queries that have a text and a positive in the corpus.

    In the order of the source, which the published recipe uses, positives outside the corpus count as well.
    """
    ids: list[str] = source.queries["_id"].to_pylist()
    texts: list[str] = source.queries["text"].to_pylist()
    inside = (source.grades > 0) & ((recipe.order == "source") | (scanned.places[source.judged] >= 0))
    answered = np.unique(source.asked[inside])
    tally = Counter(without_positive=len(ids) - len(answered))
    eligible = [int(row) for row in answered if texts[row].strip()]
    tally["empty"] = len(answered) - len(eligible)
    if not eligible:
        raise DataError(
            "at least one query must have a positive in the corpus",
            where=source.info.source,
            hint="check the judgements",
        )
    draws = dict(zip(eligible, draw(recipe.seed, "queries", (ids[row] for row in eligible)), strict=True))
    if recipe.order == "random":
        eligible.sort(key=draws.__getitem__)
    fresh = _Fresh(texts, recipe, tally)
    chosen, counts = _dealt(strata_of(source, eligible, recipe.stratify), recipe, fresh)
    chosen.sort(key=draws.__getitem__ if recipe.order == "random" else None)
    return ChosenQueries(np.array(chosen, dtype=np.int64), dict(tally), counts)


class _Fresh:
    """Distinguishes new queries from duplicates of earlier ones, and counts the duplicates."""

    def __init__(self, texts: Sequence[str], recipe: Recipe, tally: Counter[str]) -> None:
        self._texts, self._exact, self._tally = texts, recipe.exact, tally
        self._seen, self._near = set[str](), NearDuplicates(recipe.near)

    def __call__(self, row: int) -> bool:
        text = self._texts[row].strip() if self._exact else plain(self._texts[row])
        if text in self._seen:
            self._tally["copies"] += 1
            return False
        if self._near.like(text) is not None:
            self._tally["near_copies"] += 1
            return False
        self._seen.add(text)
        self._near.keep(text)
        return True


def _dealt(
    strata: Mapping[str, Sequence[int]], recipe: Recipe, fresh: Callable[[int], bool]
) -> tuple[list[int], dict[str, int]]:
    """Return the rows from all strata, and how many come from each.

    A stratum whose queries turn out to be duplicates leaves room for the others: they give more until the sample is
    full, or no stratum has more.
    """
    chosen: list[int] = []
    counts = Counter[str]()
    waiting = {name: filter(fresh, rows) for name, rows in strata.items()}
    while waiting and len(chosen) < recipe.queries:
        left = {name: rest for name in waiting if (rest := len(strata[name]) - counts[name])}
        waiting = {name: waiting[name] for name in left}
        for name, quota in allot(left, recipe.queries - len(chosen), recipe.shares).items():
            rows = list(islice(waiting[name], quota))
            chosen += rows
            counts[name] += len(rows)
            if len(rows) < quota:
                del waiting[name]
    return chosen, dict(counts)


LANGUAGE = "language"


def allot(sizes: Mapping[str, int], total: int, shares: Shares) -> dict[str, int]:
    """Return how many queries each stratum gives: equally many as far as it has them, or in proportion to its size.

    >>> allot({"en": 90, "sw": 2, "zh": 8}, 12, "equal"), allot({"en": 90, "sw": 2, "zh": 8}, 12, "proportional")
    ({'en': 5, 'sw': 2, 'zh': 5}, {'en': 11, 'sw': 0, 'zh': 1})
    """
    total = min(total, sum(sizes.values()))
    names = sorted(sizes)
    if shares == "proportional":
        exact = {name: total * sizes[name] / sum(sizes.values()) for name in names}
        quotas = {name: int(exact[name]) for name in names}
        by_rest = sorted(names, key=lambda name: (quotas[name] - exact[name], name))
        for name in by_rest[: total - sum(quotas.values())]:
            quotas[name] += 1
        return quotas
    quotas = dict.fromkeys(names, 0)
    while (left := total - sum(quotas.values())) > 0:
        open_ = [name for name in names if quotas[name] < sizes[name]]
        share = max(1, left // len(open_))
        for name in open_:
            step = min(share, sizes[name] - quotas[name], total - sum(quotas.values()))
            quotas[name] += step
    return quotas


def check_strata(source: Source, recipe: Recipe) -> None:
    """Raise a UsageError if the queries do not have the column of the recipe."""
    strata_of(source, [], recipe.stratify)


def strata_of(source: Source, rows: Sequence[int], column: str | None) -> dict[str, list[int]]:
    """Return the rows by their value in the column, in the given order; all together if no column is named."""
    if column is None:
        return {"": list(rows)}
    if column in source.queries.column_names:
        every = source.queries[column].to_pylist()
        values = {row: "" if every[row] is None else str(every[row]) for row in rows}
    elif column == LANGUAGE:
        from steelyard.text.language_id.detect import detect

        texts = source.queries["text"].to_pylist()
        values = dict(zip(rows, detect([texts[row] for row in rows]), strict=True))
    else:
        known = ", ".join(name for name in source.queries.column_names if name not in ("_id", "text")) or "none"
        raise UsageError(
            f"the queries do not have the column {column!r} to stratify by",
            option="--stratify",
            found=column,
            hint=f"other columns: {known}; `language` can be detected from the texts",
        )
    strata: dict[str, list[int]] = {}
    for row in rows:
        strata.setdefault(values[row], []).append(row)
    return strata
