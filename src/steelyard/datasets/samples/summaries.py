"""Build summarization tasks: each row has human summaries, machine-made ones, and a score for each of the latter.

{"human_summaries": ["...", "..."], "machine_summaries": ["...", "...", "..."], "relevance": [4.3, 2, 3.7]}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.datasets.problems import Report
from steelyard.datasets.samples.common import not_empty
from steelyard.datasets.samples.constants import Constants
from steelyard.datasets.tables.tabular import Table
from steelyard.types import TaskInfo
from steelyard.types.samples import SummaryTask


def summary_task(table: Table, info: TaskInfo, constants: Constants, report: Report) -> SummaryTask | None:
    """Return the task; None, with the reason in the report, if it cannot be built."""
    if not not_empty(table, report):
        return None
    human, machine, gold = (
        [_several(cell) for cell in table[name].to_pylist()] for name in ("human", "machine", "value")
    )
    uneven = [row for row, (made, scores) in enumerate(zip(machine, gold, strict=True)) if len(made) != len(scores)]
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
