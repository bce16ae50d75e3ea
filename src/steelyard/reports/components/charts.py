"""SVG charts, readable in dark and light mode and without colour (marks differ in shape)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.reports.components.markup import Markup, join, tag

LONGEST_LABEL = 40
"""Maximum number of characters of a row's name."""

SERIES_CLASSES = 8
"""Number of series with their own colour and shape (classes s0 to s7 in the style sheet)."""

SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
    "M-3.6 -3.6h7.2v7.2h-7.2Z",
    "M0 -5L5 0L0 5L-5 0Z",
    "M0 -4.6L4.6 3.6H-4.6Z",
)
"""Circle, square, diamond, triangle: the marks of series in turn, around the origin."""


@dataclass(frozen=True)
class Dot:
    """A value with its interval."""

    value: float
    low: float | None = None
    high: float | None = None


def dot_plot(rows: Sequence[str], series: Sequence[str], dots: Sequence[Sequence[Dot | None]], title: str) -> Markup:
    """Plot one line per row, one mark per series and a bar per interval, on an axis from 0 to 1 or wider.

    `dots[r][s]` is the mark of row r and series s, or None. The title is the picture's alt text.
    """
    left = 24 + round(10.5 * max((len(_short(name)) for name in rows), default=0))
    width, step, top = 560, 16 + 7 * len(series), 26
    height = top + step * len(rows) + 26

    ends = [end for row in dots for dot in row if dot for end in (dot.value, dot.low, dot.high)]
    ticks = even_ticks([0.0, 1.0, *ends])

    def x(value: float) -> float:
        return round(left + width * (value - ticks[0]) / (ticks[-1] - ticks[0]), 1)

    grid = [
        join(
            tag("line", x1=x(tick), x2=x(tick), y1=top - 6, y2=height - 22, class_="grid"),
            tag(
                "text",
                f"{tick:,.1f}" if ticks[-1] - ticks[0] < 10 else f"{tick:,.0f}",
                x=x(tick),
                y=height - 6,
                class_="tick",
            ),
        )
        for tick in ticks
    ]
    marks: list[Markup] = []
    for r, name in enumerate(rows):
        middle = top + step * r + step / 2
        full = tag("title", name) if _short(name) != name else None
        marks.append(tag("text", full, _short(name), x=left - 12, y=middle + 4, class_="label"))
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
            marks.append(mark(s, x(dot.value), y, note))
    return _frame(title, left + width + 20, height, *grid, *marks, kind="chart narrow")


def even_ticks(values: Iterable[float | None], steps: int = 8) -> list[float]:
    """Return round, even ticks around all values, about as many as `steps`.

    >>> even_ticks([0.0, 0.4, 1.0]), even_ticks([0.837, 0.98], steps=4)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.8, 0.85, 0.9, 0.95, 1.0])
    >>> even_ticks([-0.02, 0.0, None, 0.031], steps=7), even_ticks([0.5])
    ([-0.02, -0.01, 0.0, 0.01, 0.02, 0.03, 0.04], [0.49, 0.5, 0.51])
    """
    known = [value for value in values if value is not None]
    low, high = min(known), max(known)
    if high - low < 1e-9:
        return [round(low + step, 12) for step in (-0.01, 0.0, 0.01)]
    rough = (high - low) / steps
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in (1, 2, 5, 10) if nice * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def _short(name: str) -> str:
    """Return the start and the end of a long name.

    >>> _short("xquad_en"), _short("a" * 30 + "b" * 30)
    ('xquad_en', 'aaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbbb')
    """
    half = LONGEST_LABEL // 2
    return name if len(name) <= LONGEST_LABEL else f"{name[: half - 1]}…{name[-half:]}"


def legend(series: Sequence[str], places: Sequence[int] | None = None) -> Markup:
    """Return the marks of `dot_plot` with the names of the series; `places` are their numbers in a larger chart."""
    pairs = zip(range(len(series)) if places is None else places, series, strict=True)
    return tag("p", *(tag("span", swatch(s, name), name, class_="entry") for s, name in pairs), class_="legend")


def swatch(series: int, name: str) -> Markup:
    """Return the mark of a series, small enough for a line of text."""
    return tag("svg", mark(series, 8, 8, name), viewBox="0 0 16 16", class_="swatch", aria_hidden="true")


def mark(series: int, x: float, y: float, note: str) -> Markup:
    """Return a circle, square, diamond or triangle in turn, so that colour is never the only difference."""
    return tag(
        "path",
        tag("title", note),
        d=SHAPES[series % len(SHAPES)],
        transform=f"translate({x:g} {y:g})",
        class_=f"mark s{series % SERIES_CLASSES}",
    )


def _frame(title: str, width: float, height: float, *shapes: Markup, kind: str = "chart") -> Markup:
    """Return the SVG of shapes with a title as alternative text; a narrow one has larger letters."""
    return tag(
        "svg",
        tag("title", title),
        *shapes,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=title,
        class_=kind,
    )


def bars(
    classes: Sequence[str],
    series: Sequence[str],
    counts: Sequence[Sequence[int]],
    title: str,
    axis: str,
    width: int = 840,
) -> Markup:
    """Plot bars in groups: `counts[s][c]` of series s in class c, with the number above; `axis` names the classes.

    Each series has its mark at the foot of its bars, so that colour is not the only difference.
    """
    left, top, height = 16, 22, 190
    most = max((count for row in counts for count in row), default=0) or 1
    step = width / max(len(classes), 1)
    thick = min(step * 0.8 / max(len(series), 1), 54)
    shapes: list[Markup] = []
    for c, name in enumerate(classes):
        middle = left + step * (c + 0.5)
        for s, label in enumerate(series):
            count = counts[s][c]
            x = middle + thick * (s - len(series) / 2)
            tall = round(height * count / most, 1)
            note = tag("title", f"{label}, {name}: {count:,}")
            place = {"x": _round(x + 1), "y": _round(top + height - tall), "width": _round(thick - 2), "height": tall}
            shapes.append(tag("rect", note, class_=f"column s{s % SERIES_CLASSES}", **place))
            if count and thick > 13:
                y = _round(top + height - tall - 5)
                shapes.append(tag("text", f"{count:,}", x=_round(x + thick / 2), y=y, class_="tick"))
            if len(series) > 1:
                shapes.append(mark(s, _round(x + thick / 2), top + height + 9, label))
        shapes.append(tag("text", name, x=_round(middle), y=top + height + 30, class_="tick"))
    base = tag("line", x1=left, x2=left + width, y1=top + height, y2=top + height, class_="grid")
    foot = tag("text", axis, x=left + width / 2, y=top + height + 48, class_="tick axis")
    return _frame(title, left + width + 16, top + height + 56, base, *shapes, foot)


@dataclass(frozen=True)
class Panel:
    """One of several histograms: counts between edges, which are powers of two."""

    name: str
    edges: Sequence[int]
    counts: Sequence[int]
    median: float


def histograms(panels: Sequence[Panel], title: str, axis: str, width: int = 480) -> Markup:
    """Plot histograms with the same bins below each other; a line marks each median."""
    left, top, high, gap = 84, 18, 62, 24
    first = min((int(panel.edges[0]).bit_length() - 1 for panel in panels), default=0)
    last = max((int(panel.edges[-1]).bit_length() - 1 for panel in panels), default=1)
    # The last label is centred below the last edge.
    right = max(16, 4 * len(f"{2**last:,}") + 4)
    step = (width - left - right) / max(last - first, 1)
    shapes: list[Markup] = []
    for p, panel in enumerate(panels):
        foot = top + p * (high + gap) + high
        most = max(panel.counts, default=0) or 1
        shapes.append(tag("text", panel.name, x=left - 10, y=foot - high / 2 + 4, class_="label"))
        for low, edge, count in zip(panel.edges, panel.edges[1:], panel.counts, strict=False):
            x = left + step * (int(low).bit_length() - 1 - first)
            tall = round(high * count / most, 1)
            note = tag("title", f"{_class(low, edge)} {panel.name}: {count:,}")
            box = {"x": _round(x + 1), "y": _round(foot - tall), "width": _round(step - 2), "height": tall}
            shapes.append(tag("rect", note, class_="column s0", **box))
            if count and step > 6 * len(f"{count:,}"):
                shapes.append(
                    tag("text", f"{count:,}", x=_round(x + step / 2), y=_round(foot - tall - 4), class_="tick")
                )
        at = _round(left + step * (math.log2(max(panel.median, 1)) - first))
        note = tag("title", f"median: {panel.median:g} {panel.name}")
        shapes.append(tag("line", note, x1=at, x2=at, y1=foot - high, y2=foot, class_="median"))
        shapes.append(tag("line", x1=left, x2=width - right, y1=foot, y2=foot, class_="grid"))
    end = top + len(panels) * (high + gap) - gap
    every = math.ceil(7 * len(f"{2**last:,}") / step)
    for power in range(first, last + 1, every):
        x = _round(left + step * (power - first))
        shapes.append(tag("line", x1=x, x2=x, y1=end, y2=end + 4, class_="grid"))
        shapes.append(tag("text", f"{2**power:,}", x=x, y=end + 18, class_="tick"))
    shapes.append(tag("text", axis, x=_round((left + width) / 2), y=end + 36, class_="tick axis"))
    return _frame(title, width, end + 44, *shapes)


def _class(low: int, high: int) -> str:
    return f"{low:,}" if high - low == 1 else f"{low:,}-{high - 1:,}"


def heat_map(
    rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float | None]], title: str
) -> Markup:
    """Plot a cell for each row and column, darker for higher values (0 to 1), with the value in it."""
    left, top, wide, high = 230.0, 28.0, 164.0, 28.0
    shapes = [
        tag("text", name, x=left + wide * (c + 0.5), y=top - 9, class_="tick axis") for c, name in enumerate(columns)
    ]
    for r, name in enumerate(rows):
        y = top + high * r
        shapes.append(tag("text", name, x=left - 12, y=y + high / 2 + 4, class_="label"))
        for c, value in enumerate(values[r]):
            start = left + wide * c
            if value is not None:
                share = min(max(value, 0.0), 1.0)
                shade = f"{0.05 + 0.5 * share:.2f}"
                cell = {"x": start + 1, "y": y + 1, "width": wide - 2, "height": high - 2}
                shapes.append(tag("rect", class_="heat", fill_opacity=shade, **cell))
            text = "-" if value is None else f"{value:.4f}"
            shapes.append(tag("text", text, x=start + wide / 2, y=y + high / 2 + 4, class_="cell"))
    return _frame(title, left + wide * len(columns) + 8, top + high * len(rows) + 8, *shapes, kind="chart narrow")


@dataclass(frozen=True)
class Spot:
    """A weight at a point: x from 0 to 1, y from -1 to 1."""

    x: float
    y: float
    weight: int


def bubbles(spots: Sequence[Spot], title: str, across: str, upward: str) -> Markup:
    """Plot circles whose area is their weight; `across` and `upward` name the axes."""
    left, top, width, height = 74, 16, 700, 280
    most = max((spot.weight for spot in spots), default=1)

    def x(value: float) -> float:
        return _round(left + width * value)

    def y(value: float) -> float:
        return _round(top + height * (1 - value) / 2)

    shapes: list[Markup] = []
    for t in range(0, 11, 2):
        shapes.append(tag("line", x1=x(t / 10), x2=x(t / 10), y1=top, y2=top + height, class_="grid"))
        shapes.append(tag("text", f"{t / 10:.1f}", x=x(t / 10), y=top + height + 24, class_="tick"))
    for gain in (-1.0, -0.5, 0.0, 0.5, 1.0):
        kind = "grid" if gain else "grid zero"
        shapes.append(tag("line", x1=left, x2=left + width, y1=y(gain), y2=y(gain), class_=kind))
        shapes.append(tag("text", f"{gain:+.1f}" if gain else "0", x=left - 16, y=y(gain) + 4, class_="label"))
    for spot in spots:
        radius = max(_round(15 * (spot.weight / most) ** 0.5), 2)
        note = tag("title", f"{across} {spot.x:.1f}, {upward} {spot.y:+.1f}: {spot.weight:,}")
        shapes.append(tag("circle", note, cx=x(spot.x), cy=y(spot.y), r=radius, class_="bubble"))
    middle = top + height / 2
    shapes.append(tag("text", across, x=left + width / 2, y=top + height + 44, class_="tick axis"))
    turned = tag("text", upward, x=14, y=middle, class_="tick axis", transform=f"rotate(-90 14 {middle:g})")
    return _frame(title, left + width + 24, top + height + 52, *shapes, turned, kind="chart narrow")


def _round(value: float) -> float:
    return round(value, 1)
