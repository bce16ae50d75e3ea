"""The report of a run: one HTML file with scores, a plot, the best models, costs and failures."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from steelyard import __version__
from steelyard.files import write_output
from steelyard.reports.components.charts import SERIES_CLASSES
from steelyard.reports.components.markup import Markup, join, table, tag, th
from steelyard.reports.run_report.board import Board
from steelyard.reports.run_report.other_types import is_searched, other_types
from steelyard.reports.run_report.passages import passage_table
from steelyard.reports.run_report.score_tables import plot, score_section
from steelyard.reports.run_report.stages import stage_section
from steelyard.reports.run_report.variants import variant_table
from steelyard.results import Miss, Result

SECTIONS = {
    "figures": "Scores",
    "others": "Other types of tasks",
    "plot": "Plot",
    "stages": "Stages",
    "variants": "Variants",
    "passages": "Passages",
    "misses": "Where models fail",
    "costs": "Costs",
    "errors": "Errors",
}


def write_report(results: Sequence[Result], path: Path) -> Path:
    """Write the report of these results to `path`, whole or not at all, and return the path."""
    write_output(path, page(results).encode(errors="backslashreplace"))
    return path


def page(results: Sequence[Result]) -> str:
    """Return the report as HTML: style inside, no script, no downloads."""
    board = Board(results)
    bodies = {
        "figures": score_section(board.part(is_searched)),
        "others": other_types(board.part(lambda result: not is_searched(result))),
        "plot": plot(board),
        "stages": stage_section(board),
        "variants": variant_table(results),
        "passages": passage_table(results),
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
    skip = tag("a", "Skip to the scores", href="#main", class_="skip")
    nav = tag("nav", *links, aria_label="Sections")
    main = tag("main", *parts, id="main", tabindex=-1)
    body = tag("body", skip, tag("header", tag("h1", "Steelyard report"), _summary(board), nav), main)
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def misses(board: Board) -> Markup:
    """Return the worst queries of every task and model, with the document that was ranked first."""
    blocks = []
    for task in board.tasks:
        cells = [cell for model in board.models if (cell := board.cell(task, model)) and cell.misses]
        if cells:
            inner = (join(tag("h3", cell.model), _miss_table(cell.misses)) for cell in cells)
            blocks.append(tag("details", tag("summary", f"{task}: {_miss_count(cells)}"), *inner))
    return join(*blocks)


def _miss_count(cells: Sequence[Result]) -> str:
    """Return the number of queries of each model without a hit in the top ten; of many models, the range."""
    counts = []
    for cell in cells:
        hit, queries = cell.metrics.get("hit_rate_at_10"), cell.facts.queries
        if hit is not None and queries:
            counts.append((round((1 - hit) * queries), queries, cell.model))
    if len(counts) > SERIES_CLASSES:
        few, (most, queries, _) = min(counts)[0], max(counts)
        text = f"{few} to {most} of {queries}" if few < most else f"{few} of {queries} for every model"
    else:
        text = ", ".join(f"{model} {count} of {queries}" for count, queries, model in counts)
    return f"queries without a relevant document in the top ten: {text}"


def _miss_table(rows: Sequence[Miss]) -> Markup:
    head = tag("tr", *(th(name) for name in ("Query", "Rank", "Ranked first", "Relevant document")))
    body = (
        tag(
            "tr",
            tag("td", miss.query, class_="text", dir="auto"),
            tag("td", "not found" if miss.rank is None else miss.rank, class_="number"),
            tag("td", miss.top or "no document", class_="text", dir="auto"),
            tag("td", miss.positive or "-", class_="text", dir="auto"),
        )
        for miss in rows
    )
    return table("Queries with the worst rankings", [head], body)


def costs(board: Board) -> Markup:
    """Return seconds and bytes by model, summed over its tasks."""
    head = ("Model", "Tasks", "Index s", "Search s", "Score s", "Total s", "Largest index", "Peak memory")
    rows = []
    for model in board.models:
        cells = [cell for task in board.tasks if (cell := board.cell(task, model))]
        seconds = (sum(c.timings.get(name, 0.0) for c in cells) for name in ("index", "search", "score", "total"))
        largest = max((c.index_bytes or 0 for c in cells), default=0)
        memory = max((c.peak_memory_bytes or 0 for c in cells), default=0)
        values: list[str | int] = [len(cells), *(f"{s:.2f}" for s in seconds), _megabytes(largest), _megabytes(memory)]
        rows.append(tag("tr", tag("th", model, scope="row"), *(tag("td", v, class_="number") for v in values)))
    names = (th(name, class_=None if i == 0 else "number") for i, name in enumerate(head))
    return table("Seconds and bytes by model", [tag("tr", *names)], rows)


def errors(board: Board) -> Markup:
    """Return the evaluations that failed, with hints."""
    if not board.failures:
        return Markup("")
    rows = (
        tag("tr", tag("td", board.task_of(r)), tag("td", r.model), tag("td", str(r.error), class_="text bad"))
        for r in board.failures
    )
    head = tag("tr", *(th(name) for name in ("Task", "Model", "Error")))
    return table("Evaluations that failed", [head], rows)


def _summary(board: Board) -> Markup:
    done = sum(result.done for result in board.results)
    newest = max((result.created for result in board.results), default="")
    text = f"{_counted(len(board.models), 'model')} on {_counted(len(board.tasks), 'task')}: "
    text += _counted(done, "evaluation")
    failed = f", {len(board.failures)} failed" if board.failures else ""
    return tag("p", f"{text}{failed}. Steelyard {__version__}; newest result {newest or 'none'}.", class_="soft")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _megabytes(value: int) -> str:
    return f"{value / 1e6:,.1f} MB" if value else "-"
