"""The analyser of each text of a task: from the declared language, else from language identification."""

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
"""Analyses by the name of the option `analyser`."""

_ONE_LANGUAGE = 0.9
"""If at least this share of the identified texts has one language, all texts are analysed in it."""
_SAMPLE, _SAMPLE_SHARE = 4_000, 0.95
"""A random sample of so many texts is enough if half of them have a language, and this share of those the same."""
_CODE = re.compile("[a-z]{2,3}")
_UNSPECIFIC = ("mul", UNDECIDED)
"""Codes without information; names that are not codes (multilingual, unknown, English, jp) are ignored too."""


@dataclass(frozen=True)
class Policy:
    """The languages of a task, most frequent first, and their origin.

    With one language, every text is analysed in it. With several, each text is analysed in its own.
    """

    kind: str
    languages: tuple[str, ...]
    origin: str

    @property
    def mixed(self) -> bool:
        """Whether texts are analysed in different languages."""
        return len(self.languages) > 1

    def analyser(self, language: str) -> Analysis:
        """Return the analyser of one language."""
        return KINDS[self.kind](language)

    def groups(self, texts: Sequence[str]) -> Iterator[tuple[Analysis, Int32]]:
        """Yield each analyser and the rows of its texts; every text is in exactly one group."""
        if not self.mixed:
            yield self.analyser(self.languages[0]), np.arange(len(texts), dtype=np.int32)
            return
        detected = np.array(detect(texts, among=self.languages))
        # A text without a detectable language is analysed like most of the task.
        detected[detected == UNDECIDED] = self.languages[0]
        for language in self.languages:
            rows = np.flatnonzero(detected == language)
            if len(rows):
                yield self.analyser(language), rows.astype(np.int32)


def choose_policy(texts: Sequence[str], info: TaskInfo, kind: str = "default", language: str = "") -> Policy:
    """Return the policy of a task: the language of the option, else code, else the declared or detected language.

    >>> choose_policy(["irrelevant"], TaskInfo("x/y", language="de-AT")).languages
    ('de',)
    >>> choose_policy(["Where is it?", "Wo ist das?"], TaskInfo("x/y")).languages
    ('de', 'en')
    """
    if language:
        return Policy(kind, (canonical(language),), "asked for")
    if info.category == "code":
        return Policy(kind, ("code",), "category of the task")
    declared = _declared(info.language) or _declared(*info.languages)
    if len(declared) == 1:
        return Policy(kind, declared, "language of the task")
    sample = _sample(texts) if len(declared) < 2 else texts
    counts = _count_languages(sample, declared)
    if len(sample) < len(texts) and max(counts.values(), default=0) < _SAMPLE_SHARE * max(counts.total(), _SAMPLE // 2):
        counts = _count_languages(texts, declared)
    if not counts:
        return Policy(kind, (UNDECIDED,), "nothing detected")
    # Ties are sorted by name, so that the order of the documents has no effect.
    ranked = sorted(counts, key=lambda code: (-counts[code], code))
    if counts[ranked[0]] >= _ONE_LANGUAGE * counts.total() and len(declared) < 2:
        return Policy(kind, (ranked[0],), "detected")
    return Policy(kind, tuple(dict.fromkeys([*ranked, *declared])), "detected")


def _declared(*languages: str) -> tuple[str, ...]:
    """Return the languages that a task declares by their codes."""
    codes = dict.fromkeys(map(canonical, languages))
    return tuple(
        code for code in codes if _CODE.fullmatch(code) and code not in _UNSPECIFIC and _is_some_language(code)
    )


def _is_some_language(code: str) -> bool:
    """Return whether a code is not that of a country (jp, cn); codes of three letters are accepted."""
    return len(code) == 3 or is_language(code)


def _sample(texts: Sequence[str]) -> Sequence[str]:
    """Return a random sample with a fixed seed; not every n-th text, because texts may alternate in language."""
    if len(texts) <= _SAMPLE:
        return texts
    rows = np.random.default_rng(0).choice(len(texts), _SAMPLE, replace=False)
    return [texts[row] for row in rows.tolist()]


def _count_languages(texts: Sequence[str], among: Sequence[str]) -> Counter[str]:
    """Return how many of the texts are in each language, without those of unknown language."""
    counts = Counter(detect(texts, among=among))
    counts.pop(UNDECIDED, None)
    return counts
