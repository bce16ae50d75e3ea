"""Facts as lines: a title and its value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.output import printable

if TYPE_CHECKING:
    from steelyard.cli._ui.output import Output

TITLE = 22
"""The width of titles."""
WIDTH = 160
"""Characters of a text that are shown."""


def print_fact(output: Output, title: str, text: str = "") -> None:
    """Print a fact on standard output."""
    start = "\n" * title.startswith("\n")
    line = f"{title.removeprefix(start):<{TITLE - 1}} {text}".rstrip()
    output.line(start + printable(line, one_line=True))


def short(text: str) -> str:
    r"""Return the start of a text on one line.

    >>> short("one\n  two"), short("x" * 200)[-19:]
    ('one two', 'x… [200 characters]')
    >>> short("\x1b[31mred")
    '�[31mred'
    """
    line = printable(" ".join(text.split()), one_line=True)
    return line if len(line) <= WIDTH else f"{line[:WIDTH]}… [{len(text):,} characters]"


def spread(values: Mapping[str, Any]) -> str:
    """Return the mean, median, minimum and maximum as text."""
    return f"{values['mean']:,} mean, {values['median']:,.0f} median, {values['min']:,} to {values['max']:,}"


def text_counts(texts: Mapping[str, Any]) -> str:
    """Return the number of texts, of distinct and of empty ones, and their length as text."""
    counts = f"{texts['count']:,} ({texts['distinct']:,} distinct, {texts['empty']:,} empty)"
    return f"{counts}, characters {spread(texts['chars'])}"


def byte_size(count: float) -> str:
    """Return a number of bytes in a short form.

    >>> byte_size(0), byte_size(1_500), byte_size(2_000_000_000)
    ('0 B', '1.5 kB', '2.0 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
