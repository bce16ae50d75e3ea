"""Writes `steelyard/text/trigrams.txt`, the frequent trigrams of letters by language, anew.

    pip install django sphinx langdetect
    python benchmarks/studies/bm25_trigrams.py

Counted in translations that come under a BSD licence (Django's and Sphinx's), in the names of CLDR that Babel brings
and in our own function words; joined with what langdetect (Apache-2.0) counted in Wikipedia. A language that one of
them lacks has the others alone.
"""

from __future__ import annotations

import gettext
import importlib.util
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from babel import Locale, UnknownLocaleError

from steelyard.text.function_words import FUNCTION_WORDS
from steelyard.text.language_id import trigrams
from steelyard.text.language_id.detect import LANGUAGES_OF
from steelyard.text.languages import canonical
from steelyard.text.tokenizer.normalise import normalise
from steelyard.text.tokenizer.spans import Grams, find_tokens
from steelyard.text.tokenizer.tokens import Tokens

CATALOGUES = ("django", "sphinx")
COUNT = 1200
"""Trigrams of a language: 800 tell one sentence in 150 less, 500 one in 60."""
NAMES, SMALL_WORDS, MANY = 0.5, 3.0, 30
"""What a word of CLDR counts against one of a sentence, what each function word counts, and how often a word counts."""
WIKIPEDIA = 1.0
"""What all that langdetect counted weighs against all the rest."""
_PLACEHOLDER = re.compile(r"%\([^)]*\)s|%\w|\{[^}]*\}|<[^>]*>|`[^`]*`")
_CLDR_NAMES = {"no": "nb", "tl": "fil"}


def translations() -> dict[str, set[str]]:
    """The sentences of the catalogues by language; what was translated is the English."""
    texts_of: dict[str, set[str]] = {}
    for package in CATALOGUES:
        for path in sorted(folder_of(package).rglob("*.mo")):
            name = path.parts[-3]
            if name == "sr_Latn":
                continue
            with path.open("rb") as file:
                catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
            for key, text in catalog.items():
                asked = key[0] if isinstance(key, tuple) else key
                if text != asked:
                    texts_of.setdefault(canonical(name), set()).add(text)
                    texts_of.setdefault("en", set()).add(asked)
    return texts_of


def folder_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"pip install {package}")
    return Path(spec.origin).parent


def counted(code: str, script: str) -> Counter[str]:
    """What langdetect counted in the language, where it knows it."""
    path = folder_of("langdetect") / "profiles" / code
    counts = Counter[str]()
    if path.is_file():
        for gram, count in json.loads(path.read_text(encoding="utf-8"))["freq"].items():
            trigram = normalise(gram).replace(" ", trigrams.EDGE)
            letters = trigram.strip(trigrams.EDGE)
            if len(trigram) == 3 and letters.isalpha() and trigrams.script_of(letters) == script:
                counts[trigram] += count
    return counts


def names(code: str) -> Iterator[str]:
    """What CLDR calls countries, languages, currencies, scripts, months and days; not what it left in English."""
    try:
        tables = zip(_tables(Locale.parse(_CLDR_NAMES.get(code, code))), _tables(Locale("en")), strict=True)
    except UnknownLocaleError:
        return
    for own, english in tables:
        yield from (name for key, name in own.items() if code == "en" or name != english.get(key))


def _tables(locale: Locale) -> list[Mapping[object, str]]:
    calendars = [table["format"]["wide"] for table in (locale.months, locale.days)]
    return [locale.territories, locale.languages, locale.currencies, locale.scripts, *calendars]


def words(texts: Iterable[str], script: str) -> Counter[str]:
    """The words of the script, each counted as often as it comes, up to a limit, and less than in proportion."""
    tokens = Tokens.of_spans(find_tokens([_PLACEHOLDER.sub(" ", normalise(text)) for text in texts], Grams()))
    counts = Counter(tokens.distinct[number] for number in tokens.numbers.tolist())
    written = {word: count for word, count in counts.items() if trigrams.script_of(word) == script}
    return Counter({word: min(count, MANY) ** 0.75 for word, count in written.items()})  # type: ignore[misc]


def main() -> None:
    sentences = translations()
    lines = []
    for script in trigrams.SCRIPTS:
        for code in LANGUAGES_OF[script]:
            counts = Counter[str]()
            for source, weight in (
                (words(sentences.get(code, ()), script), 1.0),
                (words(names(code), script), NAMES),
                (dict.fromkeys(FUNCTION_WORDS[code], 1.0), SMALL_WORDS),
            ):
                for word, count in source.items():
                    for trigram in trigrams.trigrams_of(word):
                        counts[trigram] += weight * count  # type: ignore[assignment]
            more = counted(code, script)
            share = WIKIPEDIA * counts.total() / max(more.total(), 1)
            for trigram, count in more.items():
                counts[trigram] += count * share  # type: ignore[assignment]
            ranked = sorted(counts, key=lambda trigram: (-round(counts[trigram], 6), trigram))
            lines.append(f"{code} {' '.join(ranked[:COUNT])}\n")
    trigrams.FILE.write_text("".join(lines), encoding="utf-8")
    print(f"{len(lines)} languages, {trigrams.FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
