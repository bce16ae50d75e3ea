"""Facts for people: a title and its words, a line each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.cli._ui.output import Output

TITLE = 22
"""Characters that titles are padded to."""
WIDTH = 160
"""Characters of a text that are shown."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""What a terminal obeys: a text may not colour it, nor ring its bell."""


def say(output: Output, title: str, words: str = "") -> None:
    """Print a fact; also with --quiet, since facts are what was asked for."""
    output.line(f"{title:<{TITLE - 1}} {words}".rstrip())


def short(text: str) -> str:
    r"""The text on one line; of a long one the beginning.

    >>> short("one\n  two"), short("x" * 200)[-19:]
    ('one two', 'x… [200 characters]')
    >>> short("\x1b[31mred")
    '�[31mred'
    """
    line = CONTROL.sub("\ufffd", " ".join(text.split()))
    return line if len(line) <= WIDTH else f"{line[:WIDTH]}… [{len(text):,} characters]"


def spread(values: Mapping[str, Any]) -> str:
    """Where numbers lie: mean, median, smallest and largest."""
    return f"{values['mean']:,} mean, {values['median']:,.0f} median, {values['min']:,} to {values['max']:,}"


def text_counts(about: Mapping[str, Any]) -> str:
    """How many texts there are, how many of them are distinct or empty, and how long they are."""
    counts = f"{about['count']:,} ({about['distinct']:,} distinct, {about['empty']:,} empty)"
    return f"{counts}, characters {spread(about['chars'])}"
