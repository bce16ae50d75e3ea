"""Texts to be clustered: a problem a row where rows hold lists, else all rows together.

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
from steelyard.datasets.samples.common import empty_texts, given, lengths_of, some, texts, unfold
from steelyard.datasets.samples.constants import Constants
from steelyard.datasets.tables.tabular import Table
from steelyard.datasets.tables.values import is_list
from steelyard.types import Int64, TaskInfo
from steelyard.types.samples import ClusterTask, Levels, Problem


def cluster_task(table: Table, info: TaskInfo, constants: Constants, report: Report) -> ClusterTask | None:
    """The task; None, with the reason in the report, where none can be made."""
    if not some(table, report):
        return None
    in_rows = is_list(table["text"])
    ends = np.cumsum(lengths_of(table, "text")) if in_rows else np.array([len(table)])
    flat = unfold(table, ("text", "label"), report) if in_rows else table
    if flat is None:
        return None
    kept = flat if is_list(flat["label"]) else given(flat, "label", "missing-label", "no label", report)
    if is_list(kept["label"]):
        kept = _with_first_level(kept, report)
    if not some(kept, report):
        return None
    empty_texts(kept, ("text",), report)
    if len(kept) < len(flat):
        ends = np.array([len(kept)]) if not in_rows else _ends(table, kept)
    problems = _problems(kept, ends)
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
    """A label as levels; deeper ones that are missing are left away."""
    return tuple(level for level in label if level is not None) if isinstance(label, list) else (label,)


def _with_first_level(table: Table, report: Report) -> Table:
    """The rows whose first level is there."""
    first = pc.list_element(table["label"], 0) if lengths_of(table, "label").min(initial=1) else None
    there = (
        np.asarray(pc.is_valid(first))
        if first is not None
        else np.array([bool(label) and label[0] is not None for label in table["label"].to_pylist()])
    )
    if there.all():
        return table
    table.add_problem(report, "missing-label", "no label of the first level", np.flatnonzero(~there))
    return table.take(np.flatnonzero(there).astype(np.int64))


def _ends(table: Table, kept: Table) -> Int64:
    """Where each problem ends after some of its texts were left out; `kept.rows` says where each came from."""
    places = np.arange(len(table)) if table.rows is None else table.rows
    assert kept.rows is not None
    counts = np.array([np.count_nonzero(kept.rows == place) for place in places], dtype=np.int64)
    return np.cumsum(counts)
