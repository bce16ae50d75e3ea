"""SVG pictures for the pages: readable in dark and light, and by colour-blind people (colour and shape)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.reports.markup import Markup, join, tag

SERIES_CLASSES = 8
"""How many series get a colour and shape of their own (classes s0 to s7 in the style sheet)."""


@dataclass(frozen=True)
class Dot:
    """A value with the range that it may lie in."""

    value: float
    low: float | None = None
    high: float | None = None


def dot_plot(rows: Sequence[str], series: Sequence[str], dots: Sequence[Sequence[Dot | None]], title: str) -> Markup:
    """One line a row, one mark a series, a bar for each interval; the axis runs from 0 to 1.

    `dots[r][s]` is the mark of row r and series s, or None. The title is the picture's alt text.
    """
    left, width, step, top = 270, 560, 16 + 7 * len(series), 26
    height = top + step * len(rows) + 26

    def x(value: float) -> float:
        return round(left + width * min(max(value, 0.0), 1.0), 1)

    grid = [
        join(
            tag("line", x1=x(t / 10), x2=x(t / 10), y1=top - 6, y2=height - 22, class_="grid"),
            tag("text", f"{t / 10:.1f}", x=x(t / 10), y=height - 6, class_="tick"),
        )
        for t in range(0, 11, 2)
    ]
    marks: list[Markup] = []
    for r, name in enumerate(rows):
        middle = top + step * r + step / 2
        marks.append(tag("text", name, x=left - 12, y=middle + 4, class_="label"))
        for s, dot in enumerate(dots[r]):
            if dot is None:
                continue
            y = middle + 7 * (s - (len(series) - 1) / 2)
            note = f"{name}, {series[s]}: {dot.value:.4f}"
            if dot.low is not None and dot.high is not None:
                note += f" ({dot.low:.4f} to {dot.high:.4f})"
                marks.append(
                    tag("line", x1=x(dot.low), x2=x(dot.high), y1=y, y2=y, class_=f"bar s{s % SERIES_CLASSES}")
                )
            marks.append(_mark(s, x(dot.value), y, note))
    return tag(
        "svg",
        tag("title", title),
        *grid,
        *marks,
        viewBox=f"0 0 {left + width + 20} {height}",
        role="img",
        aria_label=title,
        class_="chart",
    )


def legend(series: Sequence[str]) -> Markup:
    """The marks of `dot_plot` with the names of the series."""
    return tag(
        "p", *(tag("span", swatch(s, name), name, class_="entry") for s, name in enumerate(series)), class_="legend"
    )


def swatch(series: int, name: str) -> Markup:
    """The mark of a series, small enough to stand in a line of text."""
    return tag("svg", _mark(series, 8, 8, name), viewBox="0 0 16 16", class_="swatch", aria_hidden="true")


def _mark(series: int, x: float, y: float, note: str) -> Markup:
    """Circle, square, diamond, triangle in turn, so that colour is never the only difference."""
    shapes = (
        "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
        "M-3.6 -3.6h7.2v7.2h-7.2Z",
        "M0 -5L5 0L0 5L-5 0Z",
        "M0 -4.6L4.6 3.6H-4.6Z",
    )
    return tag(
        "path",
        tag("title", note),
        d=shapes[series % len(shapes)],
        transform=f"translate({x:g} {y:g})",
        class_=f"mark s{series % SERIES_CLASSES}",
    )
