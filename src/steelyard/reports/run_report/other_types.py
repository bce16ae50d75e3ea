"""The scores of tasks without a corpus: STS, pair classification, classification, clustering."""

from __future__ import annotations

from steelyard.reports.components.markup import Markup, join, table, tag, th
from steelyard.reports.run_report.board import Board
from steelyard.reports.run_report.score_tables import mark, model_legend
from steelyard.results import TITLES, Result

SEARCHED = ("retrieval", "reranking")
"""The types that are evaluated by ranked lists and have the headline metrics."""


def is_searched(result: Result) -> bool:
    """Return whether the result is that of ranked lists."""
    return result.facts.type in SEARCHED


def other_types(board: Board) -> Markup:
    """Return the main score of every task and model with its interval, grouped by type."""
    if not board.tasks:
        return Markup("")
    head = ("Task", "Type", "Language", "Samples", "Metric")
    models = (th(mark(board, model), model, class_="number model", title=model) for model in board.models)
    tasks = sorted(
        board.tasks, key=lambda task: board.first(task).facts.type
    )  # stable: in the order of the run within a type
    rows = (_row(board, task) for task in tasks)
    heads = [tag("tr", *(th(name) for name in head), *models)]
    note = tag("p", "Intervals are 95 %, bootstrapped over pairs, texts or clusterings.", class_="soft")
    return join(note, model_legend(board), table("Main scores by task and model", heads, rows))


def _row(board: Board, task: str) -> Markup:
    first = board.first(task)
    facts = first.facts
    cells = [board.cell(task, model) for model in board.models]
    best = board.best(task)
    partial = " (partial)" if facts.limit is not None else ""
    return tag(
        "tr",
        tag("th", task + partial, scope="row"),
        tag("td", facts.type.replace("_", " ")),
        tag("td", facts.language),
        tag("td", "-" if facts.samples is None else f"{facts.samples:,}", class_="number"),
        tag("td", TITLES.get(first.main_metric, first.main_metric)),
        *(
            _score(cell, model in best, board.failed(task, model))
            for cell, model in zip(cells, board.models, strict=True)
        ),
    )


def _score(cell: Result | None, best: bool, failed: bool) -> Markup:
    if cell is None or cell.score is None:
        return tag("td", tag("span", "failed", class_="bad") if failed else "-", class_="number")
    interval = cell.interval
    spread = tag("small", f"{interval.low:.3f}–{interval.high:.3f}") if interval else None
    return tag("td", f"{cell.score:.4f}", spread, class_="number best" if best else "number")
