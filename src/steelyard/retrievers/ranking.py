"""Ranking given candidates instead of a whole corpus: what every model does on a reranking task."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from steelyard.retrievers.candidates import run_of
from steelyard.types import Float32, Int32, Queries, Ragged, Run
from steelyard.types.protocols import Index

BLOCK = 1 << 22
"""Documents that are searched for at a time, over all queries of a block."""


@runtime_checkable
class RanksCandidates(Protocol):
    """An index that can score documents without searching for them."""

    def rank(self, queries: Queries, lists: Ragged) -> Run:
        """The documents of each query's list, best first."""
        ...


def rank(index: Index, queries: Queries, lists: Ragged, documents: int) -> Run:
    """Every candidate of every query, best first, ties by row.

    An index that scores pairs is asked for those alone. Any other searches the whole corpus, of which the candidates
    are kept; a candidate that it does not find comes last, below all that were found.
    """
    if isinstance(index, RanksCandidates):
        return index.rank(queries, lists)
    return searched(index, queries, lists, documents)


def searched(index: Index, queries: Queries, lists: Ragged, documents: int) -> Run:
    """The candidates in the order in which a search of all `documents` brings them."""
    rows = run_of(lists).rows
    scores = np.empty(rows.shape, dtype=np.float32)
    step = max(1, BLOCK // max(documents, 1))
    for start in range(0, len(queries), step):
        part = slice(start, start + step)
        found = index.search(Queries(queries.ids[part], queries.texts[part]), documents)
        scores[part] = _picked(found, rows[part], documents)
    return Run.of(rows, scores)


def _picked(found: Run, rows: Int32, documents: int) -> Float32:
    """The scores that a search gave to these rows; for those it did not find, less than the lowest of any size."""
    lowest = np.where(found.rows >= 0, found.scores, np.inf).min(axis=1, initial=np.inf)
    with np.errstate(invalid="ignore"):  # nothing was found where the lowest is infinite
        below = np.where(lowest < np.inf, lowest - np.maximum(np.abs(lowest) / 1024, 1), 0)
    below = np.where(np.isneginf(lowest), -np.inf, below)
    scores = np.repeat(below[:, None], rows.shape[1], axis=1).astype(np.float32)
    for query in range(len(rows)):
        by_row = np.full(documents + 1, np.nan, dtype=np.float32)  # the last is for padding
        by_row[found.rows[query]] = found.scores[query]
        by_row[documents] = np.nan
        mine = by_row[rows[query]]
        scores[query] = np.where(np.isnan(mine), scores[query], mine)
    return scores
