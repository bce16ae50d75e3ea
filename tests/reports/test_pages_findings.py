"""The findings of pages: which are made, and from which values, for ordinary and for unusual tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pages_parts import ranked_task

from steelyard.reports.pages import Profile, measure_group, measure_task
from steelyard.reports.pages.findings.sentences import Finding, language_name
from steelyard.reports.pages.measure.query_slices import parts
from steelyard.reports.pages.measure.text_languages import read
from steelyard.reports.pages.render.group_page import group_page
from steelyard.reports.pages.render.task_page import task_page
from steelyard.types import Corpus, Qrels, Queries, Task


def findings(task: Task, profiles: list[Profile]) -> dict[str, Finding]:
    """The findings of the task's page by kind."""
    return {one.kind: one for _, one in task_page(measure_task(task, profiles)).findings}


def with_queries(task: Task, texts: list[str]) -> Task:
    """The same task with other queries, one after the other."""
    repeated = tuple(texts[i % len(texts)] for i in range(len(task.queries)))
    return Task(task.info, task.corpus, Queries(task.queries.ids, repeated), task.qrels, task.candidates)


def test_grades_are_counted_and_explained() -> None:
    task, profiles = ranked_task({"bm25": [1, 2, 3]})
    assert not {"grades", "graded"} & findings(task, profiles).keys()
    qrels = Qrels.of([0, 0, 1, 2, 2], [0, 1, 0, 0, 3], [3, 1, 1, 1, 0], queries=3)
    found = findings(Task(task.info, task.corpus, task.queries, qrels), profiles)
    assert found["grades"].values == {"grades": "1 (3) and 3 (1)"}
    assert "graded" in found
    assert found["multi_positive"].values == {
        "several": 1,
        "queries": 3,
        "share": pytest.approx(1 / 3),
        "mean": pytest.approx(4 / 3),
        "median": 1.0,
        "max": 2,
    }
    assert "1.33 on average, with a median of 1.00 and a maximum of 2" in found["multi_positive"].sentence


def test_empty_documents_are_counted_and_are_not_duplicates() -> None:
    task, profiles = ranked_task({"bm25": [1, 2, 3]})
    assert "empty_texts" not in findings(task, profiles)
    corpus = Corpus(task.corpus.ids, (*task.corpus.bodies[:-3], "", " \n", ""))
    found = findings(Task(task.info, corpus, task.queries, task.qrels), profiles)
    assert found["empty_texts"].values == {"what": "Documents", "count": 3}
    assert "duplicate_documents" not in found


def test_a_reranking_task_is_read_as_one() -> None:
    ranks = {"bm25": [1, 2, 3], "dense": [2, 1, 1]}
    task, profiles = ranked_task(ranks, documents=300, type="reranking")
    found = findings(task, [replace(one, run=one.run.top(100)) for one in profiles])
    assert {"reranking_task", "reranking_recall"} <= found.keys()
    assert "small_corpus" not in found, "not the corpus is ranked but the candidates"
    assert found["profile"].values["origin"] == "ranked for this page"
    assert "reranking_recall" not in findings(task, profiles), "longer lists have a recall of their own"
    searched = findings(*ranked_task(ranks, documents=300))
    assert "small_corpus" in searched and "reranking_task" not in searched
    assert searched["profile"].values["origin"] == "searched for this page"


def test_nothing_few_and_some_are_different_findings() -> None:
    task, profiles = ranked_task({"bm25": [1] * 40})
    found = findings(with_queries(task, ["old bridges over wide rivers", "Old bridges over wide rivers"]), profiles)
    assert {"without_questions", "without_numbers", "without_names"} <= found.keys()
    few = findings(with_queries(task, ["old bridges"] * 39 + ["what is the Po 7"]), profiles)
    assert {"no_questions", "few_numbers"} <= few.keys() and {"few_names", "all_few_names"} & few.keys()


def test_names_are_unknown_where_capitals_do_not_mark_them() -> None:
    task, profiles = ranked_task({"bm25": [1] * 40})
    small = with_queries(task, ["who was napoleon", "where is paris"])
    assert "names_unknown" in findings(small, profiles)
    code = Task(replace(task.info, category="code"), task.corpus, task.queries, task.qrels)
    found = findings(with_queries(code, ["def f(): return None"]), profiles)
    assert not {"names", "few_names", "without_names", "names_unknown"} & found.keys()


def test_the_whole_and_a_few_exceptions_are_no_slices() -> None:
    task, _ = ranked_task({"bm25": [1, 2] * 30})
    english = ["where does the river rise in the hills", "what is the name of the town on the river"]
    few = with_queries(task, [english[0]] * 29 + [english[1]] * 29 + ["река берёт начало в горах", "это большой город"])
    assert not [part for part in parts(few, read(few)) if part.dimension in ("language", "script")]
    many = with_queries(task, [*english, "река берёт начало в горах и впадает в море"])
    assert [part.name for part in parts(many, read(many)) if part.dimension == "language"] == ["en", "ru"]


@pytest.mark.parametrize(("noise", "kind"), [(0.0, "overlap_gain"), (9.0, "weak_overlap_gain")])
def test_a_weak_tendency_is_called_weak(noise: float, kind: str) -> None:
    rng = np.random.default_rng(3)
    count = 400
    shared = np.arange(count) % 5  # of four words so many stand in the positive
    places = np.clip(6 - shared + rng.normal(0, noise, count), 1, 40).astype(int)
    task, profiles = ranked_task({"bm25": places.tolist(), "dense": [3] * count})
    words = [*task.corpus.texts[0].split()[:3], "0"]
    texts = [" ".join([*words[:n], *(f"zzz{i}{k}" for k in range(4 - n))]) for i, n in enumerate(shared.tolist())]
    assert kind in findings(with_queries(task, texts), profiles)


def test_pairs_mostly_in_other_languages_are_called_so() -> None:
    task, profiles = ranked_task({"bm25": [1, 2] * 30})
    german = "wo entspringt der Fluss, der in das Meer fließt, und wie heißt er?"
    mixed = with_queries(task, [german, german, "where does the river rise and what is its name?"])
    figures = measure_task(mixed, profiles)
    assert figures.language_profile is not None and figures.language_profile.cross_language == pytest.approx(2 / 3)
    assert figures.focus.endswith(", mostly in another language")
    whole = measure_task(with_queries(task, [german]), profiles)
    assert whole.focus.endswith(" in another language") and "mostly" not in whole.focus


def test_the_highest_by_other_metrics_is_named() -> None:
    found = findings(*ranked_task({"bm25": [1, 1, 0], "dense": [11, 2, 3], "hybrid": [3, 2, 1]}))
    hit, recall = "Reranking hybrid (1.0000)", "Dense and Reranking hybrid (1.0000)"
    assert found["other_metrics"].values == {"hit": hit, "recall": recall}


def test_a_metric_that_is_equal_for_all_profiles_has_no_highest() -> None:
    found = findings(*ranked_task({"bm25": [1, 1, 0], "dense": [11, 2, 3], "hybrid": [3, 2, 30]}))
    assert "other_metrics" not in found
    assert found["other_recall"].values == {"recall": "Dense and Reranking hybrid (1.0000)"}


def test_corpora_of_one_size_are_no_range() -> None:
    small, large = (measure_task(*ranked_task({"bm25": [1, 2]}, documents=size)) for size in (60, 70))
    for tasks, kind in (([small, small], "even_corpora"), ([small, large], "corpora")):
        found = {one.kind: one for _, one in group_page(measure_group("NanoToy", tasks)).findings}
        assert kind in found
    assert found["corpora"].values == {"smallest": 60, "largest": 70}


def test_a_full_score_leaves_no_room_above_it() -> None:
    task, profiles = ranked_task({"bm25": [1] * 30, "dense": [0] * 30})
    group = measure_group("NanoToy", [measure_task(task, profiles)])
    assert findings(task, profiles)["near_ceiling"].values == {"best": "BM25", "share": 1.0}
    found = {one.kind: one for _, one in group_page(group).findings}
    assert found["group_ceiling"].values == {"names": "ranks", "margin": pytest.approx(0.05)}


def repeated(task: Task, queries: dict[int, str], documents: dict[int, str]) -> Task:
    """The same task with some texts replaced."""
    asked = tuple(queries.get(i, text) for i, text in enumerate(task.queries.texts))
    bodies = tuple(documents.get(i, text) for i, text in enumerate(task.corpus.bodies))
    corpus = Corpus(task.corpus.ids, bodies)
    return Task(task.info, corpus, Queries(task.queries.ids, asked), task.qrels, task.candidates)


DUPLICATES = ("no_duplicates", "duplicate_queries", "duplicate_documents", "queries_in_corpus")


@pytest.mark.parametrize(
    ("queries", "documents", "counts"),
    [
        ({}, {}, {"no_duplicates": None}),
        ({1: "one bridge", 2: "One bridge ", 3: "one bridge"}, {}, {"duplicate_queries": 2}),
        ({}, {5: "same text", 6: "Same text", 9: "same text"}, {"duplicate_documents": 2}),
        ({1: "a", 2: "a"}, {5: "b", 6: "b"}, {"duplicate_queries": 1, "duplicate_documents": 1}),
        ({1: "whole text"}, {5: "Whole text"}, {"no_duplicates": None, "queries_in_corpus": 1}),
    ],
    ids=["none", "queries", "documents", "both", "query in corpus"],
)
def test_duplicates_are_counted_by_kind(
    queries: dict[int, str], documents: dict[int, str], counts: dict[str, int | None]
) -> None:
    task, profiles = ranked_task({"bm25": [1, 2, 3, 4]})
    found = findings(repeated(task, queries, documents), profiles)
    assert {kind: found[kind].values.get("count") for kind in DUPLICATES if kind in found} == counts


def test_languages_are_named_in_english_with_their_code() -> None:
    assert [language_name(code) for code in ("de", "und", "xx", "zh", "tlh")] == [
        *("German (de)", "undecided", "xx", "Chinese (zh)", "Klingon (tlh)")
    ]
    task, profiles = ranked_task({"bm25": [1] * 30})
    german = "wo entspringt der Fluss, der in das Meer fließt, und wie heißt er?"
    found = [one for _, one in task_page(measure_task(with_queries(task, [german]), profiles)).findings]
    (queries,) = [one for one in found if one.kind == "one_language" and one.values["what"] == "queries"]
    assert queries.values["language"] == "German (de)"
    (declared,) = [one for one in found if one.kind == "declared"]
    assert (declared.values["language"], declared.values["noun"]) == ("English (en)", "language")
    both = replace(task.info, languages=("en", "de"))
    declared = findings(Task(both, task.corpus, task.queries, task.qrels), profiles)["declared"]
    assert (declared.values["language"], declared.values["noun"]) == ("English (en) and German (de)", "languages")


def uneven(profile: Profile, lengths: list[int]) -> Profile:
    """The profile with lists of these lengths."""
    rows = profile.run.rows.copy()
    scores = profile.run.scores.copy()
    for query, length in enumerate(lengths):
        rows[query, length:], scores[query, length:] = -1, -np.inf
    return replace(profile, run=type(profile.run)(rows, scores))


def test_even_and_uneven_candidate_lists_are_different_findings() -> None:
    task, (profile,) = ranked_task({"bm25": [1, 2, 3, 4]})
    even = findings(task, [uneven(profile, [20] * 4)])
    assert even["even_candidates"].values == {"count": 20} and "candidates" not in even
    found = findings(task, [uneven(profile, [20, 20, 20, 12])])
    assert found["candidates"].values == {"mean": 18.0, "min": 12, "max": 20} and "even_candidates" not in found


def test_pooled_recall_is_a_finding_only_if_it_differs_from_the_mean() -> None:
    task, profiles = ranked_task({"bm25": [1, 2, 0]}, documents=300)
    profiles = [replace(one, run=one.run.top(100)) for one in profiles]
    assert "pooled" not in findings(task, profiles), "with one relevant document per query both are the same"
    qrels = Qrels.of([0, 0, 0, 1, 2], [0, 1, 250, 0, 0], [1] * 5, queries=3)
    graded = Task(task.info, task.corpus, task.queries, qrels)
    found = findings(graded, profiles)
    # Query 0 has two of three, query 1 one of one, query 2 none of one: pooled 3 of 5, in the mean (2/3 + 1 + 0) / 3.
    assert found["pooled"].values == {"pooled": pytest.approx(3 / 5)}
    (values,) = measure_task(graded, profiles).profiles
    assert values.recall_at_100 == pytest.approx((2 / 3 + 1) / 3)
    assert f"recall@100 = {values.recall_at_100:.4f}" in found["profile"].sentence


def test_a_safeguard_is_a_warning_only_where_there_are_many() -> None:
    task, (profile,) = ranked_task({"bm25": [1] * 8})
    few = findings(task, [replace(profile, safeguards=1)])
    assert few["safeguards"].values == {"rows": 1, "share": 0.125} and "many_safeguards" not in few
    assert "many_safeguards" in findings(task, [replace(profile, safeguards=2)])
    assert "safeguards" not in findings(task, [profile])


def test_lost_queries_are_counted() -> None:
    task, profiles = ranked_task({"bm25": [1, 2, 11, 0]})
    found = findings(task, profiles)
    assert found["never_found"].values == {"lost": 1} and "always_found" not in found
    assert found["first_positive"].values == {"first": 1, "ten": 2, "hundred": 3}
    assert "always_found" in findings(*ranked_task({"bm25": [1, 2, 11]}))
