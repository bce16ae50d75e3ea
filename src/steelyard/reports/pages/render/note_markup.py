"""Hand-written Markdown as HTML: paragraphs, lists, emphasis, code and links. Everything else is shown as it is."""

from __future__ import annotations

import re

from steelyard.reports.components.markup import Markup, join, tag

_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.*)")
_INLINE = re.compile(
    r"\[(?P<label>[^\]]+)\]\((?P<url>https?://[^\s)]+)\)|\*\*(?P<strong>[^*]+)\*\*|(?<!\w)[*_](?P<em>[^*_]+)[*_](?!\w)"
    r"|`(?P<code>[^`]+)`"
)


def prose(text: str) -> Markup:
    r"""Return the text as HTML.

    >>> print(prose("One *two*.\n\n- a <b>\n- [c](https://d.e)"))
    <p>One <em>two</em>.</p><ul><li>a &lt;b&gt;</li><li><a href="https://d.e">c</a></li></ul>
    """
    return join(*(_block(block) for block in re.split(r"\n\s*\n", text.strip()) if block.strip()))


def _block(block: str) -> Markup:
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
