"""The figures of tasks in which nothing is searched: STS, pairs, classification, clustering."""

from __future__ import annotations

from steelyard.reports.board import Board
from steelyard.reports.charts import legend, swatch
from steelyard.reports.markup import Markup, join, tag
from steelyard.results import TITLES, Result

SEARCHED = ("retrieval", "reranking")
"""The types that are weighed by ranked lists, and have all of the headline metrics."""


def is_searched(result: Result) -> bool:
    """Whether the result, if it has figures, has those of ranked lists."""
    return result.facts.type in SEARCHED


def other_types(board: Board) -> Markup:
    """The main figure of every task and model with its interval, types together; nothing where no task is such."""
    tasks = [(first, task) for task in board.tasks if (first := _first(board, task))]
    if not tasks:
        return Markup("")
    head = ("Task", "Type", "Language", "Samples", "Figure")
    models = (
        tag("th", swatch(series, model), model, class_="number model", title=model)
        for series, model in enumerate(board.models)
    )
    tasks.sort(key=lambda pair: pair[0].facts.type)  # stable: within a type as they were run
    rows = (_row(board, first, task) for first, task in tasks)
    table = tag("table", tag("thead", tag("tr", *(tag("th", name) for name in head), *models)), tag("tbody", *rows))
    note = tag("p", "Intervals are 95 %, from resampling pairs, texts or clusterings.", class_="soft")
    return join(note, legend(board.models), tag("div", table, class_="scroll"))


def _first(board: Board, task: str) -> Result | None:
    return next((cell for model in board.models if (cell := board.cell(task, model))), None)


def _row(board: Board, first: Result, task: str) -> Markup:
    facts = first.facts
    cells = [board.cell(task, model) for model in board.models]
    best = max((cell.score for cell in cells if cell and cell.score is not None), default=None)
    partial = " (partial)" if any(cell and cell.partial for cell in cells) else ""
    return tag(
        "tr",
        tag("td", task + partial),
        tag("td", facts.type.replace("_", " ")),
        tag("td", facts.language),
        tag("td", "-" if facts.samples is None else f"{facts.samples:,}", class_="number"),
        tag("td", TITLES.get(first.main_metric, first.main_metric)),
        *(_figure(cell, best) for cell in cells),
    )


def _figure(cell: Result | None, best: float | None) -> Markup:
    if cell is None or cell.score is None:
        return tag("td", "-", class_="number")
    interval = cell.interval
    spread = tag("small", f"{interval.low:.3f}–{interval.high:.3f}") if interval else None
    return tag("td", f"{cell.score:.4f}", spread, class_="number best" if cell.score == best else "number")
