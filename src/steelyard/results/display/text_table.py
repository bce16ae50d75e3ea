"""The rows of a table of scores, and the table as plain text."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from steelyard.results.display.model_labels import short_names
from steelyard.stats.intervals import interval_of_mean
from steelyard.text.display import broken_at, display_width, is_plain, plain

if TYPE_CHECKING:
    from steelyard.results.schema import Result
    from steelyard.results.table import Results

MANY = 6
"""From this many models on, models become rows."""
MISSING = "-"
LONGEST_NAME, LONGEST_LABEL = 40, 60
"""Cells of a name above a column, and of the first column; longer ones are broken."""


def score_rows(results: Results, metric: str | None, *, intervals: bool) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of scores; see `Results.table`."""
    models = results.models
    rows = []
    for label in results.labels:
        cells = {model: cell for model in models if (cell := results.cell(label, model)) is not None}
        leaders = results.leaders(label, metric) if len(models) > 1 else None
        best = leaders.best if leaders else ()
        shown = (_cell(cells.get(model), metric, starred=model in best, intervals=intervals) for model in models)
        partial = " (partial)" if any(cell.partial for cell in cells.values()) else ""
        rows.append([label + partial + _row_metric(results, list(cells.values()), metric), *shown])
    if len(results.labels) > 1 and (means := results.means(metric)):
        rows.append(_mean_row(results, metric, means))
    table = [[results.title(metric), *short_names(models)], *rows]
    if MANY <= len(models) > len(rows):
        table = [list(line) for line in zip(*table, strict=True)]
    return table[0], table[1:]


def _mean_row(results: Results, metric: str | None, means: dict[str, float]) -> list[str]:
    common = len(results.common_tasks(metric))
    leaders = results.overall_leaders(metric) if len(results.models) > 1 else None
    best: Collection[str] = leaders.best if leaders else ()
    scores = {m: _score(mean, starred=m in best) + _mean_spread(results, m, metric) for m, mean in means.items()}
    label = "mean"
    if common != len(results.labels):
        label = f"mean of {common} common task{'' if common == 1 else 's'}"
    return [label, *(scores.get(model, MISSING) for model in results.models)]


def _mean_spread(results: Results, model: str, metric: str | None) -> str:
    """Return half the width of the interval of a mean over tasks, from the intervals of the tasks."""
    cells = [cell for label in results.common_tasks(metric) if (cell := results.cell(label, model))]
    names = [metric or cell.main_metric for cell in cells]
    scores = [cell.metrics.get(name) for cell, name in zip(cells, names, strict=True)]
    intervals = [cell.intervals.get(name) for cell, name in zip(cells, names, strict=True)]
    known = [(score, one) for score, one in zip(scores, intervals, strict=True) if score is not None and one]
    if not known or len(known) < len(cells):
        return ""
    mean = interval_of_mean([score for score, _ in known], [one for _, one in known])
    return _half((mean.high - mean.low) / 2)


def _row_metric(results: Results, cells: Sequence[Result], metric: str | None) -> str:
    """Return the main metric of a row in brackets where the tasks of the table have different ones."""
    if metric is not None or results.title() != "main score":
        return ""
    mains = {cell.main_metric for cell in cells if cell.done}
    return f" ({results.title(mains.pop())})" if len(mains) == 1 else ""


def _cell(result: Result | None, metric: str | None, *, starred: bool, intervals: bool) -> str:
    if result is None:
        return MISSING
    name = metric or result.main_metric
    value = result.metrics.get(name)
    if value is None:
        return MISSING if result.done else "failed"
    interval = result.intervals.get(name)
    if interval is None:
        return _score(value, starred=starred)
    exact = f" [{interval.low:.4f}, {interval.high:.4f}]"
    return _score(value, starred=starred) + (exact if intervals else _half((interval.high - interval.low) / 2))


def _half(width: float) -> str:
    return f" ±{width:.3f}"


def _score(value: float, *, starred: bool) -> str:
    return f"{value:.4f}{'*' if starred else ' '}"


def failure_lines(results: Results) -> list[str]:
    """Return a line for each reason of failures, with the evaluations that it ended."""
    failed: dict[str, list[str]] = {}
    for result in results.failures:
        failed.setdefault(str(result.error), []).append(f"{result.model} on {result.task}")
    return [
        f"failed: {places[0]}{f' and {len(places) - 1} more' if len(places) > 1 else ''}: {reason}"
        for reason, places in failed.items()
    ]


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the table as text, its columns padded to the width that a terminal shows; long names are broken.

    >>> print(text_table(["task", "score"], [["日本", "0.5"]]))
    task  score
    ----  -----
    日本  0.5
    """
    if is_plain(sys.stdout):
        columns, rows = [plain(name) for name in columns], [[plain(cell) for cell in row] for row in rows]
    limits = [LONGEST_LABEL, *[LONGEST_NAME] * (len(columns) - 1)]
    bodies = [max(map(display_width, column), default=0) for column in zip(*rows, strict=True)] or [0] * len(columns)
    limits = [limit if not place else max(limit, bodies[place]) for place, limit in enumerate(limits)]
    broken = [[broken_at(cell, limit) for cell, limit in zip(line, limits, strict=True)] for line in (columns, *rows)]
    widths = [max(display_width(part) for cell in column for part in cell) for column in zip(*broken, strict=True)]
    lines = [list(line) for cells in broken for line in zip_longest(*cells, fillvalue="")]
    lines.insert(max(map(len, broken[0])), ["-" * width for width in widths])
    padded = (
        [cell + " " * (width - display_width(cell)) for cell, width in zip(line, widths, strict=True)] for line in lines
    )
    return "\n".join("  ".join(cells).rstrip() for cells in padded)
