"""HTML and SVG as values: text is escaped unless it is markup already."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


class Markup(str):
    """HTML text, which is not escaped again."""

    __slots__ = ()


def tag(name: str, *children: Markup | str | int | float | None, **attributes: str | int | float | None) -> Markup:
    """Return an element. `class_` and `for_` lose their underscore, other underscores become hyphens; None is omitted.

    >>> tag("td", "a < b", class_="number", data_value=3)
    '<td class="number" data-value="3">a &lt; b</td>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def th(*children: Markup | str | int | float | None, **attributes: str | int | float | None) -> Markup:
    """Return the head of one or several columns.

    >>> th("Mean", colspan=2)
    '<th scope="colgroup" colspan="2">Mean</th>'
    """
    return tag("th", *children, scope="colgroup" if attributes.get("colspan") else "col", **attributes)


def table(caption: str, heads: Sequence[Markup], rows: Iterable[Markup], class_: str | None = None) -> Markup:
    """Return a table that scrolls sideways on its own, also by keyboard, with a label for screen readers.

    >>> table("Costs", [tag("tr", th("s"))], [tag("tr", tag("td", 1))])[:81]
    '<div class="scroll" role="region" tabindex="0" aria-label="Costs"><table><caption'
    """
    inner = tag("caption", caption, class_="unseen"), tag("thead", *heads), tag("tbody", *rows)
    return tag(
        "div", tag("table", *inner, class_=class_), class_="scroll", role="region", tabindex=0, aria_label=caption
    )


def join(*children: Markup | str | int | float | None) -> Markup:
    """Return the pieces joined, with text escaped and None omitted.

    >>> join("1 < 2 ", tag("b", "yes"), None)
    '1 &lt; 2 <b>yes</b>'
    """
    pieces = (c if isinstance(c, Markup) else html.escape(str(c)) for c in children if c is not None)
    return Markup("".join(pieces))
