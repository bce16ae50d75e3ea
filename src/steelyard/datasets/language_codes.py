"""Convert the language codes of different sources into the two-letter codes of `TaskInfo`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

KEPT = ("multilingual", "unknown")
ONE = {"nb": "no"}
"""Two codes of one language: Norwegian data is usually Bokmål, and most of it has the code `no`."""


@cache
def language_code(tag: str) -> str:
    """Return the shortest code of a language: `cmn-Hans`, `zho` and `zh-CN` are all `zh`.

    >>> [language_code(tag) for tag in ("cmn-Hans", "deu_Latn", "pt-BR", "ceb", "EN", "iw", "sh", "multilingual")]
    ['zh', 'de', 'pt', 'ceb', 'en', 'he', 'sr', 'multilingual']
    """
    word = tag.strip().lower().replace("_", "-").split("-")[0]
    if word in KEPT or not word:
        return word or "unknown"
    from babel.core import get_global

    alias = get_global("language_aliases").get(word, word)
    return str(alias).replace("-", "_").split("_")[0]


def same_languages(tags: Iterable[str]) -> set[str]:
    """Return one code for each language, for comparison: `no` and `nb` are the same.

    >>> same_languages(["no", "nb", "nob"]), same_languages(["nn", "in", "id"]) == {"nn", "id"}
    ({'no'}, True)
    """
    return {ONE.get(code, code) for code in map(language_code, tags)}


def overall_language(languages: Iterable[str]) -> str:
    """Return one word for the languages of a task.

    >>> overall_language(["zh"]), overall_language(["zh", "en"]), overall_language([])
    ('zh', 'multilingual', 'unknown')
    """
    distinct = list(dict.fromkeys(languages))
    return distinct[0] if len(distinct) == 1 else "multilingual" if distinct else "unknown"
