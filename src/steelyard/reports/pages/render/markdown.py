"""A page as Markdown; its figures are SVG files in the same folder."""

from __future__ import annotations

import html
import re

from steelyard.reports.pages.findings.sentences import isolated, paragraph
from steelyard.reports.pages.render import blocks
from steelyard.reports.pages.render.tables import LENGTH

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$])")


def markdown(page: blocks.Page) -> str:
    """Return the text of the Markdown file."""
    parts = [f"# {_plain(page.title)}", *(_section(page, one) for one in page.sections)]
    return "\n\n".join(parts) + "\n"


def picture_file(page: blocks.Page, picture: blocks.Picture) -> str:
    """Return the name of a figure's file."""
    return f"{page.slug}.{picture.name}.svg"


def _section(page: blocks.Page, section: blocks.Section) -> str:
    return "\n\n".join([f"{'#' * section.level} {section.heading}", *(_block(page, one) for one in section.blocks)])


def _block(page: blocks.Page, block: blocks.Block) -> str:
    match block:
        case blocks.Paragraph():
            return _plain(paragraph(block.findings))
        case blocks.Points():
            return "\n".join(f"- {_plain(one.sentence)}" for one in block.findings)
        case blocks.Note():
            return f"{block.text.strip()}\n\n*{_plain(block.origin)}*"
        case blocks.Code():
            return f"```{block.language}\n{block.text.strip()}\n```"
        case blocks.Quote():
            return f"> {_plain(' '.join(block.text.split()))}\n>\n> — {_plain(block.source)}"
        case blocks.Table():
            return _table(block)
        case blocks.Bullets():
            return "\n".join(f"- {name}: {_plain(value)}" for name, value in block.items)
        case blocks.Picture():
            # Brackets would end the alt text, so they are written as entities.
            return f"![{_plain(block.caption)}]({picture_file(page, block)})"
        case blocks.Links():
            return ", ".join(f"[{_plain(label)}]({slug}.md)" for label, slug in block.items)


def _table(table: blocks.Table) -> str:
    cells = [[_cell(cell) for cell in row] for row in table.rows]
    for row, slug in zip(cells, table.links, strict=False):
        row[0] = f"[{row[0]}]({slug}.md)"
    rows = [table.columns, ("---",) * len(table.columns), *cells]
    body = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"{body}\n\n{table.note}" if table.note else body


def _cell(text: str) -> str:
    """Return the text on one line, escaped; a web address is kept, so that it is a link.

    Where a text runs from right to left, its length after it still runs from left to right (Unicode isolates).
    """
    flat = " ".join(text.split())
    size = LENGTH.search(flat)
    if size and isolated(flat) != flat:
        flat = f"{isolated(flat[: size.start()])} \u2066{size[1]}\u2069"
    return flat if flat.startswith("https://") and " " not in flat else _plain(flat)


def _plain(text: str) -> str:
    r"""Return the text with all characters escaped that have a meaning in Markdown.

    >>> _plain("a_b <c> | [d]")
    'a\\_b &lt;c&gt; \\| \\[d\\]'
    """
    return html.escape(_SPECIAL.sub(lambda m: m[1] if m[1] in "<>" else f"\\{m[1]}", text), quote=False)
