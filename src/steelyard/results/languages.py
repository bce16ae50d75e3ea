"""Language codes as MTEB writes them: ISO 639-3 and script (`eng-Latn`), from CLDR's tables."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache


def mteb_languages(codes: Iterable[str]) -> list[str]:
    """MTEB's codes for ours; what is not a language (`multilingual`, `unknown`) has none.

    >>> mteb_languages(["en", "zh", "sr", "multilingual"])
    ['eng-Latn', 'zho-Hans', 'srp-Cyrl']
    """
    return [found for code in codes if (found := _mteb_language(code)) is not None]


@cache
def _mteb_language(code: str) -> str | None:
    from babel.core import get_global

    if not 2 <= len(code.replace("_", "-").split("-")[0]) <= 3:
        return None
    language, _, script = code.replace("_", "-").partition("-")
    if len(script) != 4:
        likely = get_global("likely_subtags").get(language, "")
        script = next((part for part in likely.split("_") if len(part) == 4), "")
    three = _three_letters().get(language, language)
    return f"{three}-{script.title()}" if len(three) == 3 and script else None


@cache
def _three_letters() -> dict[str, str]:
    """ISO 639-3 by two-letter code: CLDR lists each long code as an alias of the short one."""
    from babel.core import get_global

    aliases = get_global("language_aliases")
    return {short: long for long, short in aliases.items() if len(long) == 3 and len(short) == 2} | _CHOSEN


# Where CLDR has several aliases (bibliographic codes, merged languages) this is the one of ISO 639-3.
_CHOSEN = {
    "ak": "aka", "bo": "bod", "cs": "ces", "cy": "cym", "de": "deu", "el": "ell", "eu": "eus", "fa": "fas",
    "fr": "fra", "gu": "guj", "hy": "hye", "is": "isl", "ka": "kat", "mi": "mri", "mk": "mkd", "ms": "msa",
    "my": "mya", "nl": "nld", "ro": "ron", "sk": "slk", "sq": "sqi", "zh": "zho",
}  # fmt: skip
