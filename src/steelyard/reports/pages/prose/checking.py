"""Check the sentences of a draft: every number, task, language, model and comparison must follow from the facts.

A number must be in a fact, rounded as in the draft, together with the profile and the metric that are nearest to it in
the sentence. A name (capitals, digits or underscores inside a word, or a capitalised word inside a sentence) must be in
some fact. A language must be one of the task. A comparison of two profiles must agree with their scores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from steelyard.reports.pages.measure.page_inputs import LABELS

_NUMBER = re.compile(r"(?<![\w.@-])[-+−]?\d[\d,]*(?:\.\d+)?%?(?![\w@-])")
_COUNTED = re.compile(
    r"\b(\d[\d,]*) (?:[\w-]+ ){0,2}(queries|documents|languages|scripts|qrels|pairs|tasks|candidates)\b", re.IGNORECASE
)
"""A count and what it counts."""
_METRIC = re.compile(r"\b(?:nDCG|hit|recall|MRR|MAP|precision)@?\d*\b", re.IGNORECASE)
_WORD = re.compile(r"[\w][\w@./+:-]*[\w]|\w")
_SENTENCE = re.compile(r"(?<=[.!?])(?:[\"'”’)]*)\s+(?=[\"'“‘(]*[A-Z0-9])")
_LABELS = "|".join(map(re.escape, LABELS.values()))
_UP = "beats|outperforms|exceeds|surpasses|better than|above|higher than|stronger than|ahead of"
_DOWN = "trails|worse than|below|lower than|weaker than|behind"
_COMPARED = re.compile(
    rf"\b(?P<one>{_LABELS})\b(?:(?!{_LABELS})[^.;]){{0,60}}?\b(?:(?P<up>{_UP})|(?P<down>{_DOWN}))\b"
    rf"(?:(?!{_LABELS})[^.;]){{0,30}}?\b(?P<other>{_LABELS})\b",
    re.IGNORECASE,
)
_BEST = re.compile(rf"\b(?P<one>{_LABELS})\b[^.;,]{{0,30}}\b(?:strongest|best|highest|leading)\b", re.IGNORECASE)
_NEGATED = re.compile(r"\b(?:not|no|neither|cannot|without|nor)\b", re.IGNORECASE)
PLAIN = frozenset(
    {"bm25", "dense", "reranking", "hybrid", "ndcg", "ndcg@10", "hit@10", "recall@100", "qa", "ir", "rrf", "idf", "ai"}
    | {"i", "e.g", "i.e", "nano", "json", "faq"}
)
"""Words with capitals or digits that are not names of tasks or models."""
_GENERIC = """all answer api base beta cased chinese code context cos cross distill doc edge embed embedding embeddings
    encoder encoding english era facebook flash forever full general german google instruct japanese korean lab large
    late lite long medium micro mini model models modern mono multi multilingual nano neural news open paraphrase
    passage pico pro project query reason rerank reranker reranking retrieval retriever search semantic sentence
    similarity small sparse static super task text tiny transformers ultra unsupervised user web word xsmall"""
GENERIC = frozenset(_GENERIC.split())
"""Words in the names of models that also occur in other texts."""
_WORDS = "three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS = {word: str(number) for number, word in enumerate(_WORDS.split(), 3)}


@dataclass(frozen=True)
class Facts:
    """Statements, and the scores of the profiles by label."""

    statements: tuple[str, ...]
    languages: frozenset[str]
    """English names of the languages of the task."""
    scores: Mapping[str, float]

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the statements, without case."""
        text = " ".join(self.statements)
        words = {word.casefold() for word in _WORD.findall(text)}
        return frozenset(words | {part for word in words for part in re.split(r"[\W_]+", word)})


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a paragraph.

    >>> split_sentences("It has 0.5 nDCG@10. BM25 fails (badly). Why?")
    ['It has 0.5 nDCG@10.', 'BM25 fails (badly).', 'Why?']
    """
    return [part.strip() for part in _SENTENCE.split(text.strip()) if part.strip()]


def problem(sentence: str, facts: Facts) -> str:
    """Return why a sentence does not follow from the facts; empty if nothing contradicts it."""
    return (
        _number_problem(sentence, facts)
        or _language_problem(sentence, facts)
        or _name_problem(sentence, facts)
        or _comparison_problem(sentence, facts)
    )


def _number_problem(sentence: str, facts: Facts) -> str:
    for word, digits in NUMBER_WORDS.items():
        sentence = re.sub(rf"\b{word}\b", digits, sentence, flags=re.IGNORECASE)
    for match in _COUNTED.finditer(sentence):
        pattern = re.compile(rf"\b{match[1]} (?:[\w-]+ ){{0,2}}{match[2][:-2]}", re.IGNORECASE)
        if not any(pattern.search(one) for one in facts.statements):
            return f"{match[1]} {match[2]} is not in the facts"
    for match in _NUMBER.finditer(sentence):
        label = _nearest(sentence, match.start(), tuple(LABELS.values()))
        metric = _nearest_metric(sentence, match.start())
        if not any(_holds(one, match[0], label, metric) for one in facts.statements):
            about = " ".join(filter(None, (label, metric)))
            return f"the number {match[0]} is not in the facts" + (f" about {about}" if about else "")
    return ""


def _holds(statement: str, number: str, label: str, metric: str) -> bool:
    """Return whether a statement has the number, at the precision of the draft, with the profile and the metric."""
    lowered = statement.casefold()
    if (label and label.casefold() not in lowered) or (metric and metric.casefold() not in lowered):
        return False
    return any(_equal(number, match[0]) for match in _NUMBER.finditer(statement))


def _equal(drafted: str, known: str) -> bool:
    """Return whether a number of a draft is a fact, possibly rounded, as a share or in per cent.

    >>> _equal("17%", "16.67%"), _equal("0.45", "0.4546"), _equal("0.46", "0.4546"), _equal("50%", "0.5000")
    (True, True, False, True)
    """
    value, decimals = _value(drafted)
    other, _ = _value(known)
    scales = [1.0]
    if drafted.endswith("%") and not known.endswith("%"):
        scales = [100.0]
    elif known.endswith("%") and not drafted.endswith("%"):
        scales = [0.01]
    # A draft that rounds must round correctly.
    return any(abs(abs(value) - abs(other) * scale) <= 0.5 * 10**-decimals + 1e-9 for scale in scales)


def _value(number: str) -> tuple[float, int]:
    plain = number.replace(",", "").replace("−", "-").rstrip("%")
    return float(plain), len(plain.partition(".")[2])


def _nearest(sentence: str, at: int, labels: Sequence[str]) -> str:
    """Return the profile that a number belongs to: one that directly follows, else the last before, else the next.

    "Reranking hybrid" may be written as "hybrid".

    >>> _nearest("Dense reaches 0.52, while BM25 stays", 14, ("BM25", "Dense")), _nearest("0.52 (Dense)", 0, ("Dense",))
    ('Dense', 'Dense')
    """
    places = sorted(
        (match.start(), label)
        for label in labels
        for match in re.finditer(rf"\b{re.escape(label.rpartition(' ')[2])}\b", sentence, re.IGNORECASE)
    )
    after = [place for place in places if place[0] > at]
    if after and re.fullmatch(r"[\d.,%]+ (?:\(|for |of )(?:Reranking )?", sentence[at : after[0][0]], re.IGNORECASE):
        return after[0][1]
    before = [place for place in places if place[0] <= at]
    return before[-1][1] if before else after[0][1] if after else ""


def _nearest_metric(sentence: str, at: int) -> str:
    places = [(abs(match.start() - at), match[0]) for match in _METRIC.finditer(sentence) if "@" in match[0]]
    return min(places)[1] if places else ""


@cache
def _language_names() -> Mapping[str, str]:
    from babel.core import Locale

    return {name: code for code, name in Locale("en").languages.items() if len(code) == 2}


def _language_problem(sentence: str, facts: Facts) -> str:
    for name in _language_names():
        if re.search(rf"\b{re.escape(name)}\b", sentence) and name not in facts.languages:
            return f"{name} is not a language of the task"
    return ""


def _name_problem(sentence: str, facts: Facts) -> str:
    for place, match in enumerate(_WORD.finditer(sentence)):
        word = match[0]
        folded = word.casefold()
        parts = [part for part in re.split(r"[\W_]+", folded) if part]
        known = folded in facts.words or all(_known(part, facts) for part in parts)
        capital = word[0].isupper() and (place > 0 or folded in _model_words())
        if not known and (capital or _is_name(word)):
            return f"the name {word} is not in the facts"
    return ""


def _is_name(word: str) -> bool:
    """Return whether a word is written like the name of a task or model: with capitals, digits or _ inside."""
    digits = any(map(str.isdigit, word)) and not word[0].isdigit()
    return any(letter.isupper() for letter in word[1:]) or "_" in word or digits


def _known(part: str, facts: Facts) -> bool:
    return part in facts.words or part in PLAIN or part.isdigit() or part in _folded_languages()


@cache
def _folded_languages() -> frozenset[str]:
    return frozenset(part.casefold() for name in _language_names() for part in name.split())


@cache
def _model_words() -> frozenset[str]:
    """Return the owners and families of known models, which are names even at the start of a sentence."""
    from steelyard.models.model_cards import cards

    names = (re.split(r"[^a-z0-9]+", one.model.casefold()) for one in cards().values() if "/" in one.model)
    return frozenset(part for parts in names for part in parts if len(part) > 2) - GENERIC


def _comparison_problem(sentence: str, facts: Facts) -> str:
    if _NEGATED.search(sentence):
        return ""
    for match in _COMPARED.finditer(sentence):
        first, second = (_score(match[name], facts) for name in ("one", "other"))
        if first is None or second is None:
            continue
        if (first >= second) if match["down"] else (first <= second):
            return f"the scores do not show that {match[0]!r}"
    for match in _BEST.finditer(sentence):
        score = _score(match["one"], facts)
        if score is not None and score < max(facts.scores.values()):
            return f"{match['one']} does not have the highest score"
    return ""


def _score(label: str, facts: Facts) -> float | None:
    return next((value for name, value in facts.scores.items() if name.casefold() == label.casefold()), None)
