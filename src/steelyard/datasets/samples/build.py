"""Build a task from its tables, by its type: pairs, translations, summaries, reranking rows.

Reranking rows have a query, its positives and its negatives, as in the first MTEB. A row of summaries:

    {"human_summaries": ["...", "..."], "machine_summaries": ["...", "...", "..."], "relevance": [4.3, 2, 3.7]}

Tasks of labelled texts are in `labels.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from steelyard.datasets.assemble import Tables, assemble
from steelyard.datasets.problems import Report
from steelyard.datasets.samples.common import empty_texts, not_empty, rows_with, texts, unfold
from steelyard.datasets.samples.constants import Constants
from steelyard.datasets.samples.labels import cluster_task, label_task, multilabel_task, rows_of_split
from steelyard.datasets.samples.splits import evaluation_split, matching_split
from steelyard.datasets.tables.columns import CANDIDATES, DOCUMENTS, JUDGEMENTS, QUERIES
from steelyard.datasets.tables.tabular import Table
from steelyard.types import Float64, Task, TaskInfo
from steelyard.types.samples import AnyTask, PairTask, SummaryTask

TRAIN = "train"


def build(
    tables: Mapping[str, Table], split: str, info: TaskInfo, constants: Constants, report: Report
) -> AnyTask | None:
    """Return the task of a split of the tables.

    A table under `''` is the only one; it may have a column of splits, of which `split`, or the default, is used.
    """
    if "" in tables:
        tables, chosen = divided(tables[""], split)
        if chosen is None:
            known = ", ".join(tables) or "none"
            report.add(
                "nothing-there",
                next(iter(tables.values())).name,
                f"the split {split!r} does not exist; the splits are {known}",
            )
            return None
        split = chosen
        info = replace(info, split=split or info.split)
    table = tables[split]
    if info.type == "classification":
        training = matching_split(TRAIN, tables)
        train = tables[training] if training is not None and training != split else None
        return label_task(train, table, info, constants, report)
    if info.type == "clustering":
        return cluster_task(table, info, constants, report)
    if info.type == "reranking":
        return reranking_task(table, info, report)
    if info.type == "multilabel_classification":
        training = matching_split(TRAIN, tables)
        return multilabel_task(tables.get(training or ""), table, info, constants, report)
    if info.type == "summarization":
        return summary_task(table, info, constants, report)
    if info.type == "bitext_mining":
        return bitext_task(table, info, report)
    return pair_task(table, info, constants, report)


def divided(table: Table, split: str) -> tuple[dict[str, Table], str | None]:
    """Return a table for each value of the column `split`, and the one to evaluate; None if it does not exist."""
    if "split" not in table:
        return {"": table}, None if split else ""
    words = (value.strip().lower() for value in pc.unique(table["split"]).to_pylist() if value)
    known = list(dict.fromkeys(filter(None, words)))
    chosen = matching_split(split, known) if split else evaluation_split(known)
    if chosen is None and not split:  # no value names a split: it is another column
        return {"": table}, ""
    return {name: rows_of_split(table, name) for name in known}, chosen


def pair_task(table: Table, info: TaskInfo, constants: Constants, report: Report) -> PairTask | None:
    """Return the task; None, with the reason in the report, if it cannot be built."""
    flat = unfold(table, ("first", "second", "value"), report)
    if flat is None:
        return None
    binary = info.type == "pair_classification"
    kind, what = ("missing-label", "label") if binary else ("missing-score", "score")
    flat = rows_with(flat, "value", kind, f"the {what} is missing, NaN or infinite", report)
    if not not_empty(flat, report):
        return None
    empty_texts(flat, ("first", "second"), report)
    gold: Float64 = np.array(flat["value"], dtype=np.float64)
    good = _matches(flat, gold, report) if binary else _scores(flat, gold, constants, report)
    return PairTask(info, texts(flat, "first"), texts(flat, "second"), gold) if good else None


def bitext_task(table: Table, info: TaskInfo, report: Report) -> PairTask | None:
    """Return the task of translations; None, with the reason in the report, if it cannot be built."""
    flat = unfold(table, ("first", "second"), report)
    if flat is None or not not_empty(flat, report):
        return None
    empty_texts(flat, ("first", "second"), report)
    return PairTask(info, texts(flat, "first"), texts(flat, "second"), np.ones(len(flat)))


def _matches(table: Table, gold: Float64, report: Report) -> bool:
    if (bad := np.flatnonzero((gold != 0) & (gold != 1))).size:
        table.add_problem(report, "pair-label", f"a label must be 0 or 1, got {gold[bad[0]]:g}", bad)
        return False
    if len(np.unique(gold)) < 2:
        report.add("one-label", table.name, f"every pair has the label {gold[0]:g}")
        return False
    return True


def _scores(table: Table, gold: Float64, constants: Constants, report: Report) -> bool:
    low = -np.inf if constants.min_score is None else constants.min_score
    high = np.inf if constants.max_score is None else constants.max_score
    if (outside := np.flatnonzero((gold < low) | (gold > high))).size:
        message = f"a score must be between {low:g} and {high:g}, got {gold[outside[0]]:g}"
        table.add_problem(report, "score-range", message, outside)
    if len(np.unique(gold)) < 2:
        report.add("constant-score", table.name, f"every pair has the score {gold[0]:g}")
    return True


def summary_task(table: Table, info: TaskInfo, constants: Constants, report: Report) -> SummaryTask | None:
    """Return the task; None, with the reason in the report, if it cannot be built."""
    if not not_empty(table, report):
        return None
    human, machine, gold = (
        [_several(cell) for cell in table[name].to_pylist()] for name in ("human", "machine", "value")
    )
    uneven = [
        row for row, (summaries, scores) in enumerate(zip(machine, gold, strict=True)) if len(summaries) != len(scores)
    ]
    if uneven:
        row = uneven[0]
        message = f"each summary must have a score, got {len(machine[row])} summaries and {len(gold[row])} scores"
        table.add_problem(report, "ragged", message, uneven)
        return None
    empty = [row for row in range(len(table)) if not human[row] or len(machine[row]) < 2]
    if empty:
        message = "a text must have a human summary and at least two machine-made ones"
        table.add_problem(report, "one-sided", message, empty)
        return None
    complete = [all(score is not None and np.isfinite(score) for score in scores) for scores in gold]
    odd = [row for row, whole in enumerate(complete) if not whole]
    if odd:
        table.add_problem(report, "missing-score", "the score is missing, NaN or infinite", odd)
        return None
    scores = tuple(tuple(map(float, line)) for line in gold)
    return SummaryTask(info, _texts(human), _texts(machine), scores, constants.with_p_values)


def _texts(cells: list[list[Any]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(text or "" for text in cell) for cell in cells)


def _several(cell: Any) -> list[Any]:
    return cell if isinstance(cell, list) else [] if cell is None else [cell]


LISTS = "top_ranked"
"""The name that mteb gives the candidates of a reranking task."""


def reranking_task(table: Table, info: TaskInfo, report: Report) -> Task | None:
    """Return the task; its candidates are the positives and the negatives of each query, in this order."""
    if not not_empty(table, report):
        return None
    sides = [(_text_list(q), _text_list(p), _text_list(n)) for q, p, n in zip(*_columns(table), strict=True)]
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


def _text_list(cell: Any) -> list[str]:
    """Return a list of texts; a cell may be a single text."""
    return [text or "" for text in cell] if isinstance(cell, list) else [cell] if cell else []


def _tables(table: Table, info: TaskInfo, samples: list[tuple[int, list[str], list[str], list[str]]]) -> Tables:
    queries: dict[str, list[Any]] = {"id": [], "text": []}
    documents: dict[str, list[Any]] = {"id": [], "text": []}
    judged: dict[str, list[Any]] = {"query": [], "document": [], "grade": []}
    lists: dict[str, list[Any]] = {"query": [], "documents": []}
    owner = []
    for number, (row, query, positive, negative) in enumerate(samples):
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
    mine, theirs = places[[row for row, *_ in samples]], places[owner]

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
