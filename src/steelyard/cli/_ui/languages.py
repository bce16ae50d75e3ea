"""Codes of languages that no language has: a filter heeds them without a word, so a word is due."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.cli._ui.output import Output


def tell_unknown(languages: Sequence[str], output: Output) -> None:
    """A note for each code that no language has."""
    for line in unknown(languages):
        output.note(line)


def unknown(languages: Sequence[str]) -> Iterator[str]:
    """What there is to say of codes that no language has; with the code, where it is the name of one.

    >>> list(unknown(["zh", "cmn-Hans", "deu", "multilingual", "Chinese", "qq"]))
    ["no language has the code 'Chinese': zh is Chinese", "no language has the code 'qq'"]
    """
    if not languages:
        return
    from babel import Locale

    from steelyard.datasets.language_codes import KEPT, language_code

    names = {code: str(name) for code, name in Locale("en").languages.items()}
    codes = {name.casefold(): code for code, name in reversed(names.items())}
    for language in languages:
        if language_code(language) in names or language in KEPT:
            continue
        near = next(iter(difflib.get_close_matches(language.casefold(), codes, n=1, cutoff=0.8)), None)
        meant = f": {codes[near]} is {names[codes[near]]}" if near else ""
        yield f"no language has the code {language!r}{meant}"
