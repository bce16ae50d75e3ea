"""Findings about texts at the borders of their rules: languages, scripts, units, pairs, positives, lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from pages_parts import ranked_task

from steelyard.reports.pages import measure_task
from steelyard.reports.pages.findings import task_findings, text_findings
from steelyard.reports.pages.findings.sentences import Finding
from steelyard.reports.pages.measure.page_inputs import LABELS
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.measure.part_values import Comparison, Draft, LanguageProfile, NoteText
from steelyard.text.language_id.detect import UNDECIDED
from steelyard.types import Interval

NAMES = ("names", "few_names")
PROFILE = LanguageProfile(
    {"en": 1.0}, {"en": 1.0}, {"latin": 1.0}, {"latin": 1.0}, {"en-en": 1.0}, 4, 1.0, 0.0, 0.0, 0.0
)


@pytest.fixture(scope="module")
def task() -> TaskValues:
    return measure_task(*ranked_task({"bm25": [1, 2, 3]}))


def with_profile(task: TaskValues, **changes: Any) -> TaskValues:
    return replace(task, language_profile=replace(PROFILE, **changes))


def by_kind(findings: Iterable[Finding]) -> dict[str, dict[str, Any]]:
    return {one.kind: dict(one.values) for one in findings}


@pytest.mark.parametrize(
    ("shares", "kind"),
    [
        ({}, "no_language"),
        ({UNDECIDED: 1.0}, "no_language"),
        ({"en": 1.0}, "one_language"),
        ({"en": 0.95, "de": 0.05}, "main_language"),
        ({"en": 0.94, "de": 0.06}, "languages"),
        ({"en": 0.95, UNDECIDED: 0.05}, "nearly_one_language"),
        ({"en": 0.5, UNDECIDED: 0.5}, "few_in_language"),
        ({"en": 0.3, "de": 0.2, UNDECIDED: 0.5}, "some_languages"),
        ({UNDECIDED: 0.51, "en": 0.3, "de": 0.19}, "few_languages"),
    ],
)
def test_shares_of_languages_choose_the_sentence(shares: dict[str, float], kind: str, task: TaskValues) -> None:
    profile = with_profile(task, query_languages=shares, document_languages={"fr": 1.0})
    queries, documents = text_findings.languages(profile)
    assert (queries.kind, documents.kind) == (kind, "one_language")
    assert queries.values["what"] == "queries" and documents.values["what"] == "documents"
    if kind in ("one_language", "main_language", "nearly_one_language", "few_in_language"):
        assert queries.values["language"].startswith("English")
    if kind.endswith("languages"):
        assert queries.values["count"] == len(set(shares) - {UNDECIDED})
        assert f"{shares['en']:.2%}" in queries.values["shares"]


def test_equal_languages_of_queries_and_documents_are_one_sentence(task: TaskValues) -> None:
    (one,) = text_findings.languages(with_profile(task))
    assert one.kind == "same_language" and one.values["language"].startswith("English")
    several = {"en": 0.5, "de": 0.5}
    (both,) = text_findings.languages(with_profile(task, query_languages=several, document_languages=several))
    assert both.kind == "languages" and both.values["what"].startswith("queries, and")


def test_scripts_are_listed_if_there_are_several(task: TaskValues) -> None:
    assert "scripts" not in by_kind(text_findings.languages(with_profile(task)))
    several = {"latin": 0.75, "greek": 0.25}
    found = by_kind(text_findings.languages(with_profile(task, document_scripts=several)))["scripts"]
    assert (found["what"], found["count"]) == ("documents", 2) and "75.00%" in found["shares"]
    assert list(text_findings.languages(replace(task, language_profile=None))) == []


@pytest.mark.parametrize(
    ("scripts", "unit"),
    [
        ({"latin": 1.0}, "words"),
        ({"han": 0.5, "japanese": 0.45, "latin": 0.05}, "characters"),
        ({"han": 0.94, "latin": 0.06}, "words"),
        ({"thai": 0.9, "lao": 0.05, "latin": 0.05}, "clusters"),
    ],
)
def test_the_unit_of_lengths_follows_the_script(scripts: dict[str, float], unit: str, task: TaskValues) -> None:
    queries = with_profile(task, query_scripts=scripts)
    assert (text_findings.word_unit(queries), text_findings.word_unit(queries, "Documents")) == (unit, "words")
    documents = with_profile(task, document_scripts=scripts)
    assert (text_findings.word_unit(documents), text_findings.word_unit(documents, "Documents")) == ("words", unit)
    assert text_findings.word_unit(replace(task, language_profile=None)) == "words"
    found = [one for one in text_findings.data(queries) if one.kind.startswith("lengths")]
    kind = "lengths_characters" if unit == "characters" else "lengths"
    assert [(one.kind, one.values["unit"]) for one in found] == [(kind, unit), ("lengths", "words")]


def test_lengths_need_words_and_tokens(task: TaskValues) -> None:
    for missing in ("words", "tokens"):
        lengths = replace(task.query_lengths, **{missing: None})
        found = [one for one in text_findings.data(replace(task, query_lengths=lengths)) if one.kind == "lengths"]
        assert [one.values["what"] for one in found] == ["Documents"]


def test_pairs_are_certain_or_not_or_absent(task: TaskValues) -> None:
    mixed = {"query_languages": {"en": 0.5, "de": 0.5}, "same_language": 0.5, "cross_language": 0.5}
    assert by_kind(text_findings.pairs(with_profile(task, **mixed)))["pairs"]["pairs"] == 4
    found = by_kind(text_findings.pairs(with_profile(task, **mixed, undecided=0.25)))
    assert found["uncertain_pairs"]["undecided"] == 0.25 and "pairs" not in found
    german = with_profile(task, query_languages={"de": 1.0}, same_language=0.0, cross_language=1.0)
    assert by_kind(text_findings.pairs(german))["even_pairs"]["relation"] == "two languages"
    assert by_kind(text_findings.pairs(with_profile(task, pairs=0))).keys() <= {"overlap"}
    assert task.overlap is not None and "overlap" in by_kind(text_findings.pairs(with_profile(task)))
    assert list(text_findings.pairs(replace(task, overlap=None, language_profile=None))) == []


@pytest.mark.parametrize(
    ("least", "most", "kind"), [(1, 1, "single_positive"), (2, 2, "even_positive"), (1, 2, "positives")]
)
def test_positives_are_single_even_or_a_range(least: int, most: int, kind: str, task: TaskValues) -> None:
    positives = replace(task.positives, min=least, max=most)
    found = by_kind(text_findings.data(replace(task, positives=positives)))
    assert found.keys() & {"single_positive", "even_positive", "positives"} == {kind}
    assert not found.keys() & {"grades", "no_positive", "outside"}
    odd = replace(positives, grades={"1": 1200, "2": 3}, queries_without=2, outside_corpus=5)
    found = by_kind(text_findings.data(replace(task, positives=odd)))
    assert found["grades"]["grades"] == "1 (1,200) and 2 (3)"
    assert (found["no_positive"]["queries"], found["outside"]["count"]) == (2, 5)


@pytest.mark.parametrize(("rows", "kinds"), [(0, set()), (1, {"safeguards"}), (2, {"safeguards", "many_safeguards"})])
def test_a_quarter_of_safeguards_is_many(rows: int, kinds: set[str], task: TaskValues) -> None:
    one = replace(task.profiles[0], safeguard_rows=rows)
    found = by_kind(task_findings.profile(replace(task, queries=8, profiles=(one,)), one.kind))
    assert found.keys() & {"safeguards", "many_safeguards"} == kinds
    if rows:
        assert found["safeguards"] == {"rows": rows, "share": rows / 8}


def test_ranks_of_the_first_positive_are_summed(task: TaskValues) -> None:
    ranks = {"1": 1, "2-3": 20, "4-10": 300, "11-100": 4000, "not found": 50000}
    one = replace(task.profiles[0], first_positive=ranks)
    found = by_kind(task_findings.profile(replace(task, profiles=(one,)), one.kind))
    assert found["first_positive"] == {"first": 1, "ten": 321, "hundred": 4321}
    assert found["never_found"] == {"lost": 50000} and "always_found" not in found
    one = replace(one, first_positive={**ranks, "not found": 0})
    found = by_kind(task_findings.profile(replace(task, profiles=(one,)), one.kind))
    assert "always_found" in found and "never_found" not in found


@pytest.mark.parametrize(
    ("stored", "type", "origin"),
    [(True, "retrieval", "stored"), (False, "retrieval", "searched"), (False, "reranking", "ranked")],
)
def test_the_origin_of_lists_is_named(stored: bool, type: str, origin: str, task: TaskValues) -> None:
    one = replace(task.profiles[0], stored=stored)
    found = by_kind(task_findings.profile(replace(task, type=type, profiles=(one,)), one.kind))
    assert origin in found["profile"]["origin"]


def test_differences_are_told_from_the_side_of_the_profile(task: TaskValues) -> None:
    def tested(significant: bool) -> list[Finding]:
        test = Comparison("dense", "bm25", 0.25, Interval(0.1, 0.4), 0.01, 5, 2, 1, significant)
        other = Comparison("dense", "hybrid", 0.5, Interval(0.4, 0.6), 0.01, 5, 2, 1, True)
        return list(task_findings.comparisons(replace(task, comparisons=(other, test)), "bm25"))

    (worse,) = tested(True)
    assert (worse.kind, worse.values["other"], worse.values["difference"]) == ("worse", LABELS["dense"], 0.25)
    assert [worse.values[name] for name in ("low", "high", "wins", "ties", "losses")] == [0.1, 0.4, 5, 2, 1]
    (none,) = tested(False)
    assert (none.kind, none.values["other"], none.values["difference"]) == ("no_difference", LABELS["dense"], -0.25)


def test_the_p_value_of_the_strongest_profile_is_the_largest_of_several(task: TaskValues) -> None:
    best = task.best
    assert best is not None
    others = [kind for kind in LABELS if kind != best.kind][:2]

    def found(count: int) -> dict[str, Any]:
        tests = tuple(
            Comparison(best.kind, worse, 0.2, Interval(0.1, 0.3), 0.01 * (place + 1), 5, 2, 1, True)
            for place, worse in enumerate(others[:count])
        )
        (one,) = by_kind(task_findings.strongest(replace(task, comparisons=tests))).values()
        return one

    assert (found(1)["which"], found(2)["which"]) == ("p", "largest p")
    assert str(found(1)["p"]) != str(found(2)["p"])


def test_what_was_drafted_is_listed() -> None:
    drafted, dropped = task_findings.drafted(Draft("toy", "0" * 8))
    assert drafted.values["sections"] == "none" and dropped.values["count"] == 0
    some = Draft(
        "toy", "0" * 8, (NoteText("Overview", "It has 3 queries.", "model"), NoteText("Limits", "Few.", "model"))
    )
    assert next(iter(task_findings.drafted(some))).values["sections"] == "Overview and Limits"


@pytest.mark.parametrize(
    ("share", "kinds"),
    [
        (0.0, {"without_questions", "without_numbers", "without_names"}),
        (0.04, {"no_questions", "few_numbers", "few_names"}),
        (0.05, {"questions", "numbers", "names"}),
    ],
)
def test_a_twentieth_of_the_queries_is_some(share: float, kinds: set[str], task: TaskValues) -> None:
    assert task.tendencies is not None
    one = replace(task.tendencies, questions=share, numbers=share, names=share, question_words={"what": 3})
    german = with_profile(replace(task, tendencies=one, category="natural_language"), query_languages={"de": 1.0})
    found = by_kind(task_findings.tendencies(german))  # German has capitals in all nouns
    named = {"questions", "numbers", "names"}
    rare = {"no_questions", "few_numbers", "few_names", "without_questions", "without_numbers", "without_names"}
    assert found.keys() & (named | rare) == kinds
    english = by_kind(task_findings.tendencies(with_profile(german, query_languages={"en": 1.0})))
    assert (english.keys() & {"all_names", "all_few_names"}) == {f"all_{kind}" for kind in kinds if kind in NAMES}
    code = by_kind(task_findings.tendencies(replace(task, tendencies=one, category="code")))
    assert not code.keys() & {"names", "few_names", "without_names"}
    assert list(task_findings.tendencies(replace(task, tendencies=None))) == []


@pytest.mark.parametrize(
    ("least", "most", "several", "kind"),
    [
        (1, 1, 0, "single_positive"),
        (2, 2, 3, "even_positive"),
        (2, 4, 3, "all_multi_positive"),
        (1, 4, 2, "multi_positive"),
        (0, 1, 0, "multi_positive"),
    ],
)
def test_positives_in_short_are_single_even_or_a_range(
    least: int, most: int, several: int, kind: str, task: TaskValues
) -> None:
    positives = replace(task.positives, min=least, max=most, multi_positive_queries=several)
    found = by_kind(task_findings.overview(replace(task, positives=positives)))
    short = {"single_positive", "even_positive", "all_multi_positive", "multi_positive"} & set(found)
    assert short == {kind}
    assert kind != "even_positive" or found[kind] == {"count": 2}


def test_words_of_questions_are_listed_if_there_are_any(task: TaskValues) -> None:
    assert task.tendencies is not None
    for words, shown in (({}, ""), ({"what": 2, "who": 1}, " (“what” 2 and “who” 1)")):
        asked = replace(task, tendencies=replace(task.tendencies, questions=0.5, question_words=words))
        assert by_kind(task_findings.tendencies(asked))["questions"] == {"share": 0.5, "words": shown}
