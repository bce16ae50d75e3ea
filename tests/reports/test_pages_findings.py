"""What a page says of tasks that are not the usual ones: graded, reranked, tiny, of code, in small letters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pages_parts import ranked_task

from steelyard.reports.pages import Profile, group_figures, task_figures
from steelyard.reports.pages.measure.languages import read
from steelyard.reports.pages.measure.slices import parts
from steelyard.reports.pages.render.group_page import group_page
from steelyard.reports.pages.render.task_page import task_page
from steelyard.types import Corpus, Qrels, Queries, Task


def said(task: Task, profiles: list[Profile]) -> dict[str, str]:
    """The sentences of the task's page by the kind of their finding."""
    return {one.kind: one.sentence for _, one in task_page(task_figures(task, profiles)).findings}


def asking(task: Task, texts: list[str]) -> Task:
    """The same task with other queries, one after the other."""
    repeated = tuple(texts[i % len(texts)] for i in range(len(task.queries)))
    return Task(task.info, task.corpus, Queries(task.queries.ids, repeated), task.qrels, task.candidates)


def test_grades_are_counted_and_explained() -> None:
    task, profiles = ranked_task({"bm25": [1, 2, 3]})
    assert not {"grades", "graded"} & said(task, profiles).keys()
    qrels = Qrels.of([0, 0, 1, 2, 2], [0, 1, 0, 0, 3], [3, 1, 1, 1, 0], queries=3)
    told = said(Task(task.info, task.corpus, task.queries, qrels), profiles)
    assert told["grades"] == "Positive judgements by grade: 1 (3) and 3 (1)."
    assert "graded" in told
    assert "over all queries that is 1.33 on average, 1.00 in the median, 2 at most" in told["multi_positive"]


def test_empty_documents_are_told_and_repeat_nothing() -> None:
    task, profiles = ranked_task({"bm25": [1, 2, 3]})
    assert "empty_texts" not in said(task, profiles)
    corpus = Corpus(task.corpus.ids, (*task.corpus.bodies[:-3], "", " \n", ""))
    told = said(Task(task.info, corpus, task.queries, task.qrels), profiles)
    assert told["empty_texts"] == "Documents without any text: 3."
    assert "duplicate_documents" not in told


def test_a_reranking_task_is_read_as_one() -> None:
    ranks = {"bm25": [1, 2, 3], "dense": [2, 1, 1]}
    task, profiles = ranked_task(ranks, documents=300, type="reranking")
    told = said(task, [replace(one, run=one.run.cut(100)) for one in profiles])
    assert {"reranking_task", "reranking_recall"} <= told.keys()
    assert "small_corpus" not in told, "not the corpus is ranked but the candidates"
    assert "ranked for this page" in told["profile"]
    assert "reranking_recall" not in said(task, profiles), "longer lists have a recall of their own"
    searched = said(*ranked_task(ranks, documents=300))
    assert "small_corpus" in searched and "reranking_task" not in searched
    assert "searched for this page" in searched["profile"]


def test_none_is_said_as_none() -> None:
    task, profiles = ranked_task({"bm25": [1] * 40})
    told = said(asking(task, ["old bridges over wide rivers", "Old bridges over wide rivers"]), profiles)
    assert {"without_questions", "without_numbers", "without_names"} <= told.keys()
    few = said(asking(task, ["old bridges"] * 39 + ["what is the Po 7"]), profiles)
    assert {"no_questions", "few_numbers", "few_names"} <= few.keys()


def test_names_are_not_told_where_capitals_say_nothing() -> None:
    task, profiles = ranked_task({"bm25": [1] * 40})
    small = asking(task, ["who was napoleon", "where is paris"])
    assert "names_unknown" in said(small, profiles)
    code = Task(replace(task.info, category="code"), task.corpus, task.queries, task.qrels)
    told = said(asking(code, ["def f(): return None"]), profiles)
    assert not {"names", "few_names", "without_names", "names_unknown"} & told.keys()


def test_the_whole_and_a_few_exceptions_are_no_slices() -> None:
    task, _ = ranked_task({"bm25": [1, 2] * 30})
    english = ["where does the river rise in the hills", "what is the name of the town on the river"]
    few = asking(task, [english[0]] * 29 + [english[1]] * 29 + ["река берёт начало в горах", "это большой город"])
    assert not [part for part in parts(few, read(few)) if part.dimension in ("language", "script")]
    many = asking(task, [*english, "река берёт начало в горах и впадает в море"])
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
    assert kind in said(asking(task, texts), profiles)


def test_pairs_mostly_in_other_languages_are_called_so() -> None:
    task, profiles = ranked_task({"bm25": [1, 2] * 30})
    german = "wo entspringt der Fluss, der in das Meer fließt, und wie heißt er?"
    mixed = asking(task, [german, german, "where does the river rise and what is its name?"])
    figures = task_figures(mixed, profiles)
    assert figures.tongues is not None and figures.tongues.cross_language == pytest.approx(2 / 3)
    assert figures.focus.endswith(", mostly in another language")
    whole = task_figures(asking(task, [german]), profiles)
    assert whole.focus.endswith(" in another language") and "mostly" not in whole.focus


def test_the_highest_by_other_metrics_is_named() -> None:
    told = said(*ranked_task({"bm25": [1, 1, 0], "dense": [11, 2, 3], "hybrid": [3, 2, 30]}))
    hit, recall = "BM25, Dense and Reranking hybrid (0.6667)", "Dense and Reranking hybrid (1.0000)"
    assert told["other_metrics"].startswith(f"By hit@10 the highest is {hit}, by recall@100 {recall};")
    assert "other_metrics" not in said(*ranked_task({"bm25": [1, 2, 3]}))


def test_corpora_of_one_size_are_no_range() -> None:
    small, large = (task_figures(*ranked_task({"bm25": [1, 2]}, documents=size)) for size in (60, 70))
    for tasks, kind in (([small, small], "even_corpora"), ([small, large], "corpora")):
        told = {one.kind: one.sentence for _, one in group_page(group_figures("NanoToy", tasks)).findings}
        assert kind in told
    assert told["corpora"] == "Corpora hold 60 to 70 documents."


def test_a_full_score_leaves_no_room_above_it() -> None:
    task, profiles = ranked_task({"bm25": [1] * 30, "dense": [0] * 30})
    group = group_figures("NanoToy", [task_figures(task, profiles)])
    assert said(task, profiles)["near_ceiling"].endswith("which leaves little room above it.")
    told = {one.kind: one.sentence for _, one in group_page(group).findings}
    assert told["group_ceiling"].startswith("Within 5.00% of the best possible nDCG@10")
