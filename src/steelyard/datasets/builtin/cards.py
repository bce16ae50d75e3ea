"""Cards of territories: documents that list facts; a query is one of the facts in another language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING

from steelyard.datasets.builtin.parallel import Entry
from steelyard.datasets.builtin.sampling import assemble, fold, shuffled
from steelyard.types import TaskInfo

if TYPE_CHECKING:
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
    asked: dict[str, str] = {}
    positives: dict[str, list[str]] = {}
    speakers = [language for language in info.languages if language not in languages]
    for thing in shuffled(holders, "queries"):
        territories = {card.rpartition(".")[0] for card in holders[thing]}
        spoken = [language for language in shuffled(speakers, thing) if language in things[thing].names]
        if spoken and len(territories) <= MOST and len(asked) < queries:
            asked[f"{thing}.{spoken[0]}"] = things[thing].names[spoken[0]]
            positives[f"{thing}.{spoken[0]}"] = holders[thing]
    return assemble(info, texts, asked, positives)


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
