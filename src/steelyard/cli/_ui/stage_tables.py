"""What the stages of pipelines and fusions brought, as `run` tells it: means over tasks, and a word where one hurts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steelyard.cli._ui.output import Cell, Output
    from steelyard.results import Result

NAMED = 3
"""Tasks that a warning names; of more it tells the number."""


def tell_stages(results: Sequence[Result], output: Output) -> None:
    """A table of stages with their gains and recall ceilings, then each warning once; nothing where there are none."""
    from steelyard.cli._ui.output import room

    models: dict[str, list[Result]] = {}
    for result in results:
        if result.notes.get("stages"):
            models.setdefault(result.model, []).append(result)
    if not models:
        return
    output.note(f"\n{_tables(models, room(sys.stderr))}")  # beside the one table that was asked for
    for line in _warnings(models):
        output.note(line)


def _tables(models: Mapping[str, Sequence[Result]], widest: int | None) -> str:
    """One table of all stages; where lines are too short for it, one of each pipeline, with its name above."""
    from steelyard.cli._ui.output import broken_at, format_table
    from steelyard.reports.run_report.stages import stages_of
    from steelyard.results import HEADLINES, MAIN_METRIC

    rows: dict[str, list[list[Cell]]] = {}
    for model, done in models.items():
        for stage in stages_of(done):
            gain = None if stage.gain is None else f"{stage.gain:+.4f}"
            rows.setdefault(model, []).append([stage.name, stage.value, gain, stage.ceiling])
    columns = ["stage", HEADLINES[MAIN_METRIC], "gain", "recall ceiling"]
    named = [["" if place else model, *row] for model, own in rows.items() for place, row in enumerate(own)]
    whole = format_table(["pipeline", *columns], named)
    if widest is None or len(whole.partition("\n")[0]) <= widest:
        return whole
    tables = ("\n".join([*broken_at(model, widest), format_table(columns, own, widest)]) for model, own in rows.items())
    return "\n\n".join(tables)


def _warnings(models: dict[str, list[Result]]) -> list[str]:
    spoilt: dict[str, list[str]] = {}
    for done in models.values():
        for result in done:
            for stage in result.notes["stages"]:
                if "warning" in stage:
                    tasks = spoilt.setdefault(f"{stage['model']}: {stage['warning']}", [])
                    if result.task not in tasks:
                        tasks.append(result.task)
    lines = []
    for warning, tasks in spoilt.items():
        named = ", ".join(tasks) if len(tasks) <= NAMED else f"{len(tasks)} tasks"
        lines.append(f"{warning} ({named})")
    return lines
