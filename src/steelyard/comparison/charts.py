"""The pictures of a comparison: a forest plot of differences, and scatter plots of per-query scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.reports.components.charts import SERIES_CLASSES, SHAPES
from steelyard.reports.components.markup import Markup, join, tag
from steelyard.types import Float64

LONGEST = 44
"""Characters of a row's name."""


@dataclass(frozen=True)
class ForestRow:
    """One line of a forest plot."""

    name: str
    value: float
    low: float | None
    high: float | None
    note: str
    total: bool = False
    """Whether the row is a mean, drawn as a diamond."""


def forest_plot(rows: Sequence[ForestRow], title: str, left_label: str, right_label: str) -> Markup:
    """Draw differences with their intervals around a line at 0; the labels say which side is better."""
    left = 20 + 7.2 * max((len(_short(row.name)) for row in rows), default=0)
    width, step, top = 560, 22, 40
    height = top + step * len(rows) + 34
    ticks = even_ticks([end for row in rows for end in (row.value, row.low, row.high) if end is not None])

    def x(value: float) -> float:
        return round(left + width * (value - ticks[0]) / (ticks[-1] - ticks[0]), 1)

    shapes: list[Markup] = []
    for tick in ticks:
        kind = "zero" if tick == 0 else "grid"
        shapes.append(tag("line", x1=x(tick), x2=x(tick), y1=top - 8, y2=height - 30, class_=kind))
        shapes.append(tag("text", f"{tick:+g}" if tick else "0", x=x(tick), y=height - 14, class_="tick"))
    shapes.append(tag("text", f"◀ {left_label}", x=x(0) - 8, y=16, class_="label"))
    shapes.append(tag("text", f"{right_label} ▶", x=x(0) + 8, y=16))
    for place, row in enumerate(rows):
        y = top + step * place + step / 2
        full = tag("title", row.name)
        shapes.append(tag("text", full, _short(row.name), x=left - 10, y=y + 4, class_="label"))
        if row.low is not None and row.high is not None:
            shapes.append(tag("line", x1=x(row.low), x2=x(row.high), y1=y, y2=y, class_="bar s0"))
        shape = "M0 -7L7 0L0 7L-7 0Z" if row.total else "M-4 -4h8v8h-8Z"
        move = f"translate({x(row.value):g} {y:g})"
        shapes.append(
            tag("path", tag("title", row.note), d=shape, transform=move, class_=f"mark {'s1' if row.total else 's0'}")
        )
    return _svg(title, left + width + 30, height, shapes)


@dataclass(frozen=True)
class Cloud:
    """The per-query scores of one task in a scatter plot."""

    task: str
    ids: Sequence[str]
    horizontal: Float64
    vertical: Float64


def scatter(clouds: Sequence[Cloud], title: str, horizontal: str, vertical: str) -> Markup:
    """Draw the scores of one model over those of another, one point for each query; equal points share one mark.

    Points above the diagonal are queries on which the vertical model is better. The area of a mark grows with the
    number of queries at that point.
    """
    size, left, top = 380, 60, 16
    values = [float(v) for cloud in clouds for axis in (cloud.horizontal, cloud.vertical) for v in axis]
    ticks = even_ticks([0.0, 1.0, *values])
    low, high = ticks[0], ticks[-1]

    def place(value: float) -> float:
        return (value - low) / (high - low) * size

    shapes: list[Markup] = []
    for tick in ticks:
        at = place(tick)
        shapes.append(tag("line", x1=left + at, x2=left + at, y1=top, y2=top + size, class_="grid"))
        shapes.append(tag("line", x1=left, x2=left + size, y1=top + size - at, y2=top + size - at, class_="grid"))
        shapes.append(tag("text", f"{tick:g}", x=round(left + at, 1), y=top + size + 16, class_="tick"))
        shapes.append(tag("text", f"{tick:g}", x=left - 6, y=round(top + size - at + 4, 1), class_="label"))
    shapes.append(tag("line", x1=left, x2=left + size, y1=top + size, y2=top, class_="zero"))
    for number, cloud in enumerate(clouds):
        shapes += _points(cloud, number, left, top + size, place)
    shapes.append(tag("text", horizontal, x=left + size / 2, y=top + size + 36, class_="tick"))
    turned = f"translate(16 {top + size / 2}) rotate(-90)"
    shapes.append(tag("text", vertical, transform=turned, class_="tick"))
    return _svg(title, left + size + 20, top + size + 46, shapes, kind="chart narrow square")


def _points(cloud: Cloud, number: int, left: float, bottom: float, place: object) -> list[Markup]:
    assert callable(place)
    groups: dict[tuple[float, float], list[str]] = {}
    for query, x, y in zip(cloud.ids, cloud.horizontal.tolist(), cloud.vertical.tolist(), strict=True):
        groups.setdefault((round(x, 4), round(y, 4)), []).append(query)
    marks = []
    for (x, y), ids in groups.items():
        named = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        size = 0.5 + 0.2 * math.sqrt(len(ids))
        note = f"{cloud.task}: {named}: {x:.4f} and {y:.4f}"
        marks.append(
            tag(
                "path",
                tag("title", note),
                d=SHAPES[number % len(SHAPES)],
                transform=f"translate({left + place(x):.1f} {bottom - place(y):.1f}) scale({size:.2f})",
                class_=f"mark s{number % SERIES_CLASSES}",
                fill_opacity=0.55,
            )
        )
    return marks


def even_ticks(values: Sequence[float]) -> list[float]:
    """Return four to nine even steps that hold 0 and all values.

    >>> even_ticks([-0.02, 0.031]), even_ticks([0.0])
    ([-0.02, -0.01, 0.0, 0.01, 0.02, 0.03, 0.04], [-0.01, 0.0, 0.01])
    """
    low, high = min([0.0, *values]), max([0.0, *values])
    if high - low < 1e-9:
        return [-0.01, 0.0, 0.01]
    rough = (high - low) / 7
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in (1, 2, 5, 10) if nice * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def _short(name: str) -> str:
    half = LONGEST // 2
    return name if len(name) <= LONGEST else f"{name[: half - 1]}…{name[-half:]}"


def _svg(title: str, width: float, height: float, shapes: Sequence[Markup], kind: str = "chart") -> Markup:
    box = f"0 0 {width:g} {height:g}"
    return tag("svg", tag("title", title), join(*shapes), viewBox=box, role="img", aria_label=title, class_=kind)
