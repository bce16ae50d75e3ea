"""HTML and SVG as values: every piece of text is escaped unless it is markup already."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


class Markup(str):
    """Text that is HTML already and is not escaped again."""

    __slots__ = ()


def tag(name: str, *children: Markup | str | int | float | None, **attributes: str | int | float | None) -> Markup:
    """An element. `class_` and `for_` lose their underscore, other underscores become hyphens; None is left out.

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
    """The head of a column, or of several.

    >>> th("Mean", colspan=2)
    '<th scope="colgroup" colspan="2">Mean</th>'
    """
    return tag("th", *children, scope="colgroup" if attributes.get("colspan") else "col", **attributes)


def table(caption: str, heads: Sequence[Markup], rows: Iterable[Markup], class_: str | None = None) -> Markup:
    """A table that is moved sideways alone, with the keys too; those who do not see it are told what it is.

    >>> table("Costs", [tag("tr", th("s"))], [tag("tr", tag("td", 1))])[:81]
    '<div class="scroll" role="region" tabindex="0" aria-label="Costs"><table><caption'
    """
    inner = tag("caption", caption, class_="unseen"), tag("thead", *heads), tag("tbody", *rows)
    return tag(
        "div", tag("table", *inner, class_=class_), class_="scroll", role="region", tabindex=0, aria_label=caption
    )


def join(*children: Markup | str | int | float | None) -> Markup:
    """Pieces one after the other, text escaped, None left out.

    >>> join("1 < 2 ", tag("b", "yes"), None)
    '1 &lt; 2 <b>yes</b>'
    """
    pieces = (c if isinstance(c, Markup) else html.escape(str(c)) for c in children if c is not None)
    return Markup("".join(pieces))
