"""Figures of pages against values worked out by hand or by scipy; claims only where the tests carry them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pages_parts import as_lists, ranked_task, run_with

from steelyard.reports.pages import Audit, Profile, measure_task, stored_profiles
from steelyard.reports.pages.measure.page_inputs import KINDS, Context, as_run
from steelyard.reports.pages.measure.profile_scores import compare_values
from steelyard.reports.pages.measure.query_properties import tendencies
from steelyard.reports.pages.measure.significance import spearman, welch
from steelyard.reports.pages.measure.text_languages import language_profile, read
from steelyard.reports.pages.render.task_page import task_page
from steelyard.stats.corrections import holm
from steelyard.types import Corpus, Qrels, Queries, Task, TaskInfo


def kinds(task: Task, profiles: list[Profile]) -> set[str]:
    return {one.kind for _, one in task_page(measure_task(task, profiles)).findings}


def test_tests_of_means_and_ranks() -> None:
    # scipy 1.17.1: ttest_ind(equal_var=False), spearmanr
    a = np.array([0.12, 0.5, 0.33, 0.9, 1.0, 0.0, 0.63])
    b = np.array([0.9, 0.8, 1.0, 0.63, 0.5, 0.77, 0.95, 1.0])
    assert welch(a, b) == pytest.approx(0.0716085308917259, abs=1e-9)
    x = np.array([0.1, 0.4, 0.4, 0.9, 0.2, 0.7, 0.7, 0.0, 1.0, 0.5])
    y = np.array([0.3, -0.2, 0.5, 0.8, -0.6, 0.1, 0.9, -1.0, 0.4, 0.4])
    assert spearman(x, y) == pytest.approx((0.6605535474711812, 0.0376089463405012), abs=1e-9)
    assert welch(np.ones(1), np.ones(7)) is None
    assert welch(np.ones(9), np.ones(7)) == 1.0
    assert welch(np.ones(2), np.zeros(2)) == pytest.approx(1 / 3)
    assert spearman(np.ones(9), y[:9]) is None
    assert not len(holm([]))


def test_profile_figures() -> None:
    task, profiles = ranked_task({"bm25": [1, 2, 11, 0], "dense": [1, 1, 1, 3]})
    bm25, dense = measure_task(task, profiles).profiles
    discount = 1 / np.log2([2, 3, 4])
    assert bm25.ndcg_at_10 == pytest.approx((1 + discount[1]) / 4)
    assert (bm25.hit_rate_at_10, bm25.recall_at_100, bm25.pooled_recall_at_100) == (0.5, 0.75, 0.75)
    assert bm25.perfect_rerank_ndcg_at_10 == 0.75
    assert dense.ndcg_at_10 == pytest.approx((3 + discount[2]) / 4)
    assert bm25.first_positive == {"1": 1, "2-3": 1, "4-10": 0, "11-100": 1, "over 100": 0, "not found": 1}
    assert bm25.intervals["ndcg_at_10"].low <= bm25.ndcg_at_10 <= bm25.intervals["ndcg_at_10"].high


def test_a_clear_lead_is_claimed_and_a_narrow_one_is_not() -> None:
    clear = ranked_task({"bm25": [0] * 30, "dense": [1] * 30, "hybrid": [2] * 30})
    assert "strongest" in kinds(*clear)
    assert "hybrid_hurts" in kinds(*clear)
    narrow = ranked_task({"bm25": [1] * 30, "dense": [1] * 29 + [2], "hybrid": [0] * 30})
    found = kinds(*narrow)
    assert "strongest_shared" in found
    assert "strongest" not in found
    (shared,) = [one for _, one in task_page(measure_task(*narrow)).findings if one.kind == "strongest_shared"]
    assert shared.values["rivals"] == "Dense" and "Dense" in shared.sentence


def test_luck_is_hardly_ever_claimed() -> None:
    """Three profiles of the same worth: at 5 %, few of 100 draws may show any difference."""
    claimed = 0
    for seed in range(100):
        values = np.random.default_rng(seed).random((3, 40)) > 0.6
        found = compare_values(dict(zip(KINDS, values.astype(float), strict=True)))
        claimed += any(one.significant for one in found)
    assert claimed <= 10


def test_slices_of_noise_have_no_leader() -> None:
    ranks = np.random.default_rng(1).integers(0, 12, (2, 60)).tolist()
    figures = measure_task(*ranked_task({"bm25": ranks[0], "dense": ranks[1]}, documents=14))
    assert not figures.comparisons[0].significant
    assert all(part.tied for part in figures.slices)


def test_failure_modes_show_ranks_and_the_winner() -> None:
    task, profiles = ranked_task({"bm25": [40, 1, 0, 1], "dense": [1, 30, 0, 1], "hybrid": [1, 1, 2, 20]})
    modes = {mode.mode: mode for mode in measure_task(task, profiles).failures}
    assert {name: mode.queries for name, mode in modes.items()} == {
        "bm25_misses_dense_finds": 1,
        "dense_misses_bm25_finds": 1,
        "both_miss": 1,
        "hybrid_loses": 1,
    }
    (missed,) = modes["bm25_misses_dense_finds"].examples
    assert (missed.query_id, missed.ranks, missed.winner) == ("q000", {"bm25": 40, "dense": 1, "hybrid": 1}, "bm25")
    assert (missed.won_id, missed.positive_id) == (task.corpus.ids[1], task.corpus.ids[0])
    (both,) = modes["both_miss"].examples
    assert both.ranks == {"bm25": None, "dense": None, "hybrid": 2}


def test_stored_lists_and_their_safeguards() -> None:
    task, _ = ranked_task({"bm25": [1, 2]}, documents=120)
    deep, safe = run_with([1, 2], 120), run_with([101, 3], 120)
    hybrid = as_lists(safe)
    guarded = np.concatenate((hybrid.rows_of(0)[:101], hybrid.rows_of(1)[:100]))
    lists = {
        "bm25": as_lists(deep.top(50)),
        "harrier": as_lists(deep.top(50)),
        "reranking_hybrid": type(hybrid)(np.array([0, 101, 201]), guarded),
        "zebra": as_lists(deep.top(5)),
    }
    found = stored_profiles(Task(task.info, task.corpus, task.queries, task.qrels, lists))
    assert [(one.kind, one.config, one.safeguards) for one in found] == [
        ("bm25", "bm25", 0),
        ("dense", "harrier", 0),
        ("hybrid", "reranking_hybrid", 1),
        ("other", "zebra", 0),
    ]
    figures = measure_task(task, found)
    shown = {one.config: one for one in figures.profiles}
    assert shown["reranking_hybrid"].candidates == "top-100"
    assert shown["reranking_hybrid"].safeguard_rows == 1
    assert (shown["reranking_hybrid"].candidates_min, shown["reranking_hybrid"].candidates_max) == (100, 101)
    assert len(figures.main) == 3
    assert as_run(lists["bm25"]).rows.tolist() == deep.top(50).rows.tolist()


def mixed_task() -> Task:
    corpus = Corpus.of(
        ["de", "en", "ru", "zh"],
        [
            "Der Fluss entspringt in den Bergen und fließt ins Meer.",
            "The river rises in the mountains and flows to the sea.",
            "Река берёт начало в горах и впадает в море.",
            "这条河发源于山区，流入大海。",
        ],
    )
    queries = Queries(
        ("a", "b", "c", "d"),
        ("Where does the river rise?", "Where does the Rhine rise?", "Where is Volga 2?", "这条河在哪里？"),
    )
    relevant = [(0, "en"), (1, "de"), (2, "ru"), (3, "zh"), (3, "en")]
    rows = [corpus.row_of[id_] for _, id_ in relevant]
    qrels = Qrels.of([*(q for q, _ in relevant), 0], [*rows, -1], [1] * 6, queries=4)
    return Task(TaskInfo("NanoToy/mixed", language="multilingual"), corpus, queries, qrels)


def test_languages_scripts_and_overlap_of_pairs() -> None:
    task = mixed_task()
    reading = read(task)
    assert reading.query_languages == ["en", "en", "en", "zh"]
    told = language_profile(reading)
    assert told.pairs == 5
    assert (told.same_language, told.cross_language, told.undecided) == pytest.approx((0.4, 0.6, 0.0))
    assert told.cross_script == pytest.approx(0.4)
    assert told.pair_languages == pytest.approx({"en-de": 0.2, "en-en": 0.2, "en-ru": 0.2, "zh-en": 0.2, "zh-zh": 0.2})
    assert told.query_scripts == {"latin": 0.75, "han": 0.25}
    # "Where does the river rise?" has the terms river and rise, and both stand in the English passage.
    assert reading.overlap[:3].tolist() == [1.0, 0.0, 0.0]


def test_positives_outside_the_corpus_lower_the_ceiling() -> None:
    figures = measure_task(mixed_task(), [])
    assert figures.positives.outside_corpus == 1
    assert figures.positives.multi_positive_queries == 2
    assert figures.ceiling is not None
    assert figures.ceiling.ndcg_at_10 == pytest.approx((3 + 1 / (1 + 1 / np.log2(3))) / 4)
    assert figures.ceiling.recall_at_100 == pytest.approx(3.5 / 4)
    found = {one.kind for _, one in task_page(figures).findings}
    assert {"outside", "no_profile", "multi_reading", "tiny_corpus"} <= found


def test_tendencies() -> None:
    corpus = Corpus.of(["a", "b", "c"], ["a text", "A text ", "Who is it"])
    texts = ["who is it", "Who is it", "tall tower", "bridge 7", "为什么天是蓝的"]
    queries = Queries(tuple("12345"), tuple(texts))
    task = Task(TaskInfo("x/y"), corpus, queries, Qrels.of(range(5), [0] * 5, [1] * 5, queries=5))
    found = tendencies(task, read(task))
    assert found.questions == pytest.approx(0.6)
    assert found.question_words == {"who": 2, "为什么": 1}
    assert found.numbers == pytest.approx(0.2)
    assert found.names is None
    assert (found.duplicate_queries, found.duplicate_documents, found.queries_that_are_documents) == (1, 1, 2)
    assert found.length_classes["1-2 words"] == pytest.approx(0.4)


def test_a_weak_slice_is_named_only_where_it_is_one() -> None:
    half = 30
    ranks = [1] * half + [0] * half
    task, profiles = ranked_task({"bm25": ranks, "dense": ranks})
    longer = [f"{text} {'very ' * 9}" if i >= half else text for i, text in enumerate(task.queries.texts)]
    task = Task(task.info, task.corpus, Queries(task.queries.ids, tuple(longer)), task.qrels)
    weak = [one for _, one in task_page(measure_task(task, profiles)).findings if one.kind == "weak_slice"]
    assert weak
    assert all("characters" in one.values["where"] and "up to" not in one.values["where"] for one in weak)
    flat, same = ranked_task({"bm25": [1, 2] * half, "dense": [1, 2] * half})
    assert "weak_slice" not in kinds(flat, same)


def test_an_audit_and_published_figures_reach_the_page() -> None:
    task, profiles = ranked_task({"bm25": [1] * 4, "dense": [0] * 4})
    context = Context(Audit("web crawl", 3, 5, "13-grams"), {"bm25_ndcg_at_10": 0.9, "hybrid_ndcg_at_10": 0.1}, "X/y")
    figures = measure_task(task, profiles, context)
    assert figures.leakage.audit == "audited: 3 queries and 5 documents found in web crawl (13-grams)"
    (published,) = figures.published
    assert (published.kind, published.difference) == ("bm25", pytest.approx(0.1))
    table = task_page(figures).table("Comparison with Published Scores")
    assert table.rows[0][:4] == ("BM25", "nDCG@10", "1.0000", "0.9000")
    assert table.rows[0][4].startswith("+0.1000 [")
    assert measure_task(task, profiles).leakage.audit == "not_audited"


def test_signed_figures_have_four_decimals() -> None:
    task, profiles = ranked_task({"bm25": [1] * 30, "dense": [1] * 29 + [2]})
    sentences = [
        one.sentence for _, one in task_page(measure_task(task, profiles)).findings if one.kind == "no_difference"
    ]
    assert "Dense the difference of +0.0123 " in sentences[0] and "p = 1.0000" in sentences[0]
    assert "BM25 the difference of -0.0123 " in sentences[1]


@pytest.mark.parametrize(
    ("source", "shown", "on_hub"),
    [
        ("src/questions.json", "questions.json", False),
        ("/data/mine/corpus.jsonl,/data/mine/queries.jsonl", "corpus.jsonl, queries.jsonl", False),
        ("BeIR/scifact", "BeIR/scifact", True),
        ("github.com/me/data", "github.com/me/data", False),
    ],
)
def test_a_file_is_no_hub_dataset_and_its_folder_is_not_shown(source: str, shown: str, on_hub: bool) -> None:
    task, profiles = ranked_task({"bm25": [1, 2, 3]}, source=source)
    values = measure_task(task, profiles)
    assert (values.dataset, values.on_hub) == (shown, on_hub)
    assert [one.title for one in values.sources] == [shown]
    assert (values.sources[0].type == "dataset card") == on_hub


def test_a_task_without_a_language_shows_the_identified_one() -> None:
    task, profiles = ranked_task({"bm25": [1] * 30})
    without = Task(replace(task.info, language="unknown", languages=()), task.corpus, task.queries, task.qrels)
    values = measure_task(without, profiles)
    assert (values.declared_languages, values.language_label) == ((), "en (identified)")
    findings = {one.kind for _, one in task_page(values).findings}
    assert "declared_none" in findings and "declared" not in findings
