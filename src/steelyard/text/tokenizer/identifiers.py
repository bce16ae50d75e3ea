"""Names in program code: `getHTTPResponse2` is also get, http, response and 2."""

from __future__ import annotations

import re

_CASED = [chr(point) for point in range(0x530)]  # Latin, Greek, Cyrillic
_UPPER = "".join(letter for letter in _CASED if letter.isupper())
_LOWER = "".join(letter for letter in _CASED if letter.islower() and letter.isalpha())
_PARTS = re.compile(
    f"[{_UPPER}]{{2,}}s(?![{_LOWER}])|[{_UPPER}]+(?![{_LOWER}])|[{_UPPER}]?[{_LOWER}]+|\\d+|[^\\W\\d_{_UPPER}{_LOWER}]+"
)
"""Several of what is written in capitals (URLs), capitals, words, numbers, words in letters without case."""


def split_identifier(name: str) -> list[str]:
    """The parts of an identifier in lower case, then the whole of it where it has several.

    >>> split_identifier("getHTTPResponse_v2"), split_identifier("count"), split_identifier("allURLs")
    (['get', 'http', 'response', 'v', '2', 'gethttpresponse_v2'], ['count'], ['all', 'urls', 'allurls'])
    >>> split_identifier("naïveBayes"), split_identifier("НайтиПоКоду")
    (['naïve', 'bayes', 'naïvebayes'], ['найти', 'по', 'коду', 'найтипокоду'])
    """
    whole = name.casefold()
    parts = [part.casefold() for part in _PARTS.findall(name)]
    return [*parts, whole] if len(parts) > 1 else parts or [whole]
