"""NanoEmoji: names of emoji in 14 languages, from the `emoji` package: parallel phrases of everyday things."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from steelyard.datasets.builtin.sampling import FULL, BuiltinSet, installed_version
from steelyard.types import TaskInfo

if TYPE_CHECKING:
    from steelyard.datasets.builtin.parallel import Entry
    from steelyard.types import Task

EDITION = 1
"""Increased when the builder changes the data."""

LANGUAGES = ("ar", "de", "en", "es", "fa", "fr", "id", "it", "ja", "ko", "pt", "ru", "tr", "zh")

SKIN_TONES = range(0x1F3FB, 0x1F400)
REGIONAL_LETTERS = range(0x1F1E6, 0x1F200)
TAG_END = 0xE007F

DESCRIPTIONS = {
    "names-to-english": "The name of an emoji in one of 13 languages; its English name is sought. One positive.",
    "names-across-languages": "Names of emoji, each in one of 14 languages; the query is the name of the same emoji "
    "in another language. One positive.",
    "names-in-all-languages": "The English name of an emoji; relevant is its name in 13 other languages. "
    "Many positives.",
}


def infos() -> tuple[TaskInfo, ...]:
    """Return the tasks of NanoEmoji."""
    return tuple(
        TaskInfo(
            f"NanoEmoji/{task}{size}",
            language="multilingual",
            languages=LANGUAGES,
            source=f"emoji {installed_version('emoji')} (Unicode CLDR short names)",
            revision=key(),
            description=description,
            licence="BSD-3-Clause AND Unicode-3.0",
        )
        for task, description in DESCRIPTIONS.items()
        for size in ("", FULL)
    )


@cache
def key() -> str:
    """Return the version of the package and of this builder."""
    return f"emoji{installed_version('emoji')}-e{EDITION}"


def entries() -> list[Entry]:
    """Return the emoji with their names, unambiguous.

    Excluded are variants by skin tone, whose names differ only in the tone; flags, whose names are those of
    territories (NanoCLDR has them); and names with a digit, which is the same in every language.
    """
    import emoji

    from steelyard.datasets.builtin.parallel import Entry, unambiguous

    emoji.config.load_language(list(LANGUAGES))
    emojis = []
    for symbol, data in emoji.EMOJI_DATA.items():
        points = list(map(ord, symbol))
        plain = not any(point in SKIN_TONES or point in REGIONAL_LETTERS or point == TAG_END for point in points)
        if data["status"] == emoji.STATUS["fully_qualified"] and plain:
            names = {language: _phrase(data[language]) for language in LANGUAGES if language in data}
            names = {language: name for language, name in names.items() if not any(map(str.isdigit, name))}
            emojis.append(Entry("-".join(f"{point:x}" for point in points), names))
    return unambiguous(sorted(emojis, key=lambda entry: entry.id))


def _phrase(name: str) -> str:
    """Return the phrase of a short name.

    >>> _phrase(":médaille_d’or:")
    'médaille d’or'
    """
    return " ".join(name.strip(":").replace("_", " ").split())


def build() -> Iterator[Task]:
    """Yield the tasks of NanoEmoji, in the order of `infos`."""
    from steelyard.datasets.builtin.parallel import across, everywhere, to_english

    things = entries()
    info = {task.task: task for task in infos()}
    yield to_english(info["names-to-english"], things, documents=10_000, queries=200)
    yield to_english(info["names-to-english-full"], things, documents=10_000, queries=1_000)
    yield across(info["names-across-languages"], things, str.__ne__, documents=10_000, queries=200)
    yield across(info["names-across-languages-full"], things, str.__ne__, documents=10_000, queries=1_000)
    yield everywhere(info["names-in-all-languages"], things, documents=2_000, queries=200, per_entry=9)
    yield everywhere(
        info["names-in-all-languages-full"], things, documents=10_000, queries=1_000, per_entry=len(LANGUAGES)
    )


SET = BuiltinSet("NanoEmoji", infos, key, build)
