"""A recommendation as one self-contained HTML page: sentences, a front for each cost, the table."""

from __future__ import annotations

import math
from importlib import resources
from typing import TYPE_CHECKING

from steelyard import __version__
from steelyard.recommendation.choice import AXES, Choice
from steelyard.reports.components.markup import Markup, join, table, tag, th

if TYPE_CHECKING:
    from steelyard.recommendation.table import Recommendation

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 620, 320, 64, 16, 44


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
        join(tag("h2", f"Quality against {AXES[name][0]}"), _plot(recommendation, name))
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
        (number, choice, max(value, 1e-9))
        for number, choice in enumerate(recommendation.choices, 1)
        if (value := cost(choice.costs)) is not None
    ]
    low, high = min(value for *_, value in points), max(value for *_, value in points)
    first, last = math.floor(math.log10(low)), max(math.ceil(math.log10(high)), math.floor(math.log10(low)) + 1)
    bottom = min(choice.interval.low for _, choice, _ in points)
    top = max(choice.interval.high for _, choice, _ in points)
    span = (top - bottom) or 1.0

    def x(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - 20) * (math.log10(value) - first) / (last - first), 1)

    def y(value: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (top - value) / span, 1)

    grid = [
        join(
            tag("line", x1=x(10.0**power), x2=x(10.0**power), y1=TOP, y2=HEIGHT - BOTTOM, class_="grid"),
            tag("text", f"{10.0**power:g}", x=x(10.0**power), y=HEIGHT - BOTTOM + 16, class_="tick"),
        )
        for power in range(first, last + 1)
    ]
    grid += [
        tag("text", f"{value:.3f}", x=LEFT - 30, y=y(value) + 4, class_="tick")
        for value in (bottom, (bottom + top) / 2, top)
    ]
    axis = tag("text", title, x=(LEFT + WIDTH) / 2, y=HEIGHT - 6, class_="tick")
    front = recommendation.fronts[name]
    line = " ".join(f"{x(max(cost(choice.costs) or 0.0, 1e-9))},{y(choice.quality)}" for choice in front)
    path = tag("polyline", points=line, fill="none", stroke="currentColor", stroke_dasharray="4 3")
    marks = [_mark(recommendation, number, choice, x(value), y) for number, choice, value in points]
    label = f"Quality against {title}; the dashed line is the Pareto front"
    return tag(
        "svg",
        tag("title", label),
        *grid,
        axis,
        path,
        *marks,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=label,
        class_="chart",
    )


def _mark(recommendation: Recommendation, number: int, choice: Choice, x: float, y: object) -> Markup:
    place = y if callable(y) else float
    series = 0 if choice is recommendation.recommended else 1 if choice in recommendation.tied else 2
    note = f"{number}. {choice.model}: {choice.quality:.4f} [{choice.interval.low:.4f}, {choice.interval.high:.4f}]"
    return join(
        tag("line", x1=x, x2=x, y1=place(choice.interval.low), y2=place(choice.interval.high), class_=f"bar s{series}"),
        tag("circle", tag("title", note), cx=x, cy=place(choice.quality), r=4, class_=f"mark s{series}"),
        tag("text", number, x=x + 8, y=place(choice.quality) - 6, class_="tick"),
    )
