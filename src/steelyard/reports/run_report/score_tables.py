"""The scores of a report: tables of the headline metrics by task and model, and a plot of the main one.

Few models are columns, each with its own mark. Many models are rows, best first, because there are not enough marks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from steelyard.reports.components.charts import SERIES_CLASSES, Dot, dot_plot, legend, swatch
from steelyard.reports.components.markup import Markup, join, table, tag, th
from steelyard.reports.run_report.board import Board
from steelyard.results import HEADLINES, MAIN_METRIC, Result
from steelyard.results.leaders import Leaders

DEEPEST = 100
"""The deepest cut-off of the metrics in the tables."""
NOTE = (
    "Intervals are 95 %, bootstrapped over queries. The strongest model is the one with the highest nDCG@10 "
    "(on reranking tasks, the highest MAP). “or” names the models that cannot be distinguished from it (paired "
    "randomisation test with Holm's correction, p ≥ 0.05), and so does the marked colour in every column. recall@100 "
    "is the mean of each query's recall."
)
TIED_SHOWN = 3
"""Tied models that are named in a cell."""


def score_section(board: Board) -> Markup:
    """Return every headline metric by task and model, with the best of each task marked."""
    if not board.models:
        return Markup("")
    tables = _models_down(board) if many(board) else _models_across(board)
    return join(tag("p", NOTE, class_="soft"), *_shallow(board), tables)


def _shallow(board: Board) -> list[Markup]:
    """Return a note if lists end before the deepest cut-off."""
    depths = (result.settings.get("top_k", DEEPEST) for result in board.results if result.done)
    if (shallowest := min(depths, default=DEEPEST)) >= DEEPEST:
        return []
    return [
        tag("p", f"Lists end at rank {shallowest}: relevant documents below it count as not retrieved.", class_="bad")
    ]


def many(board: Board) -> bool:
    """Return whether the report has more models than marks."""
    return len(board.series or board.models) > SERIES_CLASSES


def _models_across(board: Board) -> Markup:
    spans = _fact_heads(rowspan=2)
    spans += [th(name, colspan=len(board.models), class_="first") for name in HEADLINES.values()]
    models = [_head(m, mark(board, m), first=s == 0) for _ in HEADLINES for s, m in enumerate(board.models)]
    rows = [_task_row(board, task) for task in board.tasks]
    if len(board.common_tasks) > 1:
        rows.append(_mean_row(board))
    heads = [tag("tr", *spans), tag("tr", *models)]
    return join(model_legend(board), table("Scores by task and model", heads, rows, "figures"))


def mark(board: Board, model: str) -> Markup | None:
    """Return the mark of the model in the whole report; None if there are too many models."""
    return None if many(board) else swatch(board.place(model), model)


def model_legend(board: Board) -> Markup:
    """Return the models of a part of the report with their marks; nothing if there are too many."""
    if many(board):
        return Markup("")
    return legend(board.models, [board.place(model) for model in board.models])


def _models_down(board: Board) -> Markup:
    """Return a table of the tasks and one of the models."""
    facts = tag("tr", *_fact_heads())
    tasks = (tag("tr", *_task_facts(board, task)) for task in board.tasks)
    mean = ["Mean"] if len(board.common_tasks) > 1 else []
    wide = len(mean) + len(board.tasks)
    spans = [th("Model", rowspan=2)]
    spans += [th(name, colspan=wide, class_="first") for name in HEADLINES.values()]
    short = _without_group(board.tasks)
    heads = [_head(name, None, first=c == 0) for _ in HEADLINES for c, name in enumerate([*mean, *short])]
    best = {(task, metric): board.best(task, metric) for task in board.tasks for metric in HEADLINES}
    highest = {metric: board.best_means(metric) if mean else () for metric in HEADLINES}
    rows = []
    for model in _ranked(board):
        cells = []
        for metric in HEADLINES:
            if mean:
                cells.append(_mean_cell(board.mean(model, metric), model in highest[metric], first=True))
            for c, task in enumerate(board.tasks):
                first = c == 0 and not mean
                failed = board.failed(task, model)
                marked = model in best[task, metric]
                cells.append(_score_cell(board.cell(task, model), metric, marked, first=first, failed=failed))
        rows.append(tag("tr", tag("th", model, scope="row"), *cells))
    scores = table("Scores by model and task", [tag("tr", *spans), tag("tr", *heads)], rows, "figures")
    about = table("Tasks", [facts], tasks)
    order = "Models by their mean over the common tasks, highest first." if mean else "Highest first."
    return join(about, tag("p", order, class_="soft"), scores)


def _fact_heads(rowspan: int | None = None) -> list[Markup]:
    names = {"Task": None, "Language": None, "Queries × docs": "number", "Strongest": None}
    return [th(name, class_=kind, rowspan=rowspan) for name, kind in names.items()]


def _without_group(tasks: Sequence[str]) -> Sequence[str]:
    """Return the tasks without their group, if the names stay distinct.

    >>> _without_group(["NanoX/en", "NanoX/zh"]), _without_group(["A/en", "B/en"])
    (['en', 'zh'], ['A/en', 'B/en'])
    """
    short = [task.rpartition("/")[2] for task in tasks]
    return short if len(set(short)) == len(tasks) else tasks


def _ranked(board: Board) -> list[str]:
    """Return the models by their main score, highest first, those without one last."""

    def score(model: str) -> float:
        mean = board.mean(model)
        scores = _known(cell.score for task in board.tasks if (cell := board.cell(task, model)))
        return mean if mean is not None else (sum(scores) / len(scores) if scores else -1.0)

    return sorted(board.models, key=score, reverse=True)


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _head(name: str, mark: Markup | None, *, first: bool) -> Markup:
    """Return the head of a column, with the mark of the model."""
    return th(mark, name, class_="number model first" if first else "number model", title=name)


def _task_facts(board: Board, task: str) -> list[Markup]:
    """Return the first cells of a task: name, language, size and strongest model."""
    cells = [cell for model in board.models if (cell := board.cell(task, model))]
    facts = cells[0].facts if cells else None
    size = f"{facts.queries:,} × {facts.documents:,}" if facts and facts.queries and facts.documents else "-"
    partial = " (partial)" if any(cell.partial for cell in cells) else ""
    return [
        tag("th", task + partial, scope="row"),
        tag("td", facts.language if facts else "-"),
        tag("td", size, class_="number"),
        _strongest_cell(board, board.leaders(task)),
    ]


def _task_row(board: Board, task: str) -> Markup:
    row = _task_facts(board, task)
    for metric in HEADLINES:
        best: Collection[str] = board.best(task, metric)
        row += [
            _score_cell(board.cell(task, model), metric, model in best, first=s == 0, failed=board.failed(task, model))
            for s, model in enumerate(board.models)
        ]
    return tag("tr", *row)


def _score_cell(cell: Result | None, metric: str, best: bool, *, first: bool, failed: bool = False) -> Markup:
    value = cell.metrics.get(metric) if cell else None
    classes = " ".join(["number", *(["best"] * best), *(["first"] * first)])
    if cell is None or value is None:
        return tag("td", tag("span", "failed", class_="bad") if failed else "-", class_=classes)
    interval = cell.intervals.get(metric)
    spread = tag("small", f"{interval.low:.3f}–{interval.high:.3f}") if interval else None
    return tag("td", f"{value:.4f}", spread, class_=classes)


def _strongest_cell(board: Board, leaders: Leaders | None) -> Markup:
    if leaders is None:
        return tag("td", "-")
    names = [leaders.model, *leaders.tied[:TIED_SHOWN]]
    marks = (
        tag(
            "span",
            "or " if place else None,
            mark(board, name),
            name,
            class_="profile",
            title=name,
        )
        for place, name in enumerate(names)
    )
    more = len(leaders.tied) - TIED_SHOWN
    rest = tag("span", f"or {more} more", class_="profile", title=", ".join(leaders.tied)) if more > 0 else None
    tests = "; ".join(f"{model}: p = {p:.4f}" for model, p in list(leaders.p_values.items())[:TIED_SHOWN])
    return tag("td", *marks, rest, title=tests or None)


def _mean_row(board: Board) -> Markup:
    count = len(board.common_tasks)
    label = f"Mean of {count} tasks" if count == len(board.tasks) else f"Mean of the {count} common tasks"
    cells = []
    for metric in HEADLINES:
        best = board.best_means(metric)
        cells += [_mean_cell(board.mean(m, metric), m in best, first=s == 0) for s, m in enumerate(board.models)]
    return tag("tr", tag("th", label, colspan=4, scope="row"), *cells, class_="mean")


def _mean_cell(value: float | None, best: bool, *, first: bool) -> Markup:
    return tag("td", "-" if value is None else f"{value:.4f}", class_=f"number{' best' * best}{' first' * first}")


def plot(board: Board) -> Markup:
    """Plot the main score of every model by task, with intervals; many models are rows, best first."""
    mains = {result.main_metric for result in board.results if result.done}
    what = HEADLINES[MAIN_METRIC] if mains == {MAIN_METRIC} else "The main score"
    if not mains:
        return Markup("")
    rows, series, title = board.tasks, board.models, f"{what} by task and model, with 95 % intervals"
    if not many(board):
        dots = [[_dot(board.cell(task, model)) for model in series] for task in rows]
    elif len(board.tasks) <= SERIES_CLASSES:
        rows, series, title = _ranked(board), board.tasks, f"{what} by model and task, with 95 % intervals"
        dots = [[_dot(board.cell(task, model)) for task in series] for model in rows]
    else:
        rows, series, title = _ranked(board), ["mean"], f"{what} of every model, a mean over the common tasks"
        means = (board.mean(model) for model in rows)
        dots = [[None if mean is None else Dot(mean)] for mean in means]
    return join(tag("p", title, class_="soft"), legend(series), dot_plot(rows, series, dots, title))


def _dot(cell: Result | None) -> Dot | None:
    if cell is None or cell.score is None:
        return None
    return Dot(cell.score, *((cell.interval.low, cell.interval.high) if cell.interval else ()))
