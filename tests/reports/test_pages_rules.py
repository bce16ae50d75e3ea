"""The rules of failure classes: each matches what it describes, and does not match its neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from steelyard.reports.pages.diagnose.cross_language import undeclared
from steelyard.reports.pages.diagnose.evidence import Evidence, names_of, numbers_of
from steelyard.reports.pages.diagnose.failure_classes import RULES, Ranking, failure_classes
from steelyard.reports.pages.diagnose.snippets import sentences
from steelyard.reports.pages.measure.page_inputs import Profile
from steelyard.reports.pages.measure.profile_scores import measure_all
from steelyard.reports.pages.measure.query_properties import asks, capitalised
from steelyard.reports.pages.measure.text_languages import language_profile, read
from steelyard.types import Corpus, Qrels, Queries, Run, Task, TaskInfo

ENGLISH = [
    "The old harbour of the town is open to small boats in summer and closed to them in winter.",
    "A baker in the village makes bread with rye flour and sells it on the market square every morning.",
    "Rain falls on the hills in the west, and the wind carries the clouds over the plain to the sea.",
    "The library keeps newspapers from the last century in a cellar that is dry and cool all year.",
    "Children learn to swim in the lake, where the water is shallow near the beach and deep beyond it.",
]


def ranking(
    query: str,
    positive: str,
    first: str,
    *,
    kind: str = "bm25",
    config: str = "bm25",
    languages: Sequence[str] = ("en",),
) -> Ranking:
    """A profile that ranks `first` first and the only relevant document last, among other documents."""
    texts = [positive, first, *(f"{text} Number {n}." for n in range(3) for text in ENGLISH)]
    corpus = Corpus.of([f"d{n:02}" for n in range(len(texts))], texts)
    row = corpus.row_of
    queries = Queries(("q",), (query,))
    qrels = Qrels.of([0], [row["d00"]], [1], queries=1)
    info = TaskInfo("T/t", language=languages[0] if len(languages) == 1 else "multilingual", languages=tuple(languages))
    task = Task(info, corpus, queries, qrels)
    order = [row["d01"], *(r for r in range(len(texts)) if r not in (row["d00"], row["d01"])), row["d00"]]
    run = Run.of([order], [np.arange(len(order), 0, -1)])
    evidence = Evidence(task, read(task))
    measured = measure_all(task, [Profile(kind, config, run)])[0]  # type: ignore[arg-type]
    return Ranking(evidence, measured, evidence.asked, {})


MARIE = "Marie Curie was born in Warsaw in 1867 and studied physics in Paris before she worked on radium."
PIERRE = "Pierre and his brother studied crystals and magnetism in France before he worked on radium with others."
LONG = " ".join(f"{ENGLISH[n % 5]} Part {n} of the report." for n in range(40))

CASES = {
    # rule: (query, relevant, ranked first, languages), matched or not
    ("translation", True): (
        "When was the physicist born in the city?",
        "居里夫人出生于华沙，后来在巴黎学习物理。",
        ENGLISH[0],
        "en zh",
    ),
    ("translation", False): ("When was the physicist born in the city?", MARIE, ENGLISH[0], "en zh"),
    ("script", True): (
        "When was the physicist born in the city?",
        "居里夫人出生于华沙，后来在巴黎学习物理。",
        ENGLISH[0],
        "en zh",
    ),
    ("script", False): ("When was the physicist born in the city?", MARIE, ENGLISH[0], "en zh"),
    ("paraphrase", True): ("Which metal do aircraft builders prefer today?", MARIE, ENGLISH[0], "en"),
    ("paraphrase", False): ("Who studied physics in Paris and worked on radium?", MARIE, ENGLISH[0], "en"),
    ("missing_term", True): ("who studied magnetism and worked on radium in paris", MARIE, PIERRE, "en"),
    ("missing_term", False): ("who studied physics and worked on radium in paris", MARIE, PIERRE, "en"),
    ("same_topic", True): ("who worked on radium with others", MARIE, PIERRE, "en"),
    ("same_topic", False): ("who worked on radium with others", MARIE, ENGLISH[1], "en"),
    ("name", True): ("Where was Marie Curie born?", MARIE, PIERRE, "en"),
    ("name", False): ("Where was she born?", MARIE, PIERRE, "en"),
    ("number", True): ("Who was born in 1867?", MARIE, PIERRE, "en"),
    ("number", False): ("Who was born in 1967?", MARIE, PIERRE, "en"),
    ("long_document", True): ("Which part of the report is about rye bread?", LONG, ENGLISH[1], "en"),
    ("long_document", False): ("Who worked on radium?", MARIE, PIERRE, "en"),
    ("near_duplicate", True): ("Who worked on radium?", MARIE, MARIE.replace("radium.", "radium"), "en"),
    ("near_duplicate", False): ("Who worked on radium?", MARIE, PIERRE, "en"),
}


@pytest.mark.parametrize(("rule", "matched"), CASES, ids=[f"{rule}-{matched}" for rule, matched in CASES])
def test_a_rule_matches_what_it_describes(rule: str, matched: bool) -> None:
    query, positive, first, languages = CASES[rule, matched]
    one = ranking(query, positive, first, languages=languages.split())
    assert RULES[rule](one).tolist() == [matched]


def test_a_number_that_the_competitor_has_as_well_is_not_confused() -> None:
    first = "In 1867 a canal was opened between two lakes."
    assert RULES["number"](ranking("Who was born in 1867?", MARIE, first, languages=["en"])).tolist() == [False]


@pytest.mark.parametrize(
    ("copy", "matched"),
    [
        (MARIE[:-4], True),
        (f"{MARIE} It glows.", True),
        (f"She said: {MARIE}", True),
        (MARIE.replace("Warsaw", "Moscow"), False),
        (MARIE.replace("Warsaw", "old Warsaw"), False),
    ],
    ids=["cut", "extended", "with a beginning", "another word", "a word inside"],
)
def test_a_near_duplicate_may_lack_words_but_has_no_other_ones(copy: str, matched: bool) -> None:
    assert RULES["near_duplicate"](ranking("Who worked on radium?", MARIE, copy, languages=["en"])).tolist() == [
        matched
    ]


def test_every_rule_has_a_case_for_and_against() -> None:
    assert {rule for rule, _ in CASES} == set(RULES)
    assert len(CASES) == 2 * len(RULES)


def test_names_and_numbers_in_other_scripts() -> None:
    assert names_of("ARPANETとは何ですか", "ja", "japanese") == ["arpan"]
    assert names_of("ラオスの首都は", "ja", "japanese") == ["ラオス"]
    assert names_of("Wann wurde das Haus gebaut?", "de", "latin") == []
    assert numbers_of("في عام ١٩٦٩ و 1.250") == {"1969", "1250"}


def test_capitals_at_the_start_of_a_sentence_are_not_names() -> None:
    assert capitalised("What is it? The answer is long. Who knows?") == []
    assert capitalised("I think that I saw Athens. He did too.") == ["Athens"]
    assert capitalised("The Rise And Fall Of The Empire") == []


def test_question_marks_of_greek_and_armenian() -> None:
    assert asks("Πού γεννήθηκε;", "greek") and asks("Πού γεννήθηκε\u037e", "greek")
    assert asks("Ո՞վ է նա", "armenian")
    assert not asks("x = 1;", "latin")


def test_a_byte_order_mark_is_not_arabic() -> None:
    task = Task(
        TaskInfo("T/t"),
        Corpus.of(["a"], ["\ufeff12 34"]),
        Queries(("q",), ("\ufeff5",)),
        Qrels.of([0], [0], [1], queries=1),
    )
    assert read(task).document_scripts == ["none"]


def test_languages_that_are_not_declared_are_identified() -> None:
    german = [f"Die Stadt liegt an einem großen Fluss im Norden des Landes und hat {n} alte Brücken." for n in range(8)]
    texts = [f"{text} Number {n}." for n in range(4) for text in ENGLISH] + german
    count = len(texts)
    task = Task(
        TaskInfo("T/t", language="multilingual", languages=("en", "zh")),
        Corpus.of([f"d{n:02}" for n in range(count)], texts),
        Queries(("q",), ("where is the old harbour of the town",)),
        Qrels.of([0], [0], [1], queries=1),
    )
    shares = language_profile(read(task)).document_languages
    assert shares == {"en": 20 / 28, "de": 8 / 28}


def test_classes_are_compared_with_found_queries() -> None:
    """A property that failed and found queries share explains nothing; one that only failed queries have does."""
    count = 40
    texts = [f"{ENGLISH[n % 5]} Item {n}." for n in range(count)]
    corpus = Corpus.of([f"d{n:02}" for n in range(count)], texts)
    asked = [
        "which metal do aircraft builders prefer today" if n < 15 else " ".join(text.split()[:8])
        for n, text in enumerate(corpus.texts)
    ]
    queries = Queries(tuple(f"q{n:02}" for n in range(count)), tuple(asked))
    task = Task(
        TaskInfo("T/t", languages=("en",)),
        corpus,
        queries,
        Qrels.of(range(count), range(count), [1] * count, queries=count),
    )
    rows = [[n, *[r for r in range(count) if r != n]] for n in range(count)]
    rows = [row[1:] + row[:1] if n < 20 else row for n, row in enumerate(rows)]
    run = Run.of(rows, np.tile(np.arange(count, 0, -1), (count, 1)))
    evidence = Evidence(task, read(task))
    measured = measure_all(task, [Profile("bm25", "bm25", run)])
    one = Ranking(evidence, measured[0], evidence.asked, {})
    classes = {found.name: found for found in failure_classes([one], np.zeros(count, dtype=bool))}
    paraphrase = classes["paraphrase"]
    assert (paraphrase.failed, paraphrase.failures, paraphrase.found, paraphrase.successes) == (15, 20, 0, 20)
    assert paraphrase.significant and paraphrase.p_value is not None and paraphrase.p_value < 0.001
    assert paraphrase.interval.low < 0.75 < paraphrase.interval.high
    others = [found for found in classes.values() if found.name != "paraphrase"]
    assert not any(found.significant for found in others)


def test_queries_in_undeclared_languages_are_a_class_of_their_own() -> None:
    hindi = "वह शहर किस नदी के किनारे बसा है और वहाँ कितने पुल हैं?"
    one = ranking(hindi, "यह शहर एक बड़ी नदी के किनारे बसा है और वहाँ कई पुराने पुल हैं।", ENGLISH[0], kind="dense",
                  config="dense:use-multilingual-v3", languages=("hi", "en"))  # fmt: skip
    model, affected = undeclared(one.evidence, [one.measured])
    assert model is not None and dict(model.languages) == {"hi": 1} and affected.tolist() == [True]
    judged = Ranking(one.evidence, one.measured, one.evidence.asked & ~affected, {})
    assert [found.name for found in failure_classes([judged], affected)] == ["undeclared_language"]


def test_a_snippet_does_not_end_at_an_initial() -> None:
    assert sentences("The genome of Y. pestis was read. It is old.")[0] == "The genome of Y. pestis was read."
