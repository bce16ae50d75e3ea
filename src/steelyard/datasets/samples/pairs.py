"""Build tasks of text pairs with a score, or a label of 0 or 1; and of translations, which need neither."""

from __future__ import annotations

import numpy as np

from steelyard.datasets.problems import Report
from steelyard.datasets.samples.common import empty_texts, not_empty, rows_with, texts, unfold
from steelyard.datasets.samples.constants import Constants
from steelyard.datasets.tables.tabular import Table
from steelyard.types import Float64, TaskInfo
from steelyard.types.samples import PairTask


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
