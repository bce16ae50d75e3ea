"""A page as one HTML file that works from disk: style and figures inside, no script, no downloads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import resources
from itertools import zip_longest

from steelyard import __version__
from steelyard.reports.components.charts import legend
from steelyard.reports.components.markup import Markup, join, tag
from steelyard.reports.pages.findings.sentences import paragraph
from steelyard.reports.pages.render import blocks
from steelyard.reports.pages.render.tables import LENGTH

_NUMBER = re.compile(r"[-+]?[\d,.]+%?( \[[-\d.]+, [-\d.]+\])?|-|not found")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.*)")
_INLINE = re.compile(
    r"\[(?P<label>[^\]]+)\]\((?P<url>https?://[^\s)]+)\)|\*\*(?P<strong>[^*]+)\*\*|(?<!\w)[*_](?P<em>[^*_]+)[*_](?!\w)"
    r"|`(?P<code>[^`]+)`"
)
_LONG = 60
"""From this number of characters on, a cell is a text in any language and direction."""


def style() -> Markup:
    """Return the style sheet of all pages, light and dark."""
    return Markup(resources.files("steelyard.reports").joinpath("page.css").read_text(encoding="utf-8"))


def html_page(page: blocks.Page) -> str:
    """Return the text of the HTML file."""
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta name="generator" content="Steelyard {__version__}">'),
        Markup(f'<meta name="made-from" content="{page.made_from}">') if page.made_from else None,
        tag("title", page.title),
        tag("style", style()),
    )
    links = (tag("a", one.heading, href=f"#{_anchor(one.heading)}") for one in page.sections if one.blocks)
    body = tag("body", tag("h1", page.title), tag("nav", *links), *map(_section, page.sections), class_="page")
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def standalone(svg: Markup) -> str:
    """Return a figure as a separate file, with the style of the page."""
    style_element = tag("style", style(), Markup("svg { background: var(--paper); }"))
    opened = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return opened.replace("><title>", f">{style_element}<title>", 1)


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def _section(section: blocks.Section) -> Markup:
    heading = tag(f"h{section.level}", section.heading)
    return tag("section", heading, *map(_block, section.blocks), id=_anchor(section.heading))


def _block(block: blocks.Block) -> Markup:
    match block:
        case blocks.Paragraph():
            return tag("p", paragraph(block.findings))
        case blocks.Points():
            return tag("ul", *(tag("li", one.sentence) for one in block.findings))
        case blocks.Note():
            return tag("div", prose(block.text), tag("p", block.origin, class_="soft"), class_="note")
        case blocks.Code():
            return tag("details", tag("summary", block.language or "text"), tag("pre", block.text))
        case blocks.Quote():
            return tag("blockquote", tag("p", block.text, dir="auto"), tag("p", f"— {block.source}"))
        case blocks.Table():
            return _table(block)
        case blocks.Bullets():
            return tag("ul", *(tag("li", f"{name}: {value}") for name, value in block.items))
        case blocks.Picture():
            marks = legend(block.legend) if len(block.legend) > 1 else None
            size = "half" if block.small else None
            return tag("figure", marks, block.svg, tag("figcaption", block.caption), class_=size)
        case blocks.Links():
            return tag("p", *(tag("a", label, href=f"{slug}.html") for label, slug in block.items), class_="links")


def _table(table: blocks.Table) -> Markup:
    columns = list(zip(*table.rows, strict=True))
    numeric = [all(_NUMBER.fullmatch(cell) for cell in column) for column in columns]
    kinds = ["number" if is_number else None for is_number in numeric]
    head = (tag("th", name, class_=kind) for name, kind in zip(table.columns, kinds, strict=True))
    # Rows with long texts or texts of the data become blocks on narrow screens, each cell with the name of its column.
    texts = any(len(cell) >= _LONG or LENGTH.search(cell) for row in table.rows for cell in row)
    body = (tag("tr", *cells) for cells in _linked(table, kinds, table.columns if texts else [None] * len(kinds)))
    whole = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), class_="texts" if texts else None)
    return join(tag("div", whole, class_="scroll"), tag("p", table.note, class_="soft") if table.note else None)


def _linked(table: blocks.Table, kinds: Sequence[str | None], names: Sequence[str | None]) -> Iterator[list[Markup]]:
    """Yield the cells of each row, the first one as a link if it has a page."""
    for row, slug in zip_longest(table.rows, table.links):
        cells = list(map(_cell, row, kinds, names))
        if slug is not None:
            cells[0] = tag("td", tag("a", row[0], href=f"{slug}.html"), data_label=names[0])
        yield cells


def _cell(text: str, kind: str | None, column: str | None) -> Markup:
    if text.startswith("https://"):
        return tag("td", tag("a", text, href=text), data_label=column)
    if size := LENGTH.search(text):  # a text of the data, then its length, which is written from left to right
        shown = (text[: size.start()], " ", tag("bdi", size[1], dir="ltr"))
        return tag("td", *shown, class_="text" if len(text) >= _LONG else None, dir="auto", data_label=column)
    if len(text) >= _LONG:
        return tag("td", text, class_="text", dir="auto", data_label=column)
    return tag("td", text, class_=kind, data_label=column)


def prose(text: str) -> Markup:
    r"""Return the text as HTML.

    >>> print(prose("One *two*.\n\n- a <b>\n- [c](https://d.e)"))
    <p>One <em>two</em>.</p><ul><li>a &lt;b&gt;</li><li><a href="https://d.e">c</a></li></ul>
    """
    return join(*(_note_block(block) for block in re.split(r"\n\s*\n", text.strip()) if block.strip()))


def _note_block(block: str) -> Markup:
    lines = block.splitlines()
    if _ITEM.match(lines[0]):
        items: list[str] = []
        for line in lines:
            match = _ITEM.match(line)
            if match:
                items.append(match[1])
            else:
                items[-1] += f" {line.strip()}"
        return tag("ul", *(tag("li", _inline(item)) for item in items))
    return tag("p", _inline(" ".join(line.strip() for line in lines)))


def _inline(text: str) -> Markup:
    parts: list[Markup | str] = []
    last = 0
    for match in _INLINE.finditer(text):
        parts.append(text[last : match.start()])
        if match["label"]:
            parts.append(tag("a", match["label"], href=match["url"]))
        else:
            name = "strong" if match["strong"] else "em" if match["em"] else "code"
            parts.append(tag(name, match[name]))
        last = match.end()
    return join(*parts, text[last:])
