"""Question words, names and numbers in queries, found with plain Python."""

from __future__ import annotations

import re
import unicodedata

from steelyard.reports.pages.measure.query_properties import FIRST_WORDS, IN_PLACE
from steelyard.text.analysis.analyser import QUESTION_WORDS


def question_word(text: str, language: str) -> str:
    """The word that starts a question; in Chinese, Japanese and Thai the first of the list that is anywhere in it."""
    lowered = text.lower().lstrip("¿¡\"'«“ ")
    if language in IN_PLACE and re.search(r"[?？؟][\s\"'”’»)]*$", text):
        tokens = [token for token in re.split(r"[\s.,;:!?？؟\"“”«»()]+", lowered) if token]
        phrases = [word.split("_") for word in IN_PLACE[language].split()]
        for at in range(len(tokens)):
            fits = [phrase for phrase in phrases if tokens[at : at + len(phrase)] == phrase]
            if fits:
                return " ".join(max(fits, key=len))
    first = re.split(r"[\s,'’]", lowered, maxsplit=1)[0]
    if first in FIRST_WORDS.get(language, "").split():
        return first
    return next((w for w in QUESTION_WORDS.get(language, "").split() if w != "か" and w in lowered), "")


def capitals(text: str) -> list[str]:
    """Words with a capital letter that do not start a sentence; none of a title."""
    parts, found, letters, starts = text.split(), [], 0, True
    for part in parts:
        word = part.strip("\"'“”‘’«»()[]{}.,!?:;…¿¡")
        if word[:1].isalpha():
            letters += 1
            pronoun = re.fullmatch(r"I(['’](m|ve|d|ll))?", word, re.I)
            if not starts and word[0].isupper() and not pronoun:
                found.append(word)
        starts = bool(re.search(r"[.!?…:;\u037e。]['\"”’»)\]]*$", part))
    return [] if len(found) > 2 and len(found) >= letters / 2 else found


def digits_of(text: str) -> set[str]:
    """The numbers in a text with ASCII digits, without separators of thousands."""
    found = set()
    for number in re.findall(r"\d+(?:[.,٫٬]\d+)*", text):
        plain = "".join(str(unicodedata.digit(c)) if c.isdigit() else {"٫": ".", "٬": ","}.get(c, c) for c in number)
        found.add(re.sub(r"[.,](?=\d{3}(?:\D|$))", "", plain))
    return found
