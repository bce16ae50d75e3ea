"""Build clustering tasks: one problem per row if rows hold lists, else all rows together.

{"sentences": ["...", "..."], "labels": ["physics", "law"]}        one problem
{"text": "...", "label": "physics"}                                one text of the only problem
{"text": "...", "labels": ["science", "physics"]}                  the same, with levels of labels
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pyarrow.compute as pc

from steelyard.datasets.problems import Report
from steelyard.datasets.samples.common import empty_texts, lengths_of, not_empty, rows_with, texts, unfold
from steelyard.datasets.samples.constants import Constants
from steelyard.datasets.tables.tabular import Table
from steelyard.datasets.tables.values import is_list
from steelyard.types import Int64, TaskInfo
from steelyard.types.samples import ClusterTask, Levels, Problem


def cluster_task(table: Table, info: TaskInfo, constants: Constants, report: Report) -> ClusterTask | None:
    """Return the task; None, with the reason in the report, if it cannot be built."""
    if not not_empty(table, report):
        return None
    in_rows = is_list(table["text"])
    ends = np.cumsum(lengths_of(table, "text")) if in_rows else np.array([len(table)])
    flat = unfold(table, ("text", "label"), report) if in_rows else table
    if flat is None:
        return None
    labelled = flat if is_list(flat["label"]) else rows_with(flat, "label", "missing-label", "no label", report)
    if is_list(labelled["label"]):
        labelled = _with_first_level(labelled, report)
    if not not_empty(labelled, report):
        return None
    empty_texts(labelled, ("text",), report)
    if len(labelled) < len(flat):
        ends = np.array([len(labelled)]) if not in_rows else _ends(table, labelled)
    problems = _problems(labelled, ends)
    flat_labels = [levels[0] for problem in problems for levels in problem.labels]
    if len(set(flat_labels)) < 2:
        report.add("one-label", table.name, f"every text has the label {flat_labels[0]!r}")
        return None
    bootstrap = constants.bootstrap
    if bootstrap is None:
        bootstrap = any(problem.depth > 1 for problem in problems)
    if not bootstrap:
        return ClusterTask(info, problems)
    joined = Problem(
        tuple(chain.from_iterable(problem.texts for problem in problems)),
        tuple(chain.from_iterable(problem.labels for problem in problems)),
    )
    return ClusterTask(info, (joined,), constants.sampling)


def _problems(table: Table, ends: Int64) -> tuple[Problem, ...]:
    words, labels = texts(table, "text"), [_levels(label) for label in table["label"].to_pylist()]
    starts = [0, *ends[:-1].tolist()]
    spans = zip(starts, ends.tolist(), strict=True)
    return tuple(Problem(words[start:end], tuple(labels[start:end])) for start, end in spans if end > start)


def _levels(label: Any) -> Levels:
    """Return a label as levels; missing deeper levels are omitted."""
    return tuple(level for level in label if level is not None) if isinstance(label, list) else (label,)


def _with_first_level(table: Table, report: Report) -> Table:
    """Return the rows that have a first level."""
    first = pc.list_element(table["label"], 0) if lengths_of(table, "label").min(initial=1) else None
    present = (
        np.asarray(pc.is_valid(first))
        if first is not None
        else np.array([bool(label) and label[0] is not None for label in table["label"].to_pylist()])
    )
    if present.all():
        return table
    table.add_problem(report, "missing-label", "the label of the first level is missing", np.flatnonzero(~present))
    return table.take(np.flatnonzero(present).astype(np.int64))


def _ends(table: Table, labelled: Table) -> Int64:
    """Return where each problem ends after rows were removed; `labelled.rows` has the original rows."""
    places = np.arange(len(table)) if table.rows is None else table.rows
    assert labelled.rows is not None
    counts = np.array([np.count_nonzero(labelled.rows == place) for place in places], dtype=np.int64)
    return np.cumsum(counts)
