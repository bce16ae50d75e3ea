"""Properties of queries: questions or keywords, lengths, names, numbers, duplicates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from steelyard.reports.pages.measure.part_values import Tendencies
from steelyard.reports.pages.measure.text_languages import Reading
from steelyard.reports.pages.measure.text_lengths import word_counts
from steelyard.reports.pages.thresholds import FEWEST
from steelyard.text.analysis.analyser import QUESTION_WORDS
from steelyard.text.language_id.detect import UNDECIDED
from steelyard.types import Task

LENGTH_CLASSES = {"1-2 words": 2, "3-7 words": 7, "8-15 words": 15, "16-40 words": 40, "over 40 words": None}
"""Classes of query lengths, by their maximum number of words."""

FIRST_WORDS = {
    "en": "what who whom whose when where why which how is are was were do does did can could should will would",
    "de": "was wer wen wem wessen wann wo wohin woher warum wieso weshalb welche welcher welches wie ist sind kann hat",
    "fr": "que quoi qui quand où pourquoi quel quelle quels quelles comment combien est-ce",
    "es": "qué quién quiénes cuándo dónde por cuál cuáles cómo cuánto cuántos",
    "it": "che cosa chi quando dove perché quale quali come quanto quanti",
    "pt": "que quem quando onde por qual quais como quanto quantos",
    "nl": "wat wie wanneer waar waarom welke welk hoe hoeveel",
    "sv": "vad vem när var varför vilken vilket vilka hur",
    "el": "τι ποιος ποια ποιο ποιοι ποιες πότε πού γιατί πώς πόσο πόσα πόσοι πόσες",
    "pl": "co kto kiedy gdzie dlaczego jaki jaka jakie który która które jak ile czy",
    "ro": "ce cine când unde de-ce care cum cât câți câte",
    "uk": "що хто коли де чому який яка яке які як скільки чи",
    "fa": "چه چی کی کجا چرا چگونه چطور کدام چند آیا",
    "he": "מה מי מתי איפה היכן למה מדוע איזה איזו כיצד איך כמה האם",
    "ru": "что кто когда где почему какой какая какое какие как сколько чей",
    "ar": "ما ماذا من متى أين لماذا كيف كم هل أي",
    "hi": "क्या कौन कब कहाँ कहां क्यों कैसे कितने कितना किस किसने",
    "tr": "ne kim nerede neden niçin nasıl hangi kaç",
    "vi": "ai gì khi đâu sao nào bao",
    "id": "apa siapa kapan mana mengapa bagaimana berapa",
}
"""Words at the start of a question; in languages without spaces they may be anywhere (`QUESTION_WORDS`)."""

IN_PLACE = {
    "hi": "क्या कौन कौनसा कौनसी कब कहाँ कहां क्यों कैसे कैसा कैसी कितने कितना कितनी किस किसने किसे किसका किसके किसकी किसको किन "
    "किन्हें किसमें किससे",
    "tr": "ne nedir neydi neyi neler neye neden niçin nasıl kim kimdir kimin kime kimi kimler nerede nereye nereden "
    "nere neresi hangi hangisi hangileri kaç kaçıncı kaçta",
    "vi": "bao_nhiêu bao_giờ bao_lâu khi_nào tại_sao vì_sao thế_nào ra_sao ở_đâu ai gì nào đâu sao mấy",
    "id": "apa apakah siapa kapan di_mana dimana mengapa bagaimana berapa",
    "fa": "چه چی کی کجا چرا چگونه چطور کدام چند",
}
"""Question words of languages where they are anywhere in a question; looked for only if it has a question mark."""

NOUNS_TOO = frozenset({"de", "lb"})
"""Languages that capitalise every noun, where capitals do not mark names."""

CASED = frozenset({"latin", "cyrillic", "greek", "armenian"})
"""Scripts that have capitals."""

SHOWN = 5
_MARK = re.compile(r"[?？؟\u037e፧⸮]\s*[\"'”’»)]*\s*$|՞")
"""A question mark at the end; that of Armenian is inside a word."""
_GREEK_MARK = re.compile(r";\s*[\"'”’»)]*\s*$")
"""The question mark of Greek, which keyboards write as a semicolon."""
_SPACED = re.compile(r"[^\s.,;:!?？؟\"“”«»()]+")
"""A word between spaces and punctuation."""
_SENTENCE_END = re.compile(r"[.!?…:;\u037e。]['\"”’»)\]]*$")
_PRONOUNS = frozenset({"i", "i'm", "i've", "i'd", "i'll", "i’m", "i’ve", "i’d", "i’ll"})
TITLE_CASE = 0.5
"""From this share of capitalised words after the first on, a text is a title, whose capitals do not mark names."""


def tendencies(task: Task, reading: Reading) -> Tendencies:
    """Return the properties of the task's queries."""
    texts = task.queries.texts
    words = [_question_word(text, language) for text, language in zip(texts, reading.query_languages, strict=True)]
    questions = [
        bool(word) or asks(text, script) for word, text, script in zip(words, texts, reading.query_scripts, strict=True)
    ]
    counts = word_counts(texts)
    limits = [limit if limit is not None else np.inf for limit in LENGTH_CLASSES.values()]
    classes = np.searchsorted(limits, counts)
    total = max(len(texts), 1)
    frequency = Counter(word for word in words if word)
    ranked = sorted(frequency, key=lambda word: (-frequency[word], word))
    sought = [bare for text in task.corpus.texts if (bare := _bare(text))]  # empty texts are not duplicates
    documents = set(sought)
    return Tendencies(
        questions=sum(questions) / total,
        question_words={word: frequency[word] for word in ranked[:SHOWN]},
        length_classes={name: float((classes == i).sum()) / total for i, name in enumerate(LENGTH_CLASSES)},
        numbers=sum(any(map(str.isdigit, text)) for text in texts) / total,
        names=_names(texts, reading),
        duplicate_queries=len(texts) - len(set(map(_bare, texts))),
        duplicate_documents=len(sought) - len(documents),
        queries_that_are_documents=sum(_bare(text) in documents for text in texts),
    )


def asks(text: str, script: str = "latin") -> bool:
    """Return whether a text ends with a question mark of its script.

    >>> asks("Πού είναι;", "greek"), asks("Where;"), asks("ما هذا؟", "arabic")
    (True, False, True)
    """
    return bool(_MARK.search(text)) or (script == "greek" and bool(_GREEK_MARK.search(text)))


def _question_word(text: str, language: str) -> str:
    """Return the question word of a question, or an empty text."""
    lowered = text.lower().lstrip("¿¡\"'«“ ")
    if word := _in_place(lowered, language):
        return word
    first = re.split(r"[\s,'’]", lowered, maxsplit=1)[0]
    if first in FIRST_WORDS.get(language, "").split():
        return first
    # The Japanese particle か alone is part of too many words.
    inside = (word for word in QUESTION_WORDS.get(language, "").split() if word != "か")
    return next((word for word in inside if word in lowered), "")


def _in_place(lowered: str, language: str) -> str:
    """Return the question word that is first in a question of a language where it may be anywhere.

    >>> _in_place("sterling'in başkenti hangi şehirdir?", "tr"), _in_place("hangi şehirdir.", "tr")
    ('hangi', '')
    """
    if language not in IN_PLACE or not asks(lowered):
        return ""
    spaced = f" {' '.join(_SPACED.findall(lowered))} "
    places = {word: spaced.find(f" {word} ") for word in (one.replace("_", " ") for one in IN_PLACE[language].split())}
    place_of = {word: place for word, place in places.items() if place >= 0}
    return min(place_of, key=lambda word: (place_of[word], -len(word)), default="")


def _names(texts: Sequence[str], reading: Reading) -> float | None:
    """Return the share of queries with a name, in languages that capitalise only names; None if there are too few."""
    cased = [
        text
        for text, language, script in zip(texts, reading.query_languages, reading.query_scripts, strict=True)
        if script in CASED and language not in (*NOUNS_TOO, UNDECIDED)
    ]
    if len(cased) < FEWEST or all(text == text.lower() for text in cased):  # nothing is capitalised at all
        return None
    return sum(bool(capitalised(text)) for text in cased) / len(cased)


def capitalised(text: str) -> list[str]:
    """Return the words with a capital letter that are not the first of a sentence; none of a title.

    >>> capitalised("When did Luther die? He lived in Wittenberg. I know."), capitalised("Rise And Fall Of Rome")
    (['Luther', 'Wittenberg'], [])
    """
    words = [word.strip("\"'“”‘’«»()[]{}.,!?:;…¿¡") for word in text.split()]
    starts = [True, *(bool(_SENTENCE_END.search(word)) for word in text.split()[:-1])]
    letters = [(word, start) for word, start in zip(words, starts, strict=True) if word[:1].isalpha()]
    inside = [word for word, start in letters if not start and word.casefold() not in _PRONOUNS]
    names = [word for word in inside if word[0].isupper()]
    return [] if len(names) > 2 and len(names) >= TITLE_CASE * len(letters) else names


def _bare(text: str) -> str:
    return text.strip().casefold()
