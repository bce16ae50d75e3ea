"""The report of a run: one file with everything inside, honest about leads, with failures, stages and misses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_parts import small_task

from steelyard.engine import Results, evaluate
from steelyard.reports.run_report.stages import stages_of
from steelyard.results import Failure, Miss, QueryScores, Result, TaskFacts
from steelyard.retrievers.pipeline import pipeline
from steelyard.retrievers.rerank.load import from_function
from steelyard.types import Interval
from steelyard.web import write_report
from steelyard.web.own_results import from_results

HOSTILE = "</script><script>alert('سؤال')</script>"


def result(task: str, model: str, values: list[float], created: str = "2026-01-01", **more: Any) -> Result:
    array = np.array(values)
    metrics = {"ndcg_at_10": float(array.mean()), "hit_rate_at_10": float((array > 0).mean()), "recall_at_100": 1.0}
    ids = tuple(f"q{i}" for i in range(len(values)))
    return Result(
        task,
        model,
        {},
        f"{task}{model}",
        metrics=metrics,
        intervals={"ndcg_at_10": Interval(metrics["ndcg_at_10"] - 0.01, metrics["ndcg_at_10"] + 0.01)},
        facts=more.pop("facts", TaskFacts("en", queries=len(values), documents=10)),
        timings={"index": 0.5, "total": 1.25},
        queries=QueryScores(ids, np.ones(len(values), dtype=np.int32), {"ndcg_at_10": array}),
        created=created,
        **more,
    )


@pytest.fixture
def results() -> list[Result]:
    good, bad = [1.0] * 30, [0.5] * 15 + [0.0] * 15
    miss = Miss("q1", HOSTILE, None, "d2", "wrong & first", "d1", "right")
    return [
        result("NanoX/en", "bm25", bad, misses=(miss,)),
        result("NanoX/en", "dense:use", good),
        result("NanoX/zh", "bm25", good),
        result("NanoX/zh", "dense:use", [*good[:-1], 0.9]),
        Result("NanoX/ja", "bm25", {}, "k", status="failed", error=Failure("DataError", "bad row 3", "mend it")),
    ]


def data(path: Path) -> dict[str, Any]:
    """Return everything that the page has inside, by name."""
    blocks = re.findall(r'<script type="application/json" id="data-([^"]+)">(.*?)</script>', path.read_text("utf-8"))
    return {name: json.loads(content) for name, content in blocks}


def test_one_file_has_everything_inside_and_fetches_nothing(results: list[Result], tmp_path: Path) -> None:
    path = write_report(Results(results), tmp_path / "deep" / "report.html")
    html = path.read_text(encoding="utf-8")
    assert not re.search(r"@import|url\(|src=|https?://(?!www\.w3\.org/2000/svg)", html)
    assert "<script>alert" not in html
    assert html.count("<script>") == 1 and "unsafe" not in html
    inside = data(path)
    assert {"index", "board-results", "models-results", "task-results-0", "pair-results-0-1"} <= set(inside)
    assert inside["task-results-0"]["misses"]["0"][0]["text"] == HOSTILE
    assert inside["board-results"]["failures"] == [
        {"model": "bm25", "task": "NanoX/ja", "error": "DataError: bad row 3 (mend it)"}
    ]


def test_a_lead_that_chance_explains_is_not_claimed(results: list[Result]) -> None:
    close = [one for one in results if one.task == "NanoX/zh"]
    clear = [one for one in results if one.task == "NanoX/en"]
    assert sorted(from_results(Results(close)).tied) == [0, 1]
    board = from_results(Results(clear))
    assert [board.models[place].name for place in board.tied] == ["dense:use"]
    assert {place.model: place.group for place in board.places} == {0: 2, 1: 1}
    assert [sorted(best) for best in from_results(Results(results[:4])).leaders] == [[1], [0, 1]]


def test_one_model_alone_is_not_marked_as_the_best() -> None:
    board = from_results(Results([result("a/b", "bm25", [1.0, 0.0]), result("a/c", "bm25", [0.5, 0.5])]))
    assert board.tied == () and board.places == ()


def test_results_on_other_data_are_other_tasks_and_the_newest_counts() -> None:
    facts = TaskFacts("en", queries=2, documents=10, data_hash="a" * 32)
    sample = replace(facts, data_hash="b" * 32, limit=2, queries_in_full=90)
    board = from_results(
        Results(
            [
                result("T/a", "bm25", [0.0, 0.0], "2026-01-01", facts=facts),
                result("T/a", "bm25", [1.0, 0.0], "2026-02-01", facts=facts),
                result("T/a", "bm25", [1.0, 1.0], "2026-03-01", facts=sample),
            ]
        )
    )
    assert [task.name for task in board.tasks] == ["T/a@aaaaaaaa", "T/a@bbbbbbbb"]
    assert [(cell.score, cell.flags) for cell in board.cells] == [(0.5, 0), (1.0, 2)]


def test_a_report_of_failures_alone_has_their_errors(tmp_path: Path) -> None:
    failed = Result("T/a", "bm25", {}, "k", status="failed", error=Failure("DataError", "unreadable"))
    inside = data(write_report(Results([failed]), tmp_path / "report.html"))
    assert inside["board-results"]["models"] == []
    assert inside["board-results"]["failures"][0]["error"] == "DataError: unreadable"
    assert data(write_report(Results([]), tmp_path / "empty.html")) == {"index": {"boards": [], "details": []}}


def test_a_pipeline_has_its_first_stage_depth_and_recall_ceiling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    rerank = from_function(lambda query, texts: [len({*query} & {*text}) for text in texts], "letters")
    found = evaluate(["bm25", pipeline("bm25", rerank, depth=3)], [small_task()])
    stored = next(one for one in found if one.notes.get("stages")).notes["stages"]
    board = from_results(found)
    assert [model.family for model in board.models] == ["bm25", "pipeline"]
    first, last = board.models[1].stages
    assert (first.name, first.depth, first.gain) == ("bm25", None, None)
    assert last.depth == 3 and last.ceiling == pytest.approx(stored[1]["recall_ceiling"])
    assert last.gain == pytest.approx(stored[1]["ndcg_at_10"] - stored[0]["ndcg_at_10"])
    assert board.models[0].stages == ()


def test_stages_over_several_tasks_are_means() -> None:
    def notes(score: float, ceiling: float) -> list[dict[str, object]]:
        second = {"model": "bm25 > rerank:X", "ndcg_at_10": score, "over": "bm25", "recall_ceiling": ceiling}
        return [{"model": "bm25", "ndcg_at_10": 0.1}, second]

    values = enumerate([(0.2, 0.5), (0.6, 0.9)])
    first, second = stages_of(
        [result(f"T/{t}", "bm25 > rerank:X", [0.5], notes={"stages": notes(*v)}) for t, v in values]
    )
    assert (first.value, first.gain, first.ceiling) == (0.1, None, None)
    assert (second.value, second.gain, second.ceiling) == pytest.approx((0.4, 0.3, 0.7))


def test_costs_come_from_measurements_or_from_the_evaluation() -> None:
    costs = {
        "latency": {"p50_ms": 7.5, "p95_ms": 9.0, "p99_ms": 11.0},
        "stages_ms": {"encode": 6.0, "search": 1.0, "rerank": 0.5},
        "queries_per_second": 300.0,
        "documents_per_second": 120.0,
        "hours_per_million_documents": 2.3,
        "bytes_per_million_documents": 64e6,
        "price_per_thousand_queries": 0.02,
        "price_per_million_documents": 4.0,
        "peak_memory_bytes": 5e8,
    }
    facts = TaskFacts("en", queries=2, documents=10)
    measured = result("T/a", "dense:X", [1.0, 0.5], notes={"costs": costs, "bytes_per_document": 64.0}, facts=facts)
    plain = replace(result("T/a", "bm25", [1.0, 0.5], facts=facts), timings={"index": 2.0, "search": 0.5, "total": 3.0})
    one, other = from_results(Results([measured, plain])).models
    assert (one.latency, one.rate, one.price, one.bytes) == (7.5, 120.0, 0.02, 64.0)
    assert (other.latency, other.rate, other.price, other.bytes) == (250.0, 5.0, None, None)
    sized = [replace(plain, task=f"T/{task}", index_bytes=size) for task, size in (("a", 300), ("b", 340))]
    assert from_results(Results(sized)).models[0].bytes == 32.0
    assert (one.p95, one.p99, one.encode, one.search, one.rerank) == (9.0, 11.0, 6.0, 1.0, 0.5)
    assert (one.throughput, one.gigabytes, one.hours, one.documents_price, one.memory) == (
        300.0,
        0.064,
        2.3,
        4.0,
        500.0,
    )
    assert (other.p95, other.throughput, other.gigabytes, other.memory) == (None, None, None, None)


def test_reranking_of_the_evaluation_is_milliseconds_for_a_query() -> None:
    notes = {"rerank": {"pairs": 40, "rerank_seconds": 2.0, "rerank_seconds_stored": 6.0}}
    facts = TaskFacts("en", queries=4, documents=10)
    scored = [result(f"T/{task}", "bm25 > rerank:X", [1.0], notes=notes, facts=facts) for task in "ab"]
    (model,) = from_results(Results(scored)).models
    assert model.rerank == 1000 * 16 / 8
    unknown = [replace(one, facts=replace(facts, queries=None)) for one in scored]
    assert from_results(Results(unknown)).models[0].rerank is None


def test_a_model_has_the_revision_and_the_origin_that_are_texts() -> None:
    settings = {"model_settings": {"revision": "0123abc", "dimension": 8, "max_tokens": True}}
    one = replace(result("T/a", "dense:X?precision=int8", [1.0], notes={"variant_of": "dense:X"}), settings=settings)
    (model,) = from_results(Results([one])).models
    assert (model.revision, model.variant_of, model.dimension, model.tokens) == ("0123abc", "dense:X", 8, None)
    odd = replace(one, settings={"model_settings": {"revision": 7}}, notes={"variant_of": ["dense:X"]})
    (model,) = from_results(Results([odd])).models
    assert (model.revision, model.variant_of) == (None, None)


def test_leaders_need_two_models(results: list[Result]) -> None:
    both = from_results(Results(results))
    assert [both.models[place].name for place in both.tied] == ["dense:use"] and len(both.leaders) == 2
    alone = from_results(Results([one for one in results if one.model == "bm25"]))
    assert (list(alone.tied), list(alone.leaders)) == ([], [])


def test_the_report_needs_no_extra(tmp_path: Path) -> None:
    program = """
import sys
for name in ("duckdb", "starlette", "uvicorn", "torch", "transformers", "datasets", "ray"):
    sys.modules[name] = None
from pathlib import Path
from steelyard import evaluate
from steelyard.web import write_report
write_report(evaluate("bm25", "NanoAlmanac/en"), Path(sys.argv[1]))
"""
    path = tmp_path / "report.html"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    assert data(path)["task-results-0"]["texts"]


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1280, 1920])
def test_all_metrics_and_whole_names_are_in_view(page: Any, tmp_path: Path, width: int) -> None:
    names = ["dense:use-multilingual-v3", "[bm25, dense:use-multilingual-v3]", "bm25"]
    found = [result(f"NanoX/{t}", name, [1.0, 0.5, i / 4]) for t in ("en", "zh") for i, name in enumerate(names)]
    path = write_report(Results(found), tmp_path / "report.html")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector("table.board")
    assert sorted(page.locator("table.board tbody th a.name").all_text_contents()) == sorted(names)
    right = "[...document.querySelectorAll('table.board td.number')].map((cell) => cell.getBoundingClientRect().right)"
    assert max(page.evaluate(right)) <= width
    labels = (
        page.locator("table.board tbody tr").first.locator("td").evaluate_all("all => all.map(x => x.dataset.label)")
    )
    assert {"nDCG@10", "hit@10", "recall@100"} <= set(labels)


@pytest.mark.slow
@pytest.mark.browser
def test_the_interval_of_a_mean_is_that_of_the_console_and_stays_below_100(page: Any, tmp_path: Path) -> None:
    ranges = {"NanoX/en": Interval(0.4, 1.0), "NanoX/zh": Interval(0.3, 1.0)}
    found = [replace(result(task, "bm25", [1.0, 1.0, 0.9]), intervals={"ndcg_at_10": ranges[task]}) for task in ranges]
    page.goto(write_report(Results(found), tmp_path / "report.html").as_uri() + "#/model/results/bm25")
    page.wait_for_selector("dl")
    low, high = 29 / 30 - np.hypot(17 / 30, 20 / 30) / 2, 29 / 30 + np.hypot(1, 1) / 60
    assert f"{100 * low:.2f} to {100 * high:.2f}" in page.locator("dl").first.inner_text()
    assert f"±{(high - low) / 2:.3f}" in str(Results(found)).splitlines()[-1]


@pytest.mark.slow
@pytest.mark.browser
def test_long_names_and_errors_do_not_make_the_page_wider_than_the_window(page: Any, tmp_path: Path) -> None:
    long = "bm25 > rerank:" + "a_folder/without_a_blank/" * 8 + "?depth=50"
    miss = (Miss("q", "q" * 200, None, "x", "x" * 200, "y", "y" * 200),)
    stages = [{"model": "bm25", "ndcg_at_10": 0.5}, {"model": long, "ndcg_at_10": 0.5, "over": "bm25"}]
    found = [result("T/a", "bm25", [0.0, 1.0]), result("T/a", long, [1.0, 0.0], notes={"stages": stages}, misses=miss)]
    broken = Result("T/b", long, {}, "k", status="failed", error=Failure("HubError", "z" * 300))
    site = write_report(Results([*found, broken]), tmp_path / "report.html").as_uri()
    for width in (360, 800, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        for view in ("", "#/task/results/T%2Fa", "#/pipelines/results", "#/errors/results", "#/queries/results/T%2Fa"):
            page.goto("about:blank")
            page.goto(site + view)
            page.wait_for_selector("main > *:not(.soft)")
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), (width, view)
