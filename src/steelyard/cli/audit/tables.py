"""The tables that `steelyard audit` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.audit import Audit, PartFindings, Rate
    from steelyard.cli._ui.output import Cell, Output


def print_audit(result: Audit, output: Output) -> None:
    """Print one line for each part of each task, then the verdicts."""
    levels = [*result.settings["levels"], "any"]
    rows: list[list[Cell]] = []
    for task in result.tasks:
        for part in task.parts:
            rates = [_rate(part.rates[level]) if level in part.rates else "-" for level in levels]
            rows.append([task.task, part.part, part.items, *rates, _apart(part)])
        if task.pairs.total:
            blank: list[Cell] = ["-"] * (len(levels) - 1)
            rows.append([task.task, "pairs", task.pairs.total, *blank, _rate(task.pairs), "-"])
    output.table(["task", "part", "items", *levels, "kept apart"], rows, fold=True)
    output.line("")
    for task in result.tasks:
        output.line(f"{task.task}: {task.verdict}: {task.reason}")
    training = result.training
    output.note(f"{training['rows']:,} rows, {training['texts']:,} texts in {len(training['files'])} training files")


def _rate(rate: Rate) -> str:
    if not rate.count or rate.interval is None:
        return "0"
    return f"{rate.count:,} ({rate.share:.1%} [{rate.interval.low:.1%}, {rate.interval.high:.1%}])"


def _apart(part: PartFindings) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in part.kept_apart.items()) or "-"
