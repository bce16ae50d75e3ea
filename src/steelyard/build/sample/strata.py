"""Strata: groups of queries that all get their share of a cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.build.sample.recipe import Recipe, Shares
from steelyard.build.source.source import Source
from steelyard.errors import UsageError

LANGUAGE = "language"


def allot(sizes: Mapping[str, int], total: int, shares: Shares) -> dict[str, int]:
    """How many each stratum gives: equally many as far as it has them, or in proportion to its size.

    >>> allot({"en": 90, "sw": 2, "zh": 8}, 12, "equal"), allot({"en": 90, "sw": 2, "zh": 8}, 12, "proportional")
    ({'en': 5, 'sw': 2, 'zh': 5}, {'en': 11, 'sw': 0, 'zh': 1})
    """
    total = min(total, sum(sizes.values()))
    names = sorted(sizes)
    if shares == "proportional":
        exact = {name: total * sizes[name] / sum(sizes.values()) for name in names}
        given = {name: int(exact[name]) for name in names}
        by_rest = sorted(names, key=lambda name: (given[name] - exact[name], name))
        for name in by_rest[: total - sum(given.values())]:
            given[name] += 1
        return given
    given = dict.fromkeys(names, 0)
    while (left := total - sum(given.values())) > 0:
        open_ = [name for name in names if given[name] < sizes[name]]
        each = max(1, left // len(open_))
        for name in open_:
            step = min(each, sizes[name] - given[name], total - sum(given.values()))
            given[name] += step
    return given


def check_strata(source: Source, recipe: Recipe) -> None:
    """A UsageError where the queries cannot be told apart as the recipe asks."""
    strata_of(source, [], recipe.stratify)


def strata_of(source: Source, rows: Sequence[int], column: str | None) -> dict[str, list[int]]:
    """The rows by their value in the column, each in the given order; all in one where no column was named."""
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
        there = ", ".join(name for name in source.queries.column_names if name not in ("_id", "text")) or "none"
        raise UsageError(
            f"the queries have no column {column!r} to stratify by",
            hint=f"further columns: {there}; `language` can be told from the texts",
        )
    strata: dict[str, list[int]] = {}
    for row in rows:
        strata.setdefault(values[row], []).append(row)
    return strata
