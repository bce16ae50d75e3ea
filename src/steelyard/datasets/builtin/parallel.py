"""Three kinds of task from things that have a name in many languages.

First the names are made unambiguous: of things with the same English name one is kept, and a string that names two
things, in any languages, is used for neither. So everything relevant is judged relevant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.datasets.builtin.sampling import assemble, fold, shuffled
from steelyard.types import TaskInfo

if TYPE_CHECKING:
    from steelyard.types import Task


@dataclass(frozen=True)
class Entry:
    """One thing and its names by language."""

    id: str
    names: Mapping[str, str]


def unambiguous(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with a name in English, each string naming only one of them.

    >>> kept = unambiguous([
    ...     Entry("language-fr", {"en": "French", "de": "Französisch", "cs": "x"}),
    ...     Entry("country-fr", {"en": "France", "de": "Frankreich", "cs": "x"}),
    ...     Entry("script-fr", {"en": "french", "de": "Schrift"}),
    ... ])
    >>> [(entry.id, *entry.names.values()) for entry in kept]
    [('language-fr', 'French', 'Französisch'), ('country-fr', 'France', 'Frankreich')]
    """
    by_english: dict[str, Entry] = {}
    for entry in entries:
        if "en" in entry.names:
            by_english.setdefault(fold(entry.names["en"]), entry)
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for entry in by_english.values():
        for name in entry.names.values():
            owners[fold(name)].add(entry.id)
    unique = (
        Entry(entry.id, {language: name for language, name in entry.names.items() if len(owners[fold(name)]) == 1})
        for entry in by_english.values()
    )
    return [entry for entry in unique if "en" in entry.names]


def to_english(info: TaskInfo, entries: Sequence[Entry], *, documents: int, queries: int) -> Task:
    """Return a task with one positive: a name in any other language, among English names. Languages alternate."""
    chosen = shuffled(entries, "documents", key=_id)[:documents]
    languages = [language for language in info.languages if language != "en"]
    questions: dict[str, str] = {}
    positives: dict[str, list[str]] = {}
    for entry in shuffled(chosen, "queries", key=_id):
        if len(questions) == queries:
            break
        turn = len(questions) % len(languages)
        language = next((lang for lang in languages[turn:] + languages[:turn] if _differs(entry, lang, "en")), None)
        if language:
            questions[f"{entry.id}.{language}"] = entry.names[language]
            positives[f"{entry.id}.{language}"] = [f"{entry.id}.en"]
    return assemble(info, {f"{entry.id}.en": entry.names["en"] for entry in chosen}, questions, positives)


def across(
    info: TaskInfo, entries: Sequence[Entry], far: Callable[[str, str], bool], *, documents: int, queries: int
) -> Task:
    """Return a task with one positive: a corpus in all languages; the query is in another language that is `far`."""
    languages = info.languages
    texts: dict[str, str] = {}
    questions: dict[str, str] = {}
    positives: dict[str, list[str]] = {}
    for entry in shuffled(entries, "across", key=_id)[:documents]:
        turn = len(texts) % len(languages)
        home = next(lang for lang in languages[turn:] + languages[:turn] if lang in entry.names)
        document = f"{entry.id}.{home}"
        texts[document] = entry.names[home]
        away = [lang for lang in languages if far(home, lang) and _differs(entry, lang, home)]
        if away and len(questions) < queries:
            language = shuffled(away, entry.id)[0]
            questions[f"{entry.id}.{language}"] = entry.names[language]
            positives[f"{entry.id}.{language}"] = [document]
    return assemble(info, texts, questions, positives)


def everywhere(info: TaskInfo, entries: Sequence[Entry], *, documents: int, queries: int, per_entry: int) -> Task:
    """Return a task with many positives: an English name, and names of the same thing in up to `per_entry` languages.

    A string that several languages share is one document; one that equals the English name is not used. Entries are
    added until `queries` or `documents` is reached.
    """
    texts: dict[str, str] = {}
    questions: dict[str, str] = {}
    positives: dict[str, list[str]] = {}
    for entry in shuffled(entries, "everywhere", key=_id):
        names: dict[str, str] = {}
        for language in shuffled(info.languages, entry.id):
            if _differs(entry, language, "en") and fold(entry.names[language]) not in names:
                names[fold(entry.names[language])] = language
        spoken = list(names.values())[:per_entry]
        if len(questions) == queries or len(texts) + len(spoken) > documents:
            break
        if len(spoken) >= min(per_entry, 3):
            questions[f"{entry.id}.en"] = entry.names["en"]
            positives[f"{entry.id}.en"] = [f"{entry.id}.{language}" for language in spoken]
            texts |= {f"{entry.id}.{language}": entry.names[language] for language in spoken}
    return assemble(info, texts, questions, positives)


def _id(entry: Entry) -> str:
    return entry.id


def _differs(entry: Entry, language: str, other: str) -> bool:
    """Return whether the entry has different names in both languages."""
    names = entry.names
    return language in names and other in names and fold(names[language]) != fold(names[other])
