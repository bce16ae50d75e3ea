"""Build tasks of labelled texts: classification, with texts for training and for the test, and clustering.

A clustering task has one problem per row if rows hold lists, else all rows are one problem:

    {"sentences": ["...", "..."], "labels": ["physics", "law"]}        one problem
    {"text": "...", "label": "physics"}                                one text of the only problem
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
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
from steelyard.types.samples import ClusterTask, Label, LabelTask, Levels, Problem


def label_task(
    train: Table | None, test: Table, info: TaskInfo, constants: Constants, report: Report
) -> LabelTask | None:
    """Return the task; without a training table, a seeded share of each label's texts becomes the test."""
    tested = _usable(test, report)
    learnt = _usable(train, report) if train is not None else None
    if tested is None or (train is not None and learnt is None):
        return None
    if learnt is None:
        learnt, tested = _divided(tested, constants, report)
        note = f"{constants.share:.0%} of each label as test, drawn with the seed {constants.seed}"
        info = replace(info, description=f"{info.description} ({note})".strip())
        if not not_empty(learnt, report) or not not_empty(tested, report):
            return None
    train_labels, labels = _labels(learnt), _labels(tested)
    if {type(label) for label in train_labels} != {type(label) for label in labels}:
        message = f"labels like {labels[0]!r} differ in type from labels like {train_labels[0]!r} in {learnt.name}"
        report.add("label-type", tested.name, message)
        train_labels, labels = tuple(map(str, train_labels)), tuple(map(str, labels))
    if not _has_enough_labels(learnt, tested, train_labels, labels, constants, report):
        return None
    return LabelTask(
        info,
        texts(learnt, "text"),
        train_labels,
        texts(tested, "text"),
        labels,
        constants.samples_per_label,
        constants.experiments,
    )


def multilabel_task(
    train: Table | None, test: Table, info: TaskInfo, constants: Constants, report: Report
) -> LabelTask | None:
    """Return the task of texts with lists of labels; None, with the reason in the report, if it cannot be built."""
    if train is None or train is test:
        report.add("nothing-there", test.name, "a multilabel classification must have a split `train`")
        return None
    if not not_empty(train, report) or not not_empty(test, report):
        return None
    for table in (train, test):
        empty_texts(table, ("text",), report)
    train_labels, labels = _several(train), _several(test)
    known = {label for labels in train_labels for label in labels}
    if len(known) < 2:
        report.add("one-label", train.name, f"the training texts have {len(known)} labels")
        return None
    if unknown := sorted({repr(label) for row in labels for label in row if label not in known}):
        rows = [row for row, mine in enumerate(labels) if not known.issuperset(mine)]
        test.add_problem(report, "untrained-label", f"no training text has the label {', '.join(unknown[:5])}", rows)
    return LabelTask(
        info,
        texts(train, "text"),
        train_labels,
        texts(test, "text"),
        labels,
        constants.samples_per_label,
        constants.experiments,
    )


def _several(table: Table) -> tuple[Levels, ...]:
    """Return the labels of each text; a single label is a list of one, none an empty list."""
    cells = table["label"].to_pylist()
    return tuple(tuple(cell) if isinstance(cell, list) else () if cell is None else (cell,) for cell in cells)


def _usable(table: Table, report: Report) -> Table | None:
    flat = unfold(table, ("text", "label"), report)
    if flat is None:
        return None
    flat = rows_with(flat, "label", "missing-label", "no label", report)
    if not not_empty(flat, report):
        return None
    empty_texts(flat, ("text",), report)
    return flat


def _divided(table: Table, constants: Constants, report: Report) -> tuple[Table, Table]:
    """Divide each label's texts by a seeded shuffle; both parts keep the order of the file."""
    codes = np.asarray(table["label"].dictionary_encode().indices)
    random = np.random.default_rng(constants.seed)
    picked: list[Int64] = []
    for code in range(int(codes.max()) + 1):
        mine = np.flatnonzero(codes == code)
        count = min(max(1, round(constants.share * len(mine))), len(mine) - 1)
        picked.append(random.permutation(mine)[:count])
    tested = np.sort(np.concatenate(picked)).astype(np.int64)
    learnt = np.setdiff1d(np.arange(len(table)), tested)
    message = f"no split: {len(tested):,} of {len(table):,} texts, {constants.share:.0%} of each label, are the test"
    report.add("split-here", table.name, f"{message} (seed {constants.seed})")
    return table.take(learnt), table.take(tested)


def _labels(table: Table) -> tuple[Label, ...]:
    return tuple(table["label"].to_pylist())


def _has_enough_labels(
    learnt: Table,
    tested: Table,
    train_labels: Sequence[Label],
    labels: Sequence[Label],
    constants: Constants,
    report: Report,
) -> bool:
    counts = Counter(train_labels)
    if len(counts) < 2:
        report.add("one-label", learnt.name, f"every training text has the label {train_labels[0]!r}")
        return False
    if unknown := sorted(map(repr, set(labels) - counts.keys())):
        rows = [row for row, label in enumerate(labels) if label not in counts]
        shown = ", ".join(unknown[:5]) + (" ..." if len(unknown) > 5 else "")
        tested.add_problem(report, "untrained-label", f"no training text has the label {shown}", rows)
    few = [label for label, count in counts.items() if count < constants.samples_per_label]
    if few:
        message = f"{len(few)} of {len(counts)} labels have fewer than {constants.samples_per_label} training texts"
        report.add("few-samples", learnt.name, f"{message}, such as {few[0]!r} with {counts[few[0]]}")
    return True


def rows_of_split(table: Table, split: str) -> Table:
    """Return the rows of a split, by the column `split`."""
    mask = np.asarray(pc.equal(pc.utf8_lower(pc.utf8_trim_whitespace(table["split"])), split))
    return table.take(np.flatnonzero(mask).astype(np.int64))


def cluster_task(table: Table, info: TaskInfo, constants: Constants, report: Report) -> ClusterTask | None:
    """Return the task; None, with the reason in the report, if it cannot be built."""
    if not not_empty(table, report):
        return None
    in_rows = is_list(table["text"])
    ends = np.cumsum(lengths_of(table, "text")) if in_rows else np.array([len(table)])
    flat = unfold(table, ("text", "label"), report) if in_rows else table
    if flat is None:
        return None
    if is_list(flat["label"]) and is_list(flat["label"].flatten()):
        remedy = "write the levels of a text's label as one list"
        report.add("columns", table.name, "labels are lists of lists, but texts single values", remedy=remedy)
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
