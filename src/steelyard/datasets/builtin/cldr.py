"""NanoCLDR: names of territories, languages, currencies, scripts and units, from Babel's CLDR data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

from steelyard.datasets.builtin.parallel import Entry
from steelyard.datasets.builtin.sampling import FULL, BuiltinSet, assemble, fold, installed_version, shuffled
from steelyard.types import TaskInfo

if TYPE_CHECKING:
    from steelyard.datasets.builtin.parallel import Entry
    from steelyard.types import Task

PAYDAY = date(2024, 1, 1)
"""Currencies are those in use on this day, so that the bytes do not depend on the date."""

MOST = 12
"""A query that matches more territories than this (English, say) is a category, and not used."""


def territory_cards(
    info: TaskInfo, entries: Sequence[Entry], languages: Sequence[str], *, documents: int, queries: int
) -> Task:
    """Return cards in `languages`; queries, in the other languages of `info`, are names on the cards."""
    things = {entry.id: entry for entry in entries}
    facts = {territory: stated for territory, stated in _facts(things) if len(stated) > 2}
    chosen = shuffled(facts, "cards")[: documents // len(languages)]
    texts: dict[str, str] = {}
    seen: set[str] = set()
    holders: defaultdict[str, list[str]] = defaultdict(list)
    for territory in chosen:
        for language in languages:
            names = [things[thing].names.get(language, "") for thing in facts[territory]]
            card = _card(facts[territory], names)
            # Some cards are the same in two languages; they are kept once.
            if all(names) and fold(card) not in seen:
                seen.add(fold(card))
                texts[f"{territory}.{language}"] = card
                for thing in facts[territory]:
                    holders[thing].append(f"{territory}.{language}")
    questions: dict[str, str] = {}
    positives: dict[str, list[str]] = {}
    speakers = [language for language in info.languages if language not in languages]
    for thing in shuffled(holders, "queries"):
        territories = {card.rpartition(".")[0] for card in holders[thing]}
        spoken = [language for language in shuffled(speakers, thing) if language in things[thing].names]
        if spoken and len(territories) <= MOST and len(questions) < queries:
            questions[f"{thing}.{spoken[0]}"] = things[thing].names[spoken[0]]
            positives[f"{thing}.{spoken[0]}"] = holders[thing]
    return assemble(info, texts, questions, positives)


def _card(things: Sequence[str], names: Sequence[str]) -> str:
    """`Switzerland: German, French, Italian; Swiss Franc`."""
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for thing, name in zip(things, names, strict=True):
        kinds[thing.partition("-")[0]].append(name)
    return f"{kinds['territory'][0]}: {', '.join(kinds['language'])}; {', '.join(kinds['currency'])}"


def _facts(things: dict[str, Entry]) -> Iterator[tuple[str, list[str]]]:
    """(territory, [territory, official languages, currencies in use]) where CLDR states all of them."""
    from babel.languages import get_official_languages
    from babel.numbers import get_territory_currencies

    for thing in sorted(things):
        kind, _, code = thing.partition("-")
        if kind != "territory" or not code.isalpha():
            continue
        spoken = [f"language-{language}" for language in get_official_languages(code, de_facto=True)]
        paid = [f"currency-{currency}" for currency in get_territory_currencies(code, PAYDAY, PAYDAY)]
        stated = [thing, *(item for item in (*spoken, *paid) if item in things)]
        if len(stated) == 1 + len(spoken) + len(paid) and spoken and paid:
            yield thing, stated


EDITION = 1
"""Increased when the builder changes the data."""

WRITTEN = {
    "Latn": "en es fr de it nl pt sv da nb is fi et ca eu ro pl cs sk sl hr hu sq lt lv tr az uz id ms vi sw zu af",
    "Cyrl": "ru uk be bg mk sr kk mn",
    "Arab": "ar fa ur",
    "Deva": "hi mr ne",
    "Grek": "el",
    "Hebr": "he",
    "Armn": "hy",
    "Geor": "ka",
    "Ethi": "am",
    "Beng": "bn",
    "Guru": "pa",
    "Gujr": "gu",
    "Taml": "ta",
    "Telu": "te",
    "Knda": "kn",
    "Mlym": "ml",
    "Sinh": "si",
    "Thai": "th",
    "Laoo": "lo",
    "Khmr": "km",
    "Mymr": "my",
    "Hans": "zh",
    "Jpan": "ja",
    "Kore": "ko",
}
"""The languages of the set by the script that they are written in (ISO 15924)."""

SCRIPTS = {language: script for script, languages in WRITTEN.items() for language in languages.split()}
"""The script of each language."""

CARD_LANGUAGES = "en ar es hi ja ko ru zh"
"""The languages of the territory cards at demo size; queries are in the others."""

CARD_LANGUAGES_FULL = f"{CARD_LANGUAGES} de fr it pt nl pl tr th vi id el he uk fa bn ta te ka sw hu cs fi"

NOT_THINGS = {"XA", "XB", "ZZ", "mul", "und", "zxx", "root", "XXX", "XTS", "Zinh", "Zxxx", "Zyyy", "Zzzz"}
"""Codes for "unknown", "several" and the like."""

MARKS = dict.fromkeys(map(ord, "\u200e\u200f"))
"""Marks of writing direction, which are removed."""

DESCRIPTIONS = {
    "names-to-english": "The name of a territory, language, currency, script or unit in one of {n} languages; "
    "its English name is sought among those of all of them. One positive.",
    "names-across-scripts": "Names of territories, languages, currencies, scripts and units, each in one of {n} "
    "languages; the query is the same name in a language of another script. One positive.",
    "names-in-all-languages": "An English name of a territory, language, currency, script or unit; relevant is "
    "what the same thing is called in other languages ({n} in all). Many positives.",
    "territory-cards": "Cards of territories: the name, the official languages and the currencies, in one language. "
    "The query names a territory, language or currency in a language that no card is in ({n} in all); "
    "relevant are the cards, in all their languages, of the territories it belongs to. Many positives.",
}


def infos() -> tuple[TaskInfo, ...]:
    """Return the tasks of NanoCLDR."""
    version = installed_version("babel")
    languages = tuple(sorted(SCRIPTS))
    return tuple(
        TaskInfo(
            f"NanoCLDR/{task}{size}",
            language="multilingual",
            languages=languages,
            source=f"babel {version} (Unicode CLDR)",
            revision=key(),
            description=description.format(n=len(languages)),
            licence="Unicode-3.0",
        )
        for task, description in DESCRIPTIONS.items()
        for size in ("", FULL)
    )


@cache
def key() -> str:
    """Return the version of Babel, which carries one release of CLDR, and of this builder."""
    return f"babel{installed_version('babel')}-e{EDITION}"


def entries() -> list[Entry]:
    """Return everything that CLDR names in English and in other languages of the set, unambiguous.

    A name with a digit is excluded: `(1946-1965)` is the same in every language and reveals the answer.
    """
    from steelyard.datasets.builtin.parallel import Entry, unambiguous

    names: dict[str, dict[str, str]] = {}
    for language in sorted(SCRIPTS):
        for thing, name in _names(language):
            if not any(character.isdigit() for character in name):
                names.setdefault(thing, {})[language] = name
    return unambiguous([Entry(thing, names[thing]) for thing in sorted(names)])


def _names(language: str) -> Iterator[tuple[str, str]]:
    """Yield (thing, name) for everything that one language names; the thing is its kind and its CLDR code."""
    from babel import Locale

    locale = Locale.parse(language)
    kinds = {
        "territory": locale.territories,
        "language": locale.languages,
        "currency": locale.currencies,
        "script": locale.scripts,
        "unit": {code: names.get("long", "") for code, names in locale.unit_display_names.items()},
    }
    for kind, table in kinds.items():
        for code, name in table.items():
            # A missing translation is empty or the code, and a code in brackets reveals the answer.
            translated = name and name.casefold() != code.casefold() and f"({code})" not in name
            if code not in NOT_THINGS and translated:
                yield f"{kind}-{code}", " ".join(name.translate(MARKS).split())


def build() -> Iterator[Task]:
    """Yield the tasks of NanoCLDR, in the order of `infos`."""
    from steelyard.datasets.builtin.parallel import across, everywhere, to_english

    things = entries()
    info = {task.task: task for task in infos()}
    yield to_english(info["names-to-english"], things, documents=10_000, queries=200)
    yield to_english(info["names-to-english-full"], things, documents=10_000, queries=1_000)
    yield across(info["names-across-scripts"], things, _other_script, documents=10_000, queries=200)
    yield across(info["names-across-scripts-full"], things, _other_script, documents=10_000, queries=1_000)
    yield everywhere(info["names-in-all-languages"], things, documents=2_000, queries=200, per_entry=10)
    yield everywhere(info["names-in-all-languages-full"], things, documents=10_000, queries=400, per_entry=len(SCRIPTS))
    yield territory_cards(info["territory-cards"], things, CARD_LANGUAGES.split(), documents=2_000, queries=200)
    yield territory_cards(
        info["territory-cards-full"], things, CARD_LANGUAGES_FULL.split(), documents=10_000, queries=400
    )


def _other_script(one: str, other: str) -> bool:
    return SCRIPTS[one] != SCRIPTS[other]


SET = BuiltinSet("NanoCLDR", infos, key, build)
