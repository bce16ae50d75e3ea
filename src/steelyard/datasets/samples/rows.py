"""Build reranking tasks from rows of a query, its positives and its negatives, as in the first MTEB.

The ids are those of mteb 2. The letter before `positive` makes positives sort below negatives, so
that under the tie rule (score, then id, both descending) a negative of the same score comes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from steelyard.datasets.assemble import Tables, assemble
from steelyard.datasets.problems import Report
from steelyard.datasets.samples.common import not_empty
from steelyard.datasets.tables.columns import CANDIDATES, DOCUMENTS, JUDGEMENTS, QUERIES
from steelyard.datasets.tables.tabular import Table
from steelyard.types import Task, TaskInfo

LISTS = "top_ranked"
"""The name that mteb gives the candidates of a reranking task."""


def reranking_task(table: Table, info: TaskInfo, report: Report) -> Task | None:
    """Return the task; its candidates are the positives and the negatives of each query, in this order."""
    if not not_empty(table, report):
        return None
    sides = [(_several(q), _several(p), _several(n)) for q, p, n in zip(*_columns(table), strict=True)]
    complete = [row for row, (_, positive, negative) in enumerate(sides) if positive and negative]
    if len(complete) < len(sides):
        dropped = sorted(set(range(len(sides))) - set(complete))
        table.add_problem(
            report, "one-sided", f"{len(dropped):,} queries without positives or without negatives", dropped
        )
    joined = [row for row in complete if len(sides[row][0]) > 1]
    if joined:
        table.add_problem(report, "list-query", f"{len(joined):,} queries that are lists", joined)
    if not complete:
        report.add("nothing-there", table.name, "no query has both positives and negatives")
        return None
    return assemble(_tables(table, info, [(row, *sides[row]) for row in complete]), report)


def _columns(table: Table) -> list[list[Any]]:
    return [table[field].to_pylist() for field in ("query", "positive", "negative")]


def _several(cell: Any) -> list[str]:
    """Return a list of texts; a cell may be a single text."""
    return [text or "" for text in cell] if isinstance(cell, list) else [cell] if cell else []


def _tables(table: Table, info: TaskInfo, kept: list[tuple[int, list[str], list[str], list[str]]]) -> Tables:
    queries: dict[str, list[Any]] = {"id": [], "text": []}
    documents: dict[str, list[Any]] = {"id": [], "text": []}
    judged: dict[str, list[Any]] = {"query": [], "document": [], "grade": []}
    lists: dict[str, list[Any]] = {"query": [], "documents": []}
    owner = []
    for number, (row, query, positive, negative) in enumerate(kept):
        id_ = f"{info.split}_query{number}"
        ids = [f"apositive_{id_}_{place:05d}" for place in range(len(positive))]
        ids += [f"negative_{id_}_{place:05d}" for place in range(len(negative))]
        queries["id"].append(id_)
        queries["text"].append("; ".join(query))
        documents["id"] += ids
        documents["text"] += [*positive, *negative]
        judged["query"] += [id_] * len(ids)
        judged["document"] += ids
        judged["grade"] += [1.0] * len(positive) + [0.0] * len(negative)
        lists["query"].append(id_)
        lists["documents"].append(ids)
        owner += [row] * len(ids)
    places = np.arange(len(table)) if table.rows is None else table.rows
    mine, theirs = places[[row for row, *_ in kept]], places[owner]

    def made(role: Any, columns: dict[str, list[Any]], rows: Any) -> Table:
        arrays = {field: pa.array(values, TYPES.get(field, pa.large_string())) for field, values in columns.items()}
        return Table(role, arrays, table.names, table.starts, rows)

    return Tables(
        info,
        made(DOCUMENTS, documents, theirs),
        made(QUERIES, queries, mine),
        made(JUDGEMENTS, judged, theirs),
        {LISTS: made(CANDIDATES, lists, mine)},
    )


TYPES = {"grade": pa.float64(), "documents": pa.large_list(pa.large_string())}
