"""Assemble a `Task` from tables of documents, queries, judgements and candidates: ids become row numbers here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from steelyard.datasets import validation
from steelyard.datasets.problems import MISSING_KINDS, Report
from steelyard.datasets.tables.tabular import Table
from steelyard.types import Corpus, Int64, Qrels, Queries, Ragged, Task, TaskInfo
from steelyard.types.task_info import CHANGED


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of a reader; None for a table that could not be read."""

    info: TaskInfo
    corpus: Table | None
    queries: Table | None
    qrels: Table | None
    candidates: Mapping[str, Table] = field(default_factory=dict)


def assemble(tables: Tables, report: Report) -> Task | None:
    """Return the task of the tables and report every problem; None if a table is missing or empty.

    With problems the task is repaired as `validate="report"` promises; the caller decides whether to use it.
    """
    if tables.corpus is None or tables.queries is None or tables.qrels is None:
        for table in (tables.corpus, tables.queries):
            if table is not None:
                validation.unique_ids(table, report)
        return None
    for table in (tables.corpus, tables.queries, tables.qrels):
        if not len(table):
            report.add("nothing-there", table.name, f"the table has no {table.role.name}")
            return None
    documents = validation.unique_ids(tables.corpus, report)
    validation.empty_texts(documents, "empty-document", report)
    # Rows are numbered by descending id; files with ascending ids, as most are, need no sorting.
    stored = documents["id"]
    order = None if validation.ascending(stored) else pc.array_sort_indices(stored, order="descending")
    ids = stored[::-1] if order is None else stored.take(order)
    queries = validation.unique_ids(tables.queries, report)
    judged, qrels = _judgements(tables.qrels, queries, ids, report)
    if not len(judged):
        swapped = (validation.rows_of(tables.qrels, "query", ids) >= 0).all()
        remedy = "check the order of the files: documents and queries may be swapped" if swapped else ""
        report.add("nothing-there", tables.qrels.name, "no judgement is of a known query", remedy=remedy)
        return None
    used = queries if len(judged) == len(queries) else queries.take(judged)
    for table in tables.candidates.values():
        rows = validation.rows_of(table, "query", queries["id"])
        validation.known(table, "query", rows, "unknown-candidate-query", queries["id"], "queries", report)
    return Task(
        tables.info,
        _corpus(ids, documents, None if order is None else order.to_pylist()),
        Queries(tuple(used["id"].to_pylist()), tuple(used["text"].to_pylist())),
        qrels,
        {name: _lists(table, used["id"], ids, report, name) for name, table in tables.candidates.items()},
    )


def _corpus(ids: Any, documents: Table, order: Sequence[int] | None) -> Corpus:
    """Return the documents in that order (None: reversed), which is the order of `Corpus.of`."""

    def ordered(column: Any) -> tuple[str, ...]:
        values = column.to_pylist()
        return tuple(reversed(values)) if order is None else tuple(map(values.__getitem__, order))

    titles = ordered(pc.fill_null(documents["title"], "")) if "title" in documents else ()
    return Corpus(tuple(ids.to_pylist()), ordered(documents["text"]), titles if any(titles) else None)


def _judgements(table: Table, queries: Table, ids: Any, report: Report) -> tuple[Int64, Qrels]:
    """Return the rows of the judged queries, in order, and the judgements with new row numbers."""
    query = validation.rows_of(table, "query", queries["id"])
    document = validation.rows_of(table, "document", ids)
    usable = validation.known(table, "query", query, "unknown-query", queries["id"], "queries", report)
    # TREC judges pools of documents that a corpus need not contain, so no similar id is searched there.
    near = ids[:0] if table.trec else ids
    kind = MISSING_KINDS[report.missing_judgements]
    outside = ~validation.known(table, "document", document, kind, near, "corpus", report)
    grades, given = validation.whole_grades(table, report)
    distinct = document
    if outside.any():
        codes = np.asarray(table["document"].dictionary_encode().indices, dtype=np.int64)
        distinct = np.where(outside, len(ids) + codes, document)
    usable = validation.one_per_pair(table, query, distinct, grades, usable & given, report)
    positive = usable & (grades > 0)
    if report.missing_judgements != "error" and positive.any() and outside[positive].all():
        first = table["document"][int(np.argmax(positive))].as_py()
        report.add("nothing-there", table.name, f"none of the relevant documents is in the corpus, such as {first!r}")
    if report.missing_judgements == "ignore":
        usable &= ~outside
    query, grades = query[usable], grades[usable]
    is_judged = np.zeros(len(queries), dtype=bool)
    is_judged[query] = True
    judged = np.flatnonzero(is_judged)
    has_positive = np.zeros(len(queries), dtype=bool)
    has_positive[query[grades > 0]] = True
    _report_queries(table, queries, is_judged, has_positive, report)
    number = np.full(len(queries), -1, dtype=np.int64)
    number[judged] = np.arange(len(judged))
    return judged, Qrels.of(number[query], document[usable], grades, queries=len(judged))


def _report_queries(
    table: Table, queries: Table, is_judged: validation.Mask, has_positive: validation.Mask, report: Report
) -> None:
    """Report queries without text, without judgement, or without a relevant document."""
    unjudged = np.flatnonzero(~is_judged)
    judged = queries.take(np.flatnonzero(is_judged)) if len(unjudged) else queries
    validation.empty_texts(judged, "empty-query", report)
    if len(unjudged):
        many = _queries(len(unjudged))
        queries.add_problem(report, "unjudged-query", f"{many} without a judgement in {table.name}", unjudged)
    if len(barren := np.flatnonzero(is_judged & ~has_positive)):
        example = queries["id"][int(barren[0])].as_py()
        queries.add_problem(
            report, "no-positive", f"the query {example!r} has no relevant document in {table.name}", barren
        )


def _queries(number: int) -> str:
    return f"{number:,} {'query' if number == 1 else 'queries'}"


def _lists(table: Table, query_ids: Any, ids: Any, report: Report, name: str) -> Ragged:
    """Return candidate lists as row numbers, in the order of the queries."""
    column = table["documents"]
    owner = validation.rows_of(table, "query", query_ids)
    values, source = column, np.arange(len(table))
    if pa.types.is_large_list(column.type):
        offsets: Int64 = np.asarray(column.offsets, dtype=np.int64)
        lengths = offsets[1:] - offsets[:-1]
        owner, source, values = np.repeat(owner, lengths), np.repeat(source, lengths), column.values
    rows = np.asarray(pc.fill_null(pc.index_in(values, value_set=ids), -1), dtype=np.int64)
    if (lost := (rows < 0) & (owner >= 0)).any():
        example = values[int(np.flatnonzero(lost)[0])].as_py()
        table.add_problem(report, "unknown-candidate", f"{example!r} is not in the corpus", np.unique(source[lost]))
    if len(valid := np.flatnonzero((rows >= 0) & (owner >= 0))) < len(rows):
        owner, rows, source = owner[valid], rows[valid], source[valid]
    if "score" in table:
        # A run is ordered by score and id, as in trec_eval; rows are in the order of ids.
        scores = np.asarray(pc.fill_null(table["score"], -np.inf), dtype=np.float32)[source]
        order = np.lexsort((rows, -scores, owner))
        owner, rows, source = owner[order], rows[order], source[order]
    if (owner[1:] < owner[:-1]).any():
        # Stable: the order within a query is the ranking.
        order = np.argsort(owner, kind="stable")
        owner, rows, source = owner[order], rows[order], source[order]
    keys = owner * len(ids) + rows
    ordered = np.sort(keys)
    if (ordered[1:] == ordered[:-1]).any():
        first = np.sort(np.unique(keys, return_index=True)[1])
        again = np.setdiff1d(np.arange(len(keys)), first)
        message = f"{ids[int(rows[again[0]])].as_py()!r} is listed twice for a query"
        table.add_problem(report, "repeated-candidate", message, np.unique(source[again]))
        owner, rows = owner[first], rows[first]
    counts = np.bincount(owner, minlength=len(query_ids))
    if (none := counts == 0).any() and name != CHANGED:  # only changed queries have that list
        example = query_ids[int(np.flatnonzero(none)[0])].as_py()
        report.add("no-candidates", table.name, f"{_queries(int(none.sum()))} without a list, such as {example!r}")
    return Ragged(np.concatenate(([0], np.cumsum(counts))).astype(np.int64), rows.astype(np.int32))
