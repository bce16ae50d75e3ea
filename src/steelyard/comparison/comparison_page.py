"""A comparison as one self-contained HTML page: summary, forest plot, tables, per-query scatter plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import combinations
from typing import TYPE_CHECKING

from steelyard import __version__
from steelyard.comparison import text
from steelyard.comparison.model import Difference
from steelyard.reports.components.charts import SERIES_CLASSES, SHAPES, even_ticks, legend
from steelyard.reports.components.markup import Markup, join, table, tag, th
from steelyard.types import Float64

if TYPE_CHECKING:
    from steelyard.comparison.comparison import Comparison


MOST_PAIRS = 10
"""Pairs that are drawn; tables list all."""
LONG = 50
"""A table with a longer cell breaks its lines."""
NUMERIC = set("0123456789+-[")
METHOD = (
    "Every difference is the later model minus the earlier one, on the same queries. p is that of a two-sided paired "
    "randomisation test with {flips:,} random sign changes (all of them for up to 14 queries); intervals are BCa "
    "bootstrap intervals with {draws:,} resamples of queries. The interval of a mean keeps the tasks fixed; the "
    "summary also has one that draws tasks. P(better) is the share of resamples in which the model has the higher "
    "mean. Detectable is the smallest true difference that this number of queries finds with probability 0.8."
)


def page(comparison: Comparison) -> str:
    """Return the page as HTML text: style inside, no script, nothing fetched."""
    bodies = {
        "Summary": _summary(comparison),
        "Differences": join(_forests(comparison), _table(text.differences(comparison))),
        "Ranking": join(_table(text.ranking(comparison)), _table(text.agreement(comparison))),
        "Queries": join(_scatters(comparison), _table(text.changed(comparison))),
        "Slices": _table(text.slices(comparison)),
        "Refused and noted": _table(text.flags(comparison)),
    }
    shown = {name: body for name, body in bodies.items() if body}
    style = Markup(resources.files("steelyard.reports").joinpath("page.css").read_text(encoding="utf-8"))
    title = "Steelyard comparison"
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", title),
        tag("style", style),
    )
    links = (tag("a", name, href=f"#{_anchor(name)}") for name in shown)
    parts = (tag("section", tag("h2", name), body, id=_anchor(name)) for name, body in shown.items())
    header = tag("header", tag("h1", title), _counts(comparison), tag("nav", *links, aria_label="Sections"))
    skip = tag("a", "Skip to the tables", href="#main", class_="skip")
    body = tag("body", skip, header, tag("main", *parts, id="main", tabindex=-1))
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


def _counts(comparison: Comparison) -> Markup:
    queries = sum(len(one.ids) for one in comparison.scores.values())
    line = f"{len(comparison.models)} models on {len(comparison.tasks)} tasks, {queries:,} queries. "
    return tag("p", f"{line}Steelyard {__version__}.", class_="soft")


def _summary(comparison: Comparison) -> Markup:
    lines = (tag("li", line) for line in text.summary(comparison))
    method = METHOD.format(flips=comparison.method.flips, draws=comparison.method.draws)
    notes = (tag("p", line, class_="soft") for line in (method, f"{text.note(comparison)}."))
    return join(tag("ul", *lines), *notes)


def _pairs(comparison: Comparison) -> list[tuple[str, str]]:
    return [(later, earlier) for earlier, later in combinations(comparison.models, 2)][:MOST_PAIRS]


def _forests(comparison: Comparison) -> Markup:
    """Draw one forest plot for each pair: a row for each task, and the mean below."""
    plots = []
    for model, baseline in _pairs(comparison):
        rows = [
            _forest_row(task.task, one, total=False)
            for task in comparison.tasks
            for one in task.differences
            if (one.model, one.baseline) == (model, baseline)
        ]
        if comparison.overall is not None and len(comparison.overall.tasks) > 1:
            rows.append(_forest_row("mean", comparison.between(model, baseline), total=True))
        title = f"{model} minus {baseline}: difference and {comparison.method.level:.0%} interval by task"
        picture = forest_plot(rows, title, f"{_brief(baseline)} better", f"{_brief(model)} better")
        plots.append(tag("figure", tag("figcaption", title, class_="soft"), picture))
    return join(*plots)


def _forest_row(name: str, one: Difference, *, total: bool) -> ForestRow:
    span = "" if one.low is None else f" [{one.low:+.4f}, {one.high:+.4f}]"
    note = f"{name}: {one.difference:+.4f}{span}, p (Holm) {text.p_text(one.p_holm)}"
    return ForestRow(name, one.difference, one.low, one.high, note, total)


def _scatters(comparison: Comparison) -> Markup:
    """Draw one scatter plot for each pair; tasks have colours while there are enough of them."""
    plots = []
    colours = len(comparison.scores) <= SERIES_CLASSES
    for model, baseline in _pairs(comparison):
        up, across = comparison.models.index(model), comparison.models.index(baseline)
        clouds = [Cloud(task, one.ids, one.scores[across], one.scores[up]) for task, one in comparison.scores.items()]
        if not clouds:
            continue
        title = f"Scores of every query: {model} over {baseline}"
        drawn = scatter(clouds, title, baseline, model)
        key = legend(list(comparison.scores)) if colours and len(clouds) > 1 else None
        caption = tag("figcaption", f"{title}. Above the line {model} is better.", class_="soft")
        plots.append(tag("figure", caption, key, drawn))
    return join(*plots)


def _brief(name: str) -> str:
    return name if len(name) <= 30 else f"{name[:29]}…"


def _table(section: text.Section) -> Markup:
    title, columns, rows = section
    if not rows:
        return Markup("")
    right = [all(row[i][:1] in NUMERIC for row in rows) for i in range(len(columns))]
    long = any(len(cell) > LONG for row in rows for cell in row)
    kinds = ["number" if is_right else "text" if long else None for is_right in right]
    head = tag("tr", *(th(name, class_="number" if right[i] else None) for i, name in enumerate(columns)))
    lines = (
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(tag("td", cell, class_=kinds[i], dir="auto") for i, cell in enumerate(row[1:], 1)),
        )
        for row in rows
    )
    return join(tag("h3", title), table(title, [head], lines, None if long else "figures"))


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
    """Draw differences with their intervals around a line at 0; the labels name the better side."""
    left = 20 + 7.2 * max((len(_short(row.name)) for row in rows), default=0)
    width, step, top = 560, 22, 40
    height = top + step * len(rows) + 34
    ticks = even_ticks([0.0, *(end for row in rows for end in (row.value, row.low, row.high))], steps=7)

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
    ticks = even_ticks([0.0, 1.0, *values], steps=7)
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


def _short(name: str) -> str:
    half = LONGEST // 2
    return name if len(name) <= LONGEST else f"{name[: half - 1]}…{name[-half:]}"


def _svg(title: str, width: float, height: float, shapes: Sequence[Markup], kind: str = "chart") -> Markup:
    box = f"0 0 {width:g} {height:g}"
    return tag("svg", tag("title", title), join(*shapes), viewBox=box, role="img", aria_label=title, class_=kind)
