"""Two texts side by side with what differs marked: token by token, characters in scripts without spaces."""

from __future__ import annotations

import difflib
import re

from steelyard.reports.components.markup import Markup, join, tag

TOKEN = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|\w+|[^\w\s]+|\s+")
"""A character of a script without spaces, a word, punctuation, or space."""
LONGEST = 1_500
"""Characters of a text that are shown."""


def side_by_side(one: str, other: str) -> tuple[Markup, Markup]:
    """Return both texts as HTML; what one of them lacks is in `<del>` on the left and in `<ins>` on the right.

    >>> side_by_side("The Nile is long.", "The nile was long")
    ('The Nile <del>is</del> long<del>.</del>', 'The nile <ins>was</ins> long')
    """
    left, right = TOKEN.findall(one[:LONGEST]), TOKEN.findall(other[:LONGEST])
    matcher = difflib.SequenceMatcher(
        None, list(map(str.casefold, left)), list(map(str.casefold, right)), autojunk=False
    )
    first: list[Markup | str] = []
    second: list[Markup | str] = []
    for kind, start, stop, other_start, other_stop in matcher.get_opcodes():
        ours, theirs = "".join(left[start:stop]), "".join(right[other_start:other_stop])
        first.append(ours if kind == "equal" or not ours else tag("del", ours))
        second.append(theirs if kind == "equal" or not theirs else tag("ins", theirs))
    first += ["…"] if len(one) > LONGEST else []
    second += ["…"] if len(other) > LONGEST else []
    return join(*first), join(*second)
