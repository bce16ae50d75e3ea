"""The stages of pipelines and fusions: their score, their gain and their recall ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from steelyard.reports.components.markup import Markup, join, table, tag, th
from steelyard.reports.run_report.board import Board
from steelyard.results import HEADLINES, MAIN_METRIC, Result

WIDTH, LINE, BAR = 720, 34, 12
RIGHT = 150
"""The width of the values after the bars."""


@dataclass(frozen=True)
class Stage:
    """A stage with means over some tasks."""

    name: str
    value: float
    gain: float | None = None
    """The difference from the input with the best mean; None for a model that searches the corpus."""
    ceiling: float | None = None
    """The recall of its input."""


def stage_section(board: Board) -> Markup:
    """Return a plot and a table for each model with stages."""
    blocks = []
    for model in board.models:
        cells = [cell for task in board.tasks if (cell := board.cell(task, model)) and cell.notes.get("stages")]
        if cells:
            blocks.append(_block(model, cells))
    if not blocks:
        return Markup("")
    note = (
        f"Bars are the {HEADLINES[MAIN_METRIC]} of the output of each stage, a mean over the tasks; the change is the "
        "difference from the input with the best mean. The dashed line is the recall ceiling of a stage: the share of "
        "relevant documents in its input, which no ranking can exceed."
    )
    return join(tag("p", note, class_="soft"), *blocks)


def stages_of(cells: Sequence[Result]) -> list[Stage]:
    """Return the stages of one model, in order.

    >>> notes = [{"model": "bm25", "ndcg_at_10": 0.5},
    ...          {"model": "bm25 > rerank:X", "ndcg_at_10": 0.75, "over": "bm25", "recall_ceiling": 0.9}]
    >>> for stage in stages_of([Result("T/a", "bm25 > rerank:X", {}, "1", notes={"stages": notes})]):
    ...     print(stage)
    Stage(name='bm25', value=0.5, gain=None, ceiling=None)
    Stage(name='> rerank:X', value=0.75, gain=0.25, ceiling=0.9)
    """
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        for stage in cell.notes["stages"]:
            by_name.setdefault(stage["model"], []).append(stage)
    values = {name: fmean(stage[MAIN_METRIC] for stage in stages) for name, stages in by_name.items()}

    def gain(name: str) -> float | None:
        # The best input of each task could not be chosen beforehand.
        best = max((values[over] for stage in by_name[name] if (over := stage.get("over")) in values), default=None)
        return None if best is None else values[name] - best

    return [
        Stage(_label(name), values[name], gain(name), _mean(stage.get("recall_ceiling") for stage in stages))
        for name, stages in by_name.items()
    ]


def stage_plot(stages: Sequence[Stage], title: str) -> Markup:
    """Plot a bar for each stage from 0 to 1, with its values and a dashed line at its ceiling."""
    foot = LINE * len(stages) + 8
    shapes: list[Markup] = []
    for tick in range(0, 11, 2):
        x = WIDTH * tick / 10
        shapes.append(tag("line", x1=x, x2=x, y1=4, y2=foot, class_="grid"))
        shapes.append(tag("text", f"{tick / 10:.1f}", x=x, y=foot + 16, class_="tick"))
    for number, stage in enumerate(stages):
        top = LINE * number + 18
        note = tag("title", f"{stage.name}: {_values(stage)}")
        box = {"x": 0, "y": top, "width": round(WIDTH * stage.value, 1), "height": BAR}
        shapes.append(tag("text", stage.name, x=4, y=top - 4))
        shapes.append(tag("rect", note, class_=f"column {'plain' if stage.gain is None else 's0'}", **box))
        if stage.ceiling is not None:
            at = round(WIDTH * stage.ceiling, 1)
            title_tag = tag("title", f"{stage.name}: recall ceiling {stage.ceiling:.4f}")
            shapes.append(tag("line", title_tag, x1=at, x2=at, y1=top - 3, y2=top + BAR + 3, class_="median"))
        shapes.append(tag("text", _values(stage), x=WIDTH + 10, y=top + 10))
    size = f"-14 0 {WIDTH + RIGHT + 14} {foot + 24}"
    return tag("svg", tag("title", title), *shapes, viewBox=size, role="img", aria_label=title, class_="chart")


def _block(model: str, cells: Sequence[Result]) -> Markup:
    tasks = cells[0].task if len(cells) == 1 else f"{len(cells)} tasks"
    title = f"Stages of {model}: {HEADLINES[MAIN_METRIC]} and recall ceiling on {tasks}"
    table = tag("details", tag("summary", f"by task: {tasks}"), _table(cells))
    return join(tag("h3", model), stage_plot(stages_of(cells), title), table)


def _table(cells: Sequence[Result]) -> Markup:
    names = ("Task", "Stage", *HEADLINES.values(), "Gain", "Over", "Reads", "Recall ceiling", "")
    numbers = {*HEADLINES.values(), "Gain", "Reads", "Recall ceiling"}
    head = (th(name, class_="number" if name in numbers else None) for name in names)
    rows = [
        _row(cell.task if place == 0 else "", stage)
        for cell in cells
        for place, stage in enumerate(cell.notes["stages"])
    ]
    return table("Stages by task", [tag("tr", *head)], rows)


def _row(task: str, stage: Mapping[str, Any]) -> Markup:
    gain, ceiling, over = stage.get("gain", {}).get(MAIN_METRIC), stage.get("recall_ceiling"), stage.get("over")
    reads = "-" if over is None else "all" if stage.get("reads") is None else f"{stage['reads']:,}"
    return tag(
        "tr",
        tag("td", task),
        tag("td", _label(stage["model"])),
        *(tag("td", f"{stage[metric]:.4f}", class_="number") for metric in HEADLINES),
        tag("td", "-" if gain is None else f"{gain:+.4f}", class_="number"),
        tag("td", "-" if over is None else _label(over)),
        tag("td", reads, class_="number"),
        tag("td", "-" if ceiling is None else f"{ceiling:.4f}", class_="number"),
        tag("td", stage.get("warning"), class_="text bad"),
    )


def _label(name: str) -> str:
    """Return the last stage of a pipeline, as the earlier ones are above it; a fusion is returned whole."""
    _, arrow, last = name.rpartition(" > ")
    return f"> {last}" if arrow and not name.endswith("]") and "]" not in last else name


def _values(stage: Stage) -> str:
    return f"{stage.value:.4f}" + ("" if stage.gain is None else f" ({stage.gain:+.4f})")


def _mean(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
