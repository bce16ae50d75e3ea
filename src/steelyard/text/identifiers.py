"""Names in program code: `getHTTPResponse2` is also get, http, response and 2."""

from __future__ import annotations

import re

_PARTS = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
"""Several of what is written in capitals (URLs), capitals, words, numbers, words in other letters."""


def split_identifier(name: str) -> list[str]:
    """The parts of an identifier in lower case, then the whole of it where it has several.

    >>> split_identifier("getHTTPResponse_v2"), split_identifier("count"), split_identifier("allURLs")
    (['get', 'http', 'response', 'v', '2', 'gethttpresponse_v2'], ['count'], ['all', 'urls', 'allurls'])
    """
    whole = name.casefold()
    parts = [part.casefold() for part in _PARTS.findall(name)]
    return [*parts, whole] if len(parts) > 1 else parts or [whole]
