"""Text as a terminal shows it: its width, lines that fit, and characters that every terminal has."""

from __future__ import annotations

import os
from itertools import accumulate
from typing import TextIO
from unicodedata import combining, east_asian_width

BREAKS = " -/,>?&"
"""Characters after which a name may be broken."""
PLAIN = {"±": "+-", "×": "x", "→": "->", "…": "...", "–": "-", "µ": "u", "†": "!", "‡": "!!"}
"""What takes the place of characters that a terminal may not have."""


def display_width(text: str) -> int:
    """Return how many terminal cells the text takes: wide East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def fit(text: str, width: int) -> str:
    """Return as much of the text as a terminal shows in `width` cells.

    >>> fit("日本語 ja", 5), fit("short", 80)
    ('日本', 'short')
    """
    ends = accumulate(map(display_width, text))
    return "".join(character for character, end in zip(text, ends, strict=True) if end <= width)


def broken_at(text: str, width: int) -> list[str]:
    """Return the text in lines of at most `width` cells, broken between the parts of a name where possible.

    >>> broken_at("dense:use-multilingual-v3", 14), broken_at("short", 14)
    (['dense:use-', 'multilingual-', 'v3'], ['short'])
    """
    lines = []
    while display_width(text) > width:
        line = fit(text, width) or text[0]
        end = max(map(line.rfind, BREAKS)) + 1
        lines.append(line[: end or None].rstrip())
        text = text[end or len(line) :]
    return [*lines, text]


def is_plain(stream: TextIO | None) -> bool:
    """Return whether a stream shows plain characters only: another encoding than UTF, or a dumb terminal."""
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower()
    dumb = os.environ.get("TERM") == "dumb" and stream is not None and stream.isatty()
    return dumb or not encoding.startswith("utf")


def plain(text: str) -> str:
    """Return the text with characters that every terminal has.

    >>> plain("0.5000 ±0.042")
    '0.5000 +-0.042'
    """
    for character, replacement in PLAIN.items():
        text = text.replace(character, replacement)
    return text
