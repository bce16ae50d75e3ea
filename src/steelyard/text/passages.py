"""Where a text can be divided into passages: words, sentences, Markdown sections; and windows over such units.

A unit is given by its start; it ends where the next one starts, so that units cover the whole text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from steelyard.text.characters import SCRIPTS
from steelyard.types import Int64

UNSPACED = ("han", "kana", "thai", "lao", "khmer", "burmese", "tibetan")
"""Scripts without spaces between words: each character, with its marks, is a word."""
SENTENCE_END = re.compile(
    r"""(?:[.…]+["'”’»)\]]*\s+(?=[^\sa-z])      # a full stop before a lower-case letter is an abbreviation
        |(?<=\s)\.\s+                             # except between blanks, as in tokenised texts
        |[!?]+["'”’»)\]]*\s+
        |[。！？｡．]+["'”’」』）\]]*\s*              # Chinese and Japanese do not need a space
        |[؟।॥۔።]+["'”’»)\]]*\s+                  # Arabic, Hindi, Urdu, Amharic
        |\n[ \t]*\n\s*)                            # a paragraph ends every sentence
    """,
    re.VERBOSE,
)
HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)|^(?P<title>\S[^\n]*)\n {0,3}(?:=+|-{2,})[ \t]*$", re.MULTILINE)
"""A Markdown heading: a line that begins with `#`, or a line that is underlined."""
FENCE = re.compile(
    r"^ {0,3}(?P<mark>`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}(?P=mark)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
"""A block of code, in which `#` is a comment."""


@cache
def _word() -> re.Pattern[str]:
    blocks = [block for name, blocks in SCRIPTS if name in UNSPACED for block in blocks]
    unspaced = "".join(f"{chr(first)}-{chr(last)}" for first, last in blocks)
    points = (point for first, last in blocks for point in range(first, min(last, 0xFFFF) + 1))
    marks = "".join(chr(point) for point in points if unicodedata.category(chr(point)).startswith("M"))
    return re.compile(f"[{unspaced}][{marks}]*|[^\\s{unspaced}]+")


def word_starts(text: str) -> Int64:
    """Return where words start: after white space, and at each character of a script without spaces.

    >>> word_starts("Two words"), word_starts("東京 Tokyo").tolist()
    (array([0, 4]), [0, 1, 3])
    """
    return _starts([match.start() for match in _word().finditer(text)])


def sentence_starts(text: str) -> Int64:
    """Return where sentences start.

    >>> text = 'It cost 3.5 million, e.g. in Rome. "Really?" Yes! 是的。不是。'
    >>> [text[start:] for start in sentence_starts(text)][1:]
    ['"Really?" Yes! 是的。不是。', 'Yes! 是的。不是。', '是的。不是。', '不是。']
    >>> sentence_starts("all in lower case . two. three").tolist()
    [0, 20]
    """
    return _starts([0, *(match.end() for match in SENTENCE_END.finditer(text) if match.end() < len(text))])


def section_starts(text: str) -> Int64:
    r"""Return where Markdown sections start: at each heading outside blocks of code, and at the beginning.

    >>> section_starts("Intro\n\n# One\n```\n# code\n```\nTwo\n---\nEnd").tolist()
    [0, 7, 28]
    """
    fences = [match.span() for match in FENCE.finditer(text)]
    headings = (match.start() for match in HEADING.finditer(text))
    return _starts([0, *(at for at in headings if not any(first <= at < last for first, last in fences))])


def _starts(places: list[int]) -> Int64:
    """Return the distinct starts; white space before the first unit belongs to it."""
    starts = np.unique(np.array(places or [0], dtype=np.int64))
    starts[0] = 0
    return starts


UNITS: Mapping[str, Callable[[str], Int64]] = {
    "words": word_starts,
    "sentences": sentence_starts,
    "sections": section_starts,
}
"""The functions that divide a text, by unit."""


def windows(weights: Int64, size: int, overlap: int = 0) -> list[tuple[int, int]]:
    """Return ranges of units whose weights sum to at most `size`, each with the end of the one before as its beginning.

    The common part of two windows weighs at most `overlap`. A unit that is heavier than `size` is a window of its own.

    >>> windows(np.ones(7, dtype=np.int64), 3, 1)
    [(0, 3), (2, 5), (4, 7)]
    >>> windows(np.array([2, 2, 9, 1]), 4)
    [(0, 2), (2, 3), (3, 4)]
    """
    sums = np.concatenate(([0], np.cumsum(weights)))
    count, start = len(weights), 0
    ranges = []
    while True:
        stop = max(start + 1, int(np.searchsorted(sums, sums[start] + size, side="right")) - 1)
        ranges.append((start, min(stop, count)))
        if stop >= count:
            return ranges
        # The next window must reach beyond this one.
        common = max(sums[stop] - overlap, sums[stop + 1] - size)
        start = min(stop, max(start + 1, int(np.searchsorted(sums, common, side="left"))))
