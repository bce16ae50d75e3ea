"""Values against size: lines with intervals on a logarithmic axis, and a page with such plots."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from steelyard import __version__
from steelyard.files import write_output
from steelyard.reports.components.markup import Markup, join, tag

SERIES_CLASSES = 8
LEFT, TOP, WIDTH, HEIGHT, MARGIN = 60, 18, 620, 300, 190


@dataclass(frozen=True)
class Point:
    """A value at a size, with its interval."""

    size: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """A line of points by increasing size."""

    name: str
    points: tuple[Point, ...]


def curve_plot(curves: Sequence[Curve], title: str, across: str, target: float | None = None) -> Markup:
    """Plot lines with their names at the end, and a dashed line at the target.

    The upright axis ends at 1 and begins below the lowest range; sizes stand on a logarithmic scale.
    """
    points = [point for curve in curves for point in curve.points]
    sizes = sorted({point.size for point in points})
    lows = [point.low for point in points] + ([target] if target is not None else [])
    floor = math.floor(10 * min([1.0, *lows]) - 1e-9) / 10
    reach = math.log(sizes[-1] / sizes[0]) if len(sizes) > 1 else 1.0

    def x(size: int) -> float:
        return round(LEFT + WIDTH * math.log(size / sizes[0]) / reach, 1)

    def y(value: float) -> float:
        return round(TOP + HEIGHT * (1 - value) / (1 - floor), 1)

    shapes: list[Markup] = []
    for tick in range(6):
        value = floor + (1 - floor) * tick / 5
        shapes.append(tag("line", x1=LEFT, x2=LEFT + WIDTH, y1=y(value), y2=y(value), class_="grid"))
        shapes.append(tag("text", f"{value:.2f}", x=LEFT - 10, y=y(value) + 4, class_="label"))
    shapes += [tag("text", f"{size:,}", x=x(size), y=TOP + HEIGHT + 22, class_="tick") for size in _apart(sizes, x)]
    shapes.append(tag("text", across, x=LEFT + WIDTH / 2, y=TOP + HEIGHT + 44, class_="tick axis"))
    if target is not None:
        place = {"x1": LEFT, "x2": LEFT + WIDTH, "y1": y(target), "y2": y(target)}
        shapes.append(tag("line", class_="grid zero", stroke_dasharray="6 4", **place))
    ends = _labels([y(curve.points[-1].value) for curve in curves])
    for number, (curve, end) in enumerate(zip(curves, ends, strict=True)):
        series = f"s{number % SERIES_CLASSES}"
        above = [f"{x(p.size)},{y(p.high)}" for p in curve.points]
        below = [f"{x(p.size)},{y(p.low)}" for p in reversed(curve.points)]
        line = " ".join(f"{x(p.size)},{y(p.value)}" for p in curve.points)
        shapes.append(
            tag("polygon", points=" ".join(above + below), class_=series, style="fill-opacity:.12;stroke:none")
        )
        shapes.append(tag("polyline", points=line, class_=series, style="fill:none;stroke-width:2"))
        for point in curve.points:
            note = f"{curve.name}, {point.size:,}: {point.value:.3f} ({point.low:.3f} to {point.high:.3f})"
            shapes.append(tag("circle", tag("title", note), cx=x(point.size), cy=y(point.value), r=4, class_=series))
        shapes.append(tag("text", curve.name, x=x(curve.points[-1].size) + 12, y=end + 4))
    size = f"0 0 {LEFT + WIDTH + MARGIN} {TOP + HEIGHT + 56}"
    return tag("svg", tag("title", title), *shapes, viewBox=size, role="img", aria_label=title, class_="chart")


def _apart(sizes: Sequence[int], x: Callable[[int], float]) -> list[int]:
    """Return the sizes whose labels do not overlap, always with the largest."""
    labelled = [sizes[-1]]
    for size in reversed(sizes[:-1]):
        if x(labelled[-1]) - x(size) >= 40:
            labelled.append(size)
    return labelled[::-1]


def _labels(ends: Sequence[float]) -> list[float]:
    """Return the positions, moved down where labels would overlap.

    >>> _labels([20.0, 18.0, 60.0])
    [32.0, 18.0, 60.0]
    """
    placed = list(ends)
    last = -math.inf
    for at in sorted(range(len(ends)), key=ends.__getitem__):
        placed[at] = last = max(ends[at], last + 14)
    return placed


def write_page(
    path: Path,
    heading: str,
    sentences: Sequence[str],
    plots: Mapping[str, Markup],
    tables: Mapping[str, tuple[Sequence[str], Sequence[Sequence[object]]]],
) -> Path:
    """Write a page of sentences, plots and tables with their titles; style inside, no script, no downloads."""
    style = Markup(resources.files("steelyard.reports").joinpath("page.css").read_text(encoding="utf-8"))
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head = tag("head", Markup(meta), tag("title", heading), tag("style", style))
    sections = [tag("section", tag("h2", name), picture) for name, picture in plots.items()]
    sections += [tag("section", tag("h2", name), _table(*table)) for name, table in tables.items()]
    paragraphs = (tag("p", sentence) for sentence in sentences)
    foot = tag("p", f"Steelyard {__version__}", class_="soft")
    body = tag("body", tag("h1", heading), *paragraphs, *sections, foot, class_="page")
    write_output(path, f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'.encode())
    return path


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Markup:
    head = tag("tr", *(tag("th", name) for name in columns))
    body = (tag("tr", *(_cell(value) for value in row)) for row in rows)
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="scroll")


def _cell(value: object) -> Markup:
    if isinstance(value, float):
        return tag("td", f"{value:.4f}", class_="number")
    return tag("td", f"{value:,}", class_="number") if isinstance(value, int) else tag("td", join(str(value)))
