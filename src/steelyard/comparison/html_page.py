"""A comparison as one self-contained HTML page: summary, forest plot, tables, per-query scatter plots."""

from __future__ import annotations

from importlib import resources
from itertools import combinations
from typing import TYPE_CHECKING

from steelyard import __version__
from steelyard.comparison import text
from steelyard.comparison.charts import Cloud, ForestRow, forest_plot, scatter
from steelyard.comparison.model import Difference
from steelyard.reports.components.charts import SERIES_CLASSES, legend
from steelyard.reports.components.markup import Markup, join, table, tag, th

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
