"""How many tokens a text has, about: enough for rate limits and for cutting; the service's own count is the bill.

A character counts by how its UTF-8 form is long: a quarter of a token for ASCII, half for two bytes (Cyrillic, Greek,
Arabic), one for three (Chinese, Japanese, Hindi, Thai), two for four (emoji). Tokenizers of current models stay near
or below that.
"""

from __future__ import annotations

import re

OTHERS = re.compile(r"[^\x00-\x7f]+")
QUARTERS = ((0x80, 1), (0x800, 2), (0x10000, 4))


def estimated_tokens(text: str) -> int:
    """About how many tokens.

    >>> estimated_tokens("the steelyard"), estimated_tokens("весы"), estimated_tokens("杆秤"), estimated_tokens("")
    (4, 2, 2, 1)
    """
    others = "".join(OTHERS.findall(text))
    quarters = len(text) - len(others) + sum(map(_quarters, others))
    return max(1, -(-quarters // 4))


def cut_to_tokens(text: str, most: int) -> str:
    """The longest beginning of the text that has no more than `most` tokens by this estimate.

    >>> cut_to_tokens("the steelyard", 2), cut_to_tokens("杆秤称重", 3)
    ('the stee', '杆秤称')
    """
    if len(text) * 8 <= most * 4:  # even if every character were an emoji
        return text
    left = most * 4
    for position, character in enumerate(text):
        left -= _quarters(character)
        if left < 0:
            return text[:position]
    return text


def _quarters(character: str) -> int:
    code = ord(character)
    return next((quarters for bound, quarters in QUARTERS if code < bound), 8)
