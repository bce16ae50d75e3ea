"""The report of a run: one self-contained HTML file with figures, a plot, the leaders and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from steelyard import __version__
from steelyard.reports.board import Board, Strongest
from steelyard.reports.charts import Dot, dot_plot, legend, swatch
from steelyard.reports.markup import Markup, join, tag
from steelyard.reports.other_types import is_searched, other_types
from steelyard.reports.stages import stage_section
from steelyard.reports.variants import variant_table
from steelyard.results import HEADLINES, MAIN_METRIC, Miss, Result
from steelyard.results.atomic import write_whole

SECTIONS = {
    "figures": "Figures",
    "others": "Other types of tasks",
    "plot": "Plot",
    "stages": "Stages",
    "variants": "Variants",
    "misses": "Where models fail",
    "costs": "Costs",
    "errors": "Errors",
}


def write_report(results: Sequence[Result], path: Path) -> Path:
    """Write the report of these results to `path`, whole or not at all, and return the path."""
    write_whole(path, page(results).encode())
    return path


def page(results: Sequence[Result]) -> str:
    """The report as HTML text: style inside, no script, nothing fetched."""
    board = Board(results)
    bodies = {
        "figures": figures(Board([result for result in results if is_searched(result)])),
        "others": other_types(Board([result for result in results if not is_searched(result)])),
        "plot": plot(board),
        "stages": stage_section(board),
        "variants": variant_table(results),
        "misses": misses(board),
        "costs": costs(board),
        "errors": errors(board),
    }
    shown = {name: body for name, body in bodies.items() if body}
    style = Markup(resources.files("steelyard.reports").joinpath("page.css").read_text(encoding="utf-8"))
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", "Steelyard report"),
        tag("style", style),
    )
    links = (tag("a", SECTIONS[name], href=f"#{name}") for name in shown)
    parts = (tag("section", tag("h2", SECTIONS[name]), body, id=name) for name, body in shown.items())
    body = tag("body", tag("h1", "Steelyard report"), _summary(board), tag("nav", *links), *parts)
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def figures(board: Board) -> Markup:
    """Every headline metric by task and model, the best of each task marked, and the strongest profile."""
    if not board.models:
        return Markup("")
    spans = [tag("th", name, rowspan=2) for name in ("Task", "Language", "Queries × docs", "Strongest")]
    spans += [tag("th", name, colspan=len(board.models), class_="first") for name in HEADLINES.values()]
    models = [_model_head(s, model) for _ in HEADLINES for s, model in enumerate(board.models)]
    rows = [_figure_row(board, task) for task in board.tasks]
    if len(board.common_tasks) > 1:
        rows.append(_mean_row(board))
    note = tag(
        "p",
        "Intervals are 95 %, from resampling queries. The strongest model is the one with the highest nDCG@10 "
        "(on reranking tasks, the highest MAP); “or” names a rival that a paired randomisation test (p ≥ 0.05) can't "
        "tell from it. "
        "recall@100 is the mean of each query's recall.",
        class_="soft",
    )
    table = tag("table", tag("thead", tag("tr", *spans), tag("tr", *models)), tag("tbody", *rows), class_="figures")
    return join(note, legend(board.models), tag("div", table, class_="scroll"))


def _model_head(series: int, model: str) -> Markup:
    """The model's mark and as much of its name as fits; the legend above the table has the whole."""
    return tag(
        "th", swatch(series, model), model, class_="number model first" if series == 0 else "number model", title=model
    )


def _figure_row(board: Board, task: str) -> Markup:
    cells = [board.cell(task, model) for model in board.models]
    facts = next((cell.facts for cell in cells if cell), None)
    size = f"{facts.queries:,} × {facts.documents:,}" if facts and facts.queries and facts.documents else "-"
    partial = " (partial)" if any(cell and cell.partial for cell in cells) else ""
    row = [
        tag("td", task + partial),
        tag("td", facts.language if facts else "-"),
        tag("td", size, class_="number"),
        _strongest_cell(board, board.strongest(task)),
    ]
    for metric in HEADLINES:
        values = [cell.metrics.get(metric) if cell else None for cell in cells]
        best = max((v for v in values if v is not None), default=None)
        row += [
            _figure_cell(cell, metric, value, best=best is not None and value == best, first=s == 0)
            for s, (cell, value) in enumerate(zip(cells, values, strict=True))
        ]
    return tag("tr", *row)


def _figure_cell(cell: Result | None, metric: str, value: float | None, *, best: bool, first: bool) -> Markup:
    classes = " ".join(["number", *(["best"] if best else []), *(["first"] if first else [])])
    if cell is None or value is None:
        return tag("td", "-", class_=classes)
    interval = cell.intervals.get(metric)
    spread = tag("small", f"{interval.low:.3f}–{interval.high:.3f}") if interval else None
    return tag("td", f"{value:.4f}", spread, class_=classes)


def _strongest_cell(board: Board, strongest: Strongest | None) -> Markup:
    if strongest is None:
        return tag("td", "-")
    names = [strongest.model, *([strongest.rival] if strongest.rival else [])]
    marks = (
        tag(
            "span", "or " if place else None, swatch(board.models.index(name), name), name, class_="profile", title=name
        )
        for place, name in enumerate(names)
    )
    chance = None if strongest.p_value is None else f"p = {strongest.p_value:.4f} against the next"
    return tag("td", *marks, title=chance)


def _mean_row(board: Board) -> Markup:
    count = len(board.common_tasks)
    label = f"Mean of {count} tasks" if count == len(board.tasks) else f"Mean of {count} tasks that all models finished"
    cells = []
    for metric in HEADLINES:
        values = [board.mean(model, metric) for model in board.models]
        best = max((v for v in values if v is not None), default=None)
        cells += [
            tag("td", "-" if v is None else f"{v:.4f}", class_=f"number{' best' * (v == best)}{' first' * (i == 0)}")
            for i, v in enumerate(values)
        ]
    return tag("tr", tag("td", label, colspan=4), *cells, class_="mean")


def plot(board: Board) -> Markup:
    """The main figure of every model by task, with intervals."""
    dots = [[_dot(board.cell(task, model)) for model in board.models] for task in board.tasks]
    if not any(any(row) for row in dots):
        return Markup("")
    mains = {result.main_metric for result in board.results if result.done}
    what = HEADLINES[MAIN_METRIC] if mains == {MAIN_METRIC} else "The main figure"
    title = f"{what} by task and model, with 95 % intervals"
    return join(tag("p", title, class_="soft"), legend(board.models), dot_plot(board.tasks, board.models, dots, title))


def _dot(cell: Result | None) -> Dot | None:
    if cell is None or cell.score is None:
        return None
    return Dot(cell.score, *((cell.interval.low, cell.interval.high) if cell.interval else ()))


def misses(board: Board) -> Markup:
    """The worst queries of every task and model, with what came first instead."""
    blocks = []
    for task in board.tasks:
        cells = [cell for model in board.models if (cell := board.cell(task, model)) and cell.misses]
        if cells:
            inner = (join(tag("h3", cell.model), _miss_table(cell.misses)) for cell in cells)
            blocks.append(tag("details", tag("summary", f"{task}: {_miss_count(cells)}"), *inner))
    return join(*blocks)


def _miss_count(cells: Sequence[Result]) -> str:
    """How many queries each model left without a hit in its first ten."""
    counts = []
    for cell in cells:
        hit, queries = cell.metrics.get("hit_rate_at_10"), cell.facts.queries
        if hit is not None and queries:
            counts.append(f"{cell.model} {round((1 - hit) * queries)} of {queries}")
    return "queries without a relevant document in the first ten: " + ", ".join(counts)


def _miss_table(rows: Sequence[Miss]) -> Markup:
    head = tag("tr", *(tag("th", name) for name in ("Query", "Rank", "Came first", "Should have come")))
    body = (
        tag(
            "tr",
            tag("td", miss.query, class_="text", dir="auto"),
            tag("td", "not found" if miss.rank is None else miss.rank, class_="number"),
            tag("td", miss.top or "nothing", class_="text", dir="auto"),
            tag("td", miss.positive or "-", class_="text", dir="auto"),
        )
        for miss in rows
    )
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="scroll")


def costs(board: Board) -> Markup:
    """Seconds and bytes by model, summed over its tasks."""
    head = ("Model", "Tasks", "Index s", "Search s", "Score s", "Total s", "Largest index", "Peak memory")
    rows = []
    for model in board.models:
        cells = [cell for task in board.tasks if (cell := board.cell(task, model))]
        seconds = (sum(c.timings.get(name, 0.0) for c in cells) for name in ("index", "search", "score", "total"))
        largest = max((c.index_bytes or 0 for c in cells), default=0)
        memory = max((c.peak_memory_bytes or 0 for c in cells), default=0)
        values: list[str | int] = [len(cells), *(f"{s:.2f}" for s in seconds), _megabytes(largest), _megabytes(memory)]
        rows.append(tag("tr", tag("td", model), *(tag("td", v, class_="number") for v in values)))
    return tag(
        "div",
        tag(
            "table",
            tag(
                "thead",
                tag("tr", *(tag("th", name, class_=None if i == 0 else "number") for i, name in enumerate(head))),
            ),
            tag("tbody", *rows),
        ),
        class_="scroll",
    )


def errors(board: Board) -> Markup:
    """Evaluations that failed, with what to do."""
    if not board.failures:
        return Markup("")
    rows = (
        tag("tr", tag("td", r.task), tag("td", r.model), tag("td", str(r.error), class_="text bad"))
        for r in board.failures
    )
    head = tag("tr", *(tag("th", name) for name in ("Task", "Model", "Error")))
    return tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), class_="scroll")


def _summary(board: Board) -> Markup:
    done = sum(result.done for result in board.results)
    newest = max((result.created for result in board.results), default="")
    text = f"{len(board.models)} models on {len(board.tasks)} tasks: {done} evaluations"
    failed = f", {len(board.failures)} failed" if board.failures else ""
    return tag("p", f"{text}{failed}. Steelyard {__version__}; newest result {newest or 'none'}.", class_="soft")


def _megabytes(value: int) -> str:
    return f"{value / 1e6:,.1f} MB" if value else "-"
