"""Rank given candidates instead of a whole corpus, as every model does on a reranking task."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from steelyard.retrievers.candidates import run_of
from steelyard.types import Float32, Int32, Queries, Ragged, Run
from steelyard.types.protocols import Index

BLOCK = 1 << 22
"""Documents that are retrieved at a time, over all queries of a block."""


@runtime_checkable
class RanksCandidates(Protocol):
    """An index that can score documents without searching for them."""

    def rank(self, queries: Queries, lists: Ragged) -> Run:
        """Return the documents of each query's list, best first."""
        ...


def rank(index: Index, queries: Queries, lists: Ragged, documents: int) -> Run:
    """Return every candidate of every query, best first, ties by row.

    An index that scores pairs computes only those. Any other index searches the whole corpus; a candidate that it does
    not return comes last, below all that it returned.
    """
    if isinstance(index, RanksCandidates):
        return index.rank(queries, lists)
    return rank_by_search(index, queries, lists, documents)


def rank_by_search(index: Index, queries: Queries, lists: Ragged, documents: int) -> Run:
    """Return the candidates in the order in which a search of all `documents` returns them."""
    rows = run_of(lists).rows
    scores = np.empty(rows.shape, dtype=np.float32)
    step = max(1, BLOCK // max(documents, 1))
    for start in range(0, len(queries), step):
        part = slice(start, start + step)
        run = index.search(Queries(queries.ids[part], queries.texts[part]), documents)
        scores[part] = _scores_of(run, rows[part], documents)
    return Run.of(rows, scores)


def _scores_of(run: Run, rows: Int32, documents: int) -> Float32:
    """Return the scores that a search gave to these rows; missing ones get less than the lowest score."""
    lowest = np.where(run.rows >= 0, run.scores, np.inf).min(axis=1, initial=np.inf)
    with np.errstate(invalid="ignore"):  # the lowest is infinite if the list is empty
        below = np.where(lowest < np.inf, lowest - np.maximum(np.abs(lowest) / 1024, 1), 0)
    below = np.where(np.isneginf(lowest), -np.inf, below)
    scores = np.repeat(below[:, None], rows.shape[1], axis=1).astype(np.float32)
    for query in range(len(rows)):
        by_row = np.full(documents + 1, np.nan, dtype=np.float32)  # the last place is for padding
        by_row[run.rows[query]] = run.scores[query]
        by_row[documents] = np.nan
        candidates = by_row[rows[query]]
        scores[query] = np.where(np.isnan(candidates), scores[query], candidates)
    return scores
