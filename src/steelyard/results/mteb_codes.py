"""Language codes of mteb, ISO 639-3 and script, for our two-letter codes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache


def mteb_languages(codes: Iterable[str]) -> list[str]:
    """Return mteb's codes of languages; `multilingual` and `unknown` have none.

    Tasks of mteb keep their own codes (`TaskInfo.language_tags`): one language can have several of them.

    >>> mteb_languages(["en", "zh", "zh-Hant", "ko", "sr", "multilingual"])
    ['eng-Latn', 'cmn-Hans', 'zho-Hant', 'kor-Hang', 'srp-Cyrl']
    """
    return [name for code in codes if (name := _mteb_language(code)) is not None]


@cache
def _mteb_language(code: str) -> str | None:
    from babel.core import get_global

    if code in _OF_MTEB:
        return _OF_MTEB[code]
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
    """Return ISO 639-3 codes by two-letter code: CLDR lists each long code as an alias of the short one."""
    from babel.core import get_global

    aliases = get_global("language_aliases")
    return {short: long for long, short in aliases.items() if len(long) == 3 and len(short) == 2} | _CHOSEN


# Where CLDR has several aliases (bibliographic codes, merged languages) this is the one of ISO 639-3.
_CHOSEN = {
    "ak": "aka", "bo": "bod", "cs": "ces", "cy": "cym", "de": "deu", "el": "ell", "eu": "eus", "fa": "fas",
    "fr": "fra", "gu": "guj", "hy": "hye", "is": "isl", "ka": "kat", "mi": "mri", "mk": "mkd", "ms": "msa",
    "my": "mya", "nl": "nld", "ro": "ron", "sk": "slk", "sq": "sqi", "zh": "zho",
}  # fmt: skip

# Where mteb's text tasks mostly have another code than the one of the macrolanguage and its likely script.
_OF_MTEB = {
    "ak": "twi-Latn", "ay": "ayr-Latn", "crh": "crh-Latn", "din": "dik-Latn", "fil": "tgl-Latn", "ko": "kor-Hang",
    "kok": "gom-Deva", "kr": "knc-Latn", "ks": "kas-Deva", "ku": "kmr-Latn", "mg": "plt-Latn", "mn": "khk-Cyrl",
    "ne": "npi-Deva", "om": "gaz-Latn", "or": "ory-Orya", "taq": "taq-Tfng", "tzm": "tzm-Tfng", "uz": "uzn-Latn",
    "yi": "ydd-Hebr", "zh": "cmn-Hans",
}  # fmt: skip
