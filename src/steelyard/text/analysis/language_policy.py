"""Which analyser reads which text of a task: told by the task, else found in the texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.text.analysis.analyser import Analyser, Analysis
from steelyard.text.language_id.detect import UNDECIDED, detect
from steelyard.text.languages import canonical, is_language
from steelyard.text.tokenizer.segment import HakariTokenizer, Segmenter
from steelyard.types import Int32, TaskInfo

KINDS: dict[str, Callable[[str], Analysis]] = {"default": Analyser, "segment": Segmenter, "hakari": HakariTokenizer}
"""What can be made of a language's texts, by the name of the option `analyser`."""

_ONE_LANGUAGE = 0.9
"""From this share of the texts that show a language on, all are read in it."""
_SAMPLE, _PLAINLY = 4_000, 0.95
"""So many texts, drawn by lot, speak for all where half of them show a language, and this share of those the same."""
_CODE = re.compile("[a-z]{2,3}")
_UNTOLD = ("mul", UNDECIDED)
"""Codes that say nothing; what is no code of a language (multilingual, unknown, English, jp) says no more."""


@dataclass(frozen=True)
class Policy:
    """The languages of a task, most frequent first, and how they came to be known.

    With one language, every text is read in it. With several, each text is read in its own.
    """

    kind: str
    languages: tuple[str, ...]
    origin: str

    @property
    def mixed(self) -> bool:
        """Whether texts are analysed one by one."""
        return len(self.languages) > 1

    def analyser(self, language: str) -> Analysis:
        """The analyser of one language."""
        return KINDS[self.kind](language)

    def groups(self, texts: Sequence[str]) -> Iterator[tuple[Analysis, Int32]]:
        """The places of the texts that each analyser reads; every text is in exactly one group."""
        if not self.mixed:
            yield self.analyser(self.languages[0]), np.arange(len(texts), dtype=np.int32)
            return
        found = np.array(detect(texts, among=self.languages))
        # A text that shows no language is read like most of the task.
        found[found == UNDECIDED] = self.languages[0]
        for language in self.languages:
            rows = np.flatnonzero(found == language)
            if len(rows):
                yield self.analyser(language), rows.astype(np.int32)


def choose_policy(texts: Sequence[str], info: TaskInfo, kind: str = "default", language: str = "") -> Policy:
    """The policy for a task: the language asked for, else code, else the task's language, else what the texts show.

    >>> choose_policy(["irrelevant"], TaskInfo("x/y", language="de-AT")).languages
    ('de',)
    >>> choose_policy(["Where is it?", "Wo ist das?"], TaskInfo("x/y")).languages
    ('de', 'en')
    """
    if language:
        return Policy(kind, (canonical(language),), "asked for")
    if info.category == "code":
        return Policy(kind, ("code",), "category of the task")
    told = _told(info.language) or _told(*info.languages)
    if len(told) == 1:
        return Policy(kind, told, "language of the task")
    sample = _drawn(texts) if len(told) < 2 else texts
    counts = _languages(sample, told)
    if len(sample) < len(texts) and max(counts.values(), default=0) < _PLAINLY * max(counts.total(), _SAMPLE // 2):
        counts = _languages(texts, told)
    if not counts:
        return Policy(kind, (UNDECIDED,), "nothing detected")
    # Sorted by name where counts are equal, so that the order of the documents changes nothing.
    ranked = sorted(counts, key=lambda code: (-counts[code], code))
    if counts[ranked[0]] >= _ONE_LANGUAGE * counts.total() and len(told) < 2:
        return Policy(kind, (ranked[0],), "detected")
    return Policy(kind, tuple(dict.fromkeys([*ranked, *told])), "detected")


def _told(*languages: str) -> tuple[str, ...]:
    """The languages that a task declares by their codes."""
    codes = dict.fromkeys(map(canonical, languages))
    return tuple(code for code in codes if _CODE.fullmatch(code) and code not in _UNTOLD and _is_some_language(code))


def _is_some_language(code: str) -> bool:
    """Not that of a country (jp, cn); of three letters there are more than anybody lists."""
    return len(code) == 3 or is_language(code)


def _drawn(texts: Sequence[str]) -> Sequence[str]:
    """Some of many texts, always the same; by lot, as every second one may be a translation of the one before."""
    if len(texts) <= _SAMPLE:
        return texts
    rows = np.random.default_rng(0).choice(len(texts), _SAMPLE, replace=False)
    return [texts[row] for row in rows.tolist()]


def _languages(texts: Sequence[str], among: Sequence[str]) -> Counter[str]:
    """How many of the texts are in each language, but for those that show none."""
    counts = Counter(detect(texts, among=among))
    counts.pop(UNDECIDED, None)
    return counts
