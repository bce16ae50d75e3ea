"""A recommendation as one self-contained HTML page: sentences, a front for each cost, the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from steelyard import __version__
from steelyard.recommendation.constraints import AXES, SMALLEST, Choice
from steelyard.reports.components.charts import even_ticks, legend, mark
from steelyard.reports.components.markup import Markup, join, table, tag, th

if TYPE_CHECKING:
    from steelyard.recommendation.recommendations import Recommendation

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 620, 320, 64, 16, 44
MARKS = ("recommended", "cannot be distinguished from the best", "other choices")

Place = Callable[[float], float]
"""The position of a value in the plot."""


def page(recommendation: Recommendation) -> str:
    """Return the page as HTML text: style inside, no script, nothing fetched."""
    style = Markup(resources.files("steelyard.reports").joinpath("page.css").read_text(encoding="utf-8"))
    title = "Steelyard recommendation"
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", title),
        tag("style", style),
    )
    fronts = [
        join(tag("h2", f"Quality against {AXES[name][0]}"), legend(MARKS), _plot(recommendation, name))
        for name in recommendation.fronts
    ]
    body = tag(
        "body",
        tag("header", tag("h1", title), tag("p", f"Steelyard {__version__}.", class_="soft")),
        tag(
            "main",
            *(tag("p", line) for line in recommendation.sentences()),
            *fronts,
            tag("h2", "Choices"),
            _table(recommendation),
            tag("p", "* recommended, = cannot be distinguished from the best, x breaks a constraint", class_="soft"),
            id="main",
        ),
    )
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def _table(recommendation: Recommendation) -> Markup:
    columns, rows = recommendation.table()
    lines = [tag("tr", tag("td", number), *(tag("td", cell) for cell in row)) for number, row in enumerate(rows, 1)]
    return table("Choices", [tag("tr", th("#"), *(th(name) for name in columns))], lines)


def _plot(recommendation: Recommendation, name: str) -> Markup:
    """Return a plot with a logarithmic axis of costs: a mark and an interval for each choice, a line for the front."""
    title, cost = AXES[name]
    points = [
        (number, choice, max(value, SMALLEST))
        for number, choice in enumerate(recommendation.choices, 1)
        if (value := cost(choice.costs)) is not None
    ]
    low, high = min(value for *_, value in points), max(value for *_, value in points)
    first, last = math.floor(math.log10(low)), max(math.ceil(math.log10(high)), math.floor(math.log10(low)) + 1)
    ticks = even_ticks([end for _, choice, _ in points for end in (choice.interval.low, choice.interval.high)], steps=5)

    def x(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - 20) * (math.log10(value) - first) / (last - first), 1)

    def y(value: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (ticks[-1] - value) / (ticks[-1] - ticks[0]), 1)

    front = recommendation.fronts[name]
    line = " ".join(f"{x(max(cost(choice.costs) or 0.0, SMALLEST))},{y(choice.quality)}" for choice in front)
    marks = [_mark(recommendation, number, choice, x(value), y) for number, choice, value in points]
    label = f"Quality against {title}; the dashed line is the Pareto front"
    return tag(
        "svg",
        tag("title", label),
        *_grid(range(first, last + 1), ticks, x, y),
        tag("text", title, x=(LEFT + WIDTH) / 2, y=HEIGHT - 6, class_="tick"),
        tag("text", "quality", transform=f"translate(12 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)", class_="tick"),
        tag("polyline", points=line, fill="none", stroke="currentColor", stroke_dasharray="4 3"),
        *marks,
        *_numbers([(number, x(value), y(choice.quality)) for number, choice, value in points]),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=label,
        class_="chart",
    )


def _grid(powers: Iterable[int], ticks: Sequence[float], x: Place, y: Place) -> list[Markup]:
    right = WIDTH - 20
    return [
        *(tag("line", x1=x(10.0**p), x2=x(10.0**p), y1=TOP, y2=HEIGHT - BOTTOM, class_="grid") for p in powers),
        *(tag("text", f"{10.0**p:g}", x=x(10.0**p), y=HEIGHT - BOTTOM + 16, class_="tick") for p in powers),
        *(tag("line", x1=LEFT, x2=right, y1=y(tick), y2=y(tick), class_="grid") for tick in ticks),
        *(tag("text", f"{tick:g}", x=LEFT - 6, y=y(tick) + 4, class_="label") for tick in ticks),
    ]


def _mark(recommendation: Recommendation, number: int, choice: Choice, x: float, y: Place) -> Markup:
    series = 0 if choice is recommendation.recommended else 1 if choice in recommendation.tied else 2
    note = f"{number}. {choice.model}: {choice.quality:.4f} [{choice.interval.low:.4f}, {choice.interval.high:.4f}]"
    return join(
        tag("line", x1=x, x2=x, y1=y(choice.interval.low), y2=y(choice.interval.high), class_=f"bar s{series}"),
        mark(series, x, y(choice.quality), note),
    )


def _numbers(points: Sequence[tuple[int, float, float]]) -> list[Markup]:
    """Return the numbers of the choices next to their marks, one above the other where marks are close."""
    placed: list[tuple[float, float]] = []
    texts = []
    for number, x, y in sorted(points, key=lambda point: point[1:]):
        height = y - 6
        while any(abs(x - left) < 16 and abs(height - above) < 12 for left, above in placed):
            height -= 12
        placed.append((x, height))
        texts.append(tag("text", number, x=x + 9, y=round(height, 1), class_="tick"))
    return texts
