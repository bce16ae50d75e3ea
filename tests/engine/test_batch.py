"""The engine: scores are those of the metrics, fusions reuse lists, failures are recorded, reruns are incremental."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_parts import PASSAGES, QUESTIONS, Broken, Overlap, small_task

import steelyard
from steelyard.engine import Results, evaluate
from steelyard.engine.batch import Batch
from steelyard.engine.events import Advanced, Event, Finished, Loading, Opening, Planned, Started
from steelyard.engine.interrupts import Interrupts
from steelyard.engine.plan import STRATEGIES, Conditions, Model, ResultLookup
from steelyard.engine.task_evaluator import TaskEvaluator
from steelyard.errors import ModelError, ResultError, UnknownName, UsageError
from steelyard.metrics import score
from steelyard.registry import Registry
from steelyard.results import Result, ResultStore
from steelyard.retrievers import RETRIEVERS
from steelyard.retrievers.fusion.retriever import FusedRetriever, Fusion, fuse
from steelyard.types import Corpus, Interval, Qrels, Queries, Run, Task, TaskInfo


@dataclass
class Liar(Overlap):
    """Returns a fixed run."""

    run: Run | None = None
    depths: list[int] = field(default_factory=list)

    def index(self, corpus, info, tick=None):  # type: ignore[no-untyped-def]
        return self

    size_bytes = 0
    notes = {}  # noqa: RUF012

    def search(self, queries: Queries, top_k: int) -> Run:
        assert self.run is not None
        self.depths.append(top_k)
        return self.run.top(top_k)


def lists(*rows: int, scores: tuple[float, ...] = ()) -> Run:
    values = scores or tuple(1 / (i + 1) if row >= 0 else -math.inf for i, row in enumerate(rows))
    return Run(np.tile(np.array(rows, dtype=np.int32), (6, 1)), np.tile(np.array(values, dtype=np.float32), (6, 1)))


def test_scores_are_those_of_the_metrics() -> None:
    task, model = small_task(), Overlap()
    (result,) = evaluate(model, task)
    run = model.index(task.corpus, task.info).search(task.queries, 1000)
    expected = score(run, task.qrels)
    assert result.done and result.model == "overlap" and result.task == "Small/geography"
    assert {name: result[name] for name in expected.means} == expected.means
    assert result.score == expected["ndcg_at_10"] and 0 < result.score < 1
    assert result.per_query["ndcg_at_10"].tolist() == expected.per_query["ndcg_at_10"].tolist()
    assert result.per_query.ids == tuple(QUESTIONS)
    assert result.mteb["ndcg_at_10"] == round(result.score, 5) and len(result.mteb) == 148
    assert set(result.intervals) == set(expected.means)
    assert result.interval is not None and result.interval.low <= result.score <= result.interval.high


def test_the_interval_of_a_metric_without_bounds_is_not_cut() -> None:
    result = evaluate("bm25", small_task(), metrics=["utility"])[0]
    value, interval = result.metrics["utility"], result.intervals["utility"]
    assert value is not None and 1 < value < interval.high and interval.low <= value


def test_a_result_tells_its_task_costs_and_origin() -> None:
    task = small_task(source="a test", revision="r7", languages=("en",), reference={"bm25_ndcg_at_10": 0.5})
    (result,) = evaluate(Overlap(), task)
    facts = result.facts
    assert (facts.language, facts.queries, facts.documents, facts.positives) == ("en", 6, 8, 8)
    assert (facts.source, facts.revision, facts.data_hash) == ("a test", "r7", task.content_hash)
    assert facts.reference == {"bm25_ndcg_at_10": 0.5} and not result.partial
    phases = ("load", "index", "search", "score")
    assert result.timings["total"] == pytest.approx(sum(result.timings[phase] for phase in phases))
    assert all(result.timings[phase] > 0 for phase in phases) and result.timings["reused"] == 0
    assert result.index_bytes and result.peak_memory_bytes is None, "the process has other models"
    assert result.notes == {"analyser": "words"} and result.provenance["packages"]["numpy"] == np.__version__
    assert result.settings["model_settings"] == {"weight": 1.0} and result.settings["top_k"] == 1000
    json.loads(result.to_json(), parse_constant=lambda name: pytest.fail(name))


def test_misses_are_the_worst_queries() -> None:
    (result,) = evaluate(Overlap(), small_task())
    worst = result.misses[0]
    assert (worst.query_id, worst.query, worst.rank) == ("q5", QUESTIONS["q5"][0], None)
    assert (worst.positive_id, worst.positive) == ("amber", PASSAGES["amber"])
    values = dict(zip(result.per_query.ids, result.per_query["ndcg_at_10"].tolist(), strict=True))
    assert [miss.query_id for miss in result.misses] == sorted((q for q, v in values.items() if v < 1), key=values.get)
    ranks = dict(zip(result.per_query.ids, result.per_query.first_positive.tolist(), strict=True))
    assert all((miss.rank or 0) == ranks[miss.query_id] for miss in result.misses)


def test_among_equals_the_deepest_miss_is_the_worst() -> None:
    ids = [f"d{i:02}" for i in range(40)]
    corpus = Corpus.of(ids, ids)
    queries = Queries(("q1", "q2", "q3", "q4"), ("12", "nowhere", "20", "nowhere"))
    qrels = Qrels.of([0, 1, 2, 3], [11, 39, 19, 38], [1, 1, 1, 1], queries=4)
    run = Run.of([list(range(30))] * 4, [list(range(30, 0, -1))] * 4)
    (result,) = evaluate(Liar("liar", run=run), Task(TaskInfo("Deep/x"), corpus, queries, qrels))
    assert [(miss.query_id, miss.rank) for miss in result.misses] == [
        ("q2", None),
        ("q4", None),
        ("q3", 20),
        ("q1", 12),
    ]


def test_misses_are_ten_at_most_and_cut() -> None:
    ids = [f"d{i:03}" for i in range(40)]
    corpus = Corpus.of(ids, [f"{id_} " + "word " * 100 for id_ in ids])
    queries = Queries(tuple(f"q{i}" for i in range(30)), tuple(f"d{i:03} " + "more " * 100 for i in range(30)))
    qrels = Qrels.of(range(30), [corpus.row_of[f"d{i + 5:03}"] for i in range(30)], [1] * 30, queries=30)
    (result,) = evaluate(Overlap(), Task(TaskInfo("Long/x"), corpus, queries, qrels))
    assert len(result.misses) == 10
    assert all(len(text) == 200 for miss in result.misses for text in (miss.query, miss.positive or ""))
    assert [miss.query_id for miss in result.misses] == sorted(miss.query_id for miss in result.misses)


def test_a_fusion_reuses_the_lists_of_its_parts() -> None:
    task, light, heavy = small_task(), Overlap("light"), Overlap("heavy", weight=2.0)
    both = FusedRetriever("[light, heavy]", (light, heavy), Fusion(k=10))
    results = evaluate([light, heavy, both], task)
    assert light.indexed == heavy.indexed == ["Small/geography"], "each part indexes once"
    runs = [part.index(task.corpus, task.info).search(task.queries, 1000) for part in (light, heavy)]
    assert results[2].score == score(fuse(runs, k=10), task.qrels)["ndcg_at_10"]
    own = results[0].timings["index"] + results[1].timings["index"]
    assert results[2].timings["index"] == own and results[2].timings["reused"] > own
    stages = results[2].notes["stages"]
    assert results[2].notes == {"light": {"analyser": "words"}, "heavy": {"analyser": "words"}, "stages": stages}
    assert [stage["ndcg_at_10"] for stage in stages] == [result.score for result in results]


def test_costs_of_a_composite_are_those_of_its_parts_and_its_own() -> None:
    light, heavy = Overlap("light"), Overlap("heavy", weight=2.0)
    both = FusedRetriever("[light, heavy]", (light, heavy), Fusion())
    evaluator = TaskEvaluator(small_task(), Conditions(), 1000)
    parts = [evaluator.retrieve(part) for part in (light, heavy)]
    alone = TaskEvaluator(small_task(), Conditions(), 1000).retrieve(both)
    fused = evaluator.retrieve(both)
    assert fused.index == parts[0].index + parts[1].index
    assert fused.search > parts[0].search + parts[1].search
    assert fused.reused == sum(part.index + part.search for part in parts)
    assert (alone.reused, alone.index_bytes) == (0.0, parts[0].index_bytes + parts[1].index_bytes)
    again = evaluator.retrieve(both)
    assert again.reused == again.index + again.search and again.search == fused.search


def test_fusion_alone_has_the_same_scores_and_the_costs_of_its_parts() -> None:
    light, heavy = Overlap("light"), Overlap("heavy", weight=2.0)
    both = FusedRetriever("[light, heavy]", (light, heavy), Fusion())
    alone, beside = evaluate(both, small_task())[0], evaluate([light, both], small_task())[1]
    assert alone.metrics == beside.metrics and alone.key == beside.key
    assert alone.timings["reused"] == 0 < beside.timings["reused"]


def test_a_shallow_result_does_not_starve_a_fusion() -> None:
    """With top_k 1 the fusion must still read its parts down to its own depth: only there do they agree."""
    one, two = Liar("one", run=lists(0, 1, 2)), Liar("two", run=lists(3, 1, 4))
    both = FusedRetriever("[one, two]", (one, two), Fusion(depth=3))
    results = evaluate([one, both], small_task(), top_k=1)
    fused = fuse([lists(0, 1, 2), lists(3, 1, 4)]).top(1)
    assert fused.rows[:, 0].tolist() == [1] * 6
    expected = score(fused, small_task().qrels)
    assert results[1].per_query["ndcg_at_10"].tolist() == expected.per_query["ndcg_at_10"].tolist()
    assert results[1]["recall_at_100"] == expected["recall_at_1"], "the list itself has one document"
    assert one.depths == [3]


def test_the_document_that_is_the_query_is_left_out() -> None:
    corpus = Corpus.of(["a", "b", "c"], ["red apple pie", "red apple", "blue"])
    queries = Queries(("a", "x"), ("red apple pie", "blue"))
    qrels = Qrels.of([0, 1], [corpus.row_of["b"], corpus.row_of["c"]], [1, 1], queries=2)
    task = Task(TaskInfo("Dup/x"), corpus, queries, qrels)
    ignoring = replace(task, info=replace(task.info, ignore_identical_ids=True))
    assert evaluate(Overlap(), task)[0]["mrr_at_10"] == 0.75
    (result,) = evaluate(Overlap(), ignoring, top_k=1)
    assert result["mrr_at_10"] == 1.0, "searched one deeper, so that the list is full without it"


def test_what_fails_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    tasks = [small_task(f"Small/{name}") for name in "abc"]
    results = evaluate([Broken(on=("Small/b",)), Overlap()], tasks, results=tmp_path)
    assert [(r.task[-1], r.model, r.done) for r in results] == [
        ("a", "broken", True), ("a", "overlap", True), ("b", "broken", False),
        ("b", "overlap", True), ("c", "broken", True), ("c", "overlap", True),
    ]  # fmt: skip
    (failed,) = results.failures
    assert failed.error is not None and failed.error.type == "ZeroDivisionError"
    assert failed.error.message == "no such luck" and "engine_parts.py" in failed.notes["where"]
    assert sum(not r.done for r in ResultStore(tmp_path).all()) == 1
    assert list(results.common_tasks()) == ["Small/a", "Small/c"] and "mean of 2 common tasks" in str(results)


def test_a_task_that_does_not_load_is_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "one"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "one"}\n')
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td9\t1\n")
    bad, good = evaluate(Overlap(), [folder, small_task()], results=tmp_path / "results")
    assert not bad.done and bad.error is not None and bad.error.type == "DataError" and "d9" in bad.error.message
    assert good.done
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    again = evaluate(Overlap(), [folder], results=tmp_path / "results")
    assert again[0].score == 1.0
    assert all(r.done for r in ResultStore(tmp_path / "results").find(task=again[0].task))


def odd_scores(score: object) -> Run:
    """Lists of two documents, the second of which has such a score."""
    whole = lists(0, 1)
    scores = whole.scores.astype(object)
    scores[:, 1] = score
    return Run(whole.rows, scores)


@pytest.mark.parametrize(
    ("run", "found"),
    [
        (lists(0, 1, scores=(1.0, math.nan)), "a score of nan for query 'q1' and document 'sahara'"),
        (odd_scores(None), "a score of None for query 'q1' and document 'sahara'"),
        (odd_scores("0.5"), "a score of 0.5 for query 'q1' and document 'sahara'"),
        (odd_scores(0.5), "scores of type object"),
        (lists(0, 8), "a row of 8"),
        (lists(0, -2), "a row of -2"),
        (lists(0, 1, 0), "twice"),
        (lists(0, 1, scores=(0.5, 0.9)), "out of order"),
        (lists(1, 0, scores=(0.5, 0.5)), "out of order"),
        (lists(-1, 0), "out of order"),
        (Run(lists(0).rows[:3], lists(0).scores[:3]), "shape"),
        (Run(lists(0).rows.astype(np.float32), lists(0).scores), "float32"),  # type: ignore[arg-type]
    ],
    ids=[
        "nan",
        "none",
        "word",
        "object",
        "outside",
        "below",
        "twice",
        "rising",
        "tie",
        "padding first",
        "too few",
        "float rows",
    ],
)
def test_run_that_breaks_the_contract_is_refused(run: Run, found: str) -> None:
    (result,) = evaluate(Liar("liar", run=run), small_task())
    assert result.error is not None and result.error.type == "ModelError" and found in result.error.message
    assert ModelError.__name__ == result.error.type and result.error.hint


@pytest.mark.parametrize("scores", [(math.inf, 1.0), (1.0, -math.inf), (math.inf, -math.inf), (math.inf, math.inf)])
def test_infinite_scores_have_their_place_and_leave_strict_json(scores: tuple[float, float], tmp_path: Path) -> None:
    (result,) = evaluate(Liar("sure", run=lists(0, 1, scores=scores)), small_task(), results=tmp_path)
    (finite,) = evaluate(Liar("sure", run=lists(0, 1, scores=(2.0, 1.0))), small_task())
    assert result.metrics["ndcg_at_10"] == finite.metrics["ndcg_at_10"]
    for file in tmp_path.rglob("*.json"):
        json.loads(file.read_text(), parse_constant=pytest.fail)


def test_an_empty_run_counts_nothing() -> None:
    empty = Run(np.empty((6, 0), dtype=np.int32), np.empty((6, 0), dtype=np.float32))
    (result,) = evaluate(Liar("silent", run=empty), small_task())
    assert result.score == 0.0 and len(result.misses) == 6 and result.misses[0].top_id is None


def test_a_rerun_does_only_what_is_missing(tmp_path: Path) -> None:
    tasks, model = [small_task("Small/a"), small_task("Small/b")], Overlap()
    first = evaluate(model, tasks[:1], results=tmp_path)
    events: list[Event] = []
    second = evaluate(model, tasks, results=tmp_path, progress=events.append)
    assert model.indexed == ["Small/a", "Small/b"]
    assert second[0].created == first[0].created and second[0].metrics == first[0].metrics
    assert events[:2] == [Opening("overlap"), Planned(models=1, tasks=2, stored=1)]
    assert [event.stored for event in events if isinstance(event, Finished)] == [True, False]
    evaluate(model, [small_task("Small/a", shift=1)], results=tmp_path)
    assert model.indexed[2:] == ["Small/a"], "other data under the same name is another task"
    evaluate(Overlap(weight=3.0), tasks, results=tmp_path)
    evaluate(model, tasks, results=tmp_path, top_k=5)
    evaluate(model, tasks, results=tmp_path, metrics=["ndcg@7"])
    assert len(ResultStore(tmp_path).all()) == 3 + 2 + 2 + 2
    assert model.indexed[3:] == ["Small/a", "Small/b"] * 2
    evaluate(model, tasks, results=tmp_path, metrics=["nDCG@10"])
    assert len(model.indexed) == 7, "a metric that is always computed needs no new run"


def test_what_is_announced_as_stored_goes_by_the_task_not_by_how_it_was_named(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "iron and salt"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "salt"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    files = ",".join(str(tmp_path / name) for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"))
    events: list[Event] = []
    evaluate(Overlap(), files, results=tmp_path / "results")
    evaluate(Overlap(), files, results=tmp_path / "results", progress=events.append)
    assert Planned(models=1, tasks=1, stored=1) in events


def test_results_folder_that_is_a_file_is_an_error_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file, not a folder")
    model = Overlap()
    with pytest.raises(ResultError) as caught:
        evaluate(model, small_task(), results=tmp_path / "results")
    assert caught.value.path == str(tmp_path / "results")
    assert model.indexed == []


def test_a_stored_failure_is_announced_only_where_it_stays(tmp_path: Path) -> None:
    task, model, store = small_task(), Model("broken", Broken(on=("Small/geography",))), ResultStore(tmp_path)
    list(Batch([model], [task], lookup=ResultLookup(store)).run())
    outlook = [ResultLookup(store, strategy).count_stored([model], [task], Conditions()) for strategy in STRATEGIES]
    expected = {"always": 0, "never": 1, "only-missing": 0, "only-cache": 0}
    assert dict(zip(STRATEGIES, outlook, strict=True)) == expected


def test_a_task_that_would_not_load_and_is_mended_leaves_no_failure_behind(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "salt"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (failed,) = evaluate(Overlap(), tmp_path, results=tmp_path / "results")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "iron and salt"}\n')
    (done,) = evaluate(Overlap(), tmp_path, results=tmp_path / "results")
    assert not failed.done and done.done and failed.task == done.task
    assert [result.status for result in ResultStore(tmp_path / "results").all()] == ["done"]


def test_failure_after_a_result_is_removed_once_the_result_is_used_again(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(whole := '{"_id": "d1", "text": "iron and salt"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "salt"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    store = ResultStore(tmp_path / "results")
    for text in (whole, '{"_id": "d1"}\n', whole):
        (tmp_path / "corpus.jsonl").write_text(text)
        (result,) = evaluate(Overlap(), tmp_path, results=store.folder, overwrite_strategy="never")
    assert result.done and sorted(result.status for result in store.all()) == ["done", "failed"], "never: all stays"
    (result,) = evaluate(model := Overlap(), tmp_path, results=store.folder)
    assert result.done and not model.indexed and [result.status for result in store.all()] == ["done"]


def test_overwrite_strategies(tmp_path: Path) -> None:
    task, model = small_task(), Broken(on=("Small/geography",))
    assert not evaluate(model, task, results=tmp_path)[0].done
    model.on = ()
    assert not evaluate(model, task, results=tmp_path, overwrite_strategy="never")[0].done
    assert evaluate(model, task, results=tmp_path)[0].done, "a failure is tried again"
    assert len(model.indexed) == 1
    evaluate(model, task, results=tmp_path, overwrite_strategy="never")
    assert len(model.indexed) == 1
    evaluate(model, task, results=tmp_path, overwrite_strategy="always")
    assert len(model.indexed) == 2 and len(ResultStore(tmp_path).all()) == 1
    with pytest.raises(UsageError) as caught:
        evaluate(model, task, overwrite_strategy="sometimes")  # type: ignore[arg-type]
    assert (caught.value.option, caught.value.found) == ("overwrite_strategy", "sometimes")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_result_of_a_later_version_is_a_failure_without_work(tmp_path: Path, strategy: str) -> None:
    task, model = small_task(), Overlap()
    path = evaluate(model, task, results=tmp_path)[0].path
    assert path is not None
    path.write_text(path.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    newer = path.read_bytes()
    found = evaluate([model, "bm25"], task, results=tmp_path, overwrite_strategy=strategy)  # type: ignore[arg-type]
    assert [result.done for result in found] == [False, strategy != "only-cache"] and len(model.indexed) == 1
    assert found[0].error is not None and found[0].error.type == "NewerResult" and found[0].error.hint
    assert path.read_bytes() == newer


def test_events_of_a_batch() -> None:
    events: list[Event] = []
    evaluate([Overlap(), Broken(on=("Small/geography",))], small_task(), progress=events.append)
    kinds = [type(event) for event in events if not isinstance(event, Advanced)]
    assert kinds == [Opening, Opening, Planned, Loading, Started, Finished, Started, Finished]
    assert sum(event.steps for event in events if isinstance(event, Advanced)) == 8
    started = next(event for event in events if isinstance(event, Started))
    assert started == Started("overlap", "Small/geography", 8)


def test_wrong_names_are_errors_before_any_work(tmp_path: Path) -> None:
    for models in (["bm52"], ["bm25", "bm25?k7=1"]):
        with pytest.raises(UnknownName):
            evaluate(models, small_task(), results=tmp_path / "results")
    with pytest.raises(UnknownName) as unknown:
        evaluate("bm25", small_task(), metrics=["ndgc@10"])
    assert unknown.value.kind == "metric"
    for name, value in (("top_k", 0), ("limit", 0), ("seed", -1), ("limit", 1.5), ("top_k", "ten")):
        with pytest.raises(UsageError) as caught:
            evaluate("bm25", small_task(), **{name: value})  # type: ignore[arg-type]
        assert (caught.value.option, caught.value.found) == (name, value)
    assert not (tmp_path / "results").exists()


@pytest.mark.slow  # the name is also looked up in mteb
def test_an_unknown_task_is_an_error_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(UnknownName):
        evaluate("bm25", "NoSuch/task", results=tmp_path / "results")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "option", "found"),
    [
        ({"models": []}, "models", None),
        ({"tasks": []}, "tasks", None),
        ({"tasks": {"NanoAlmanac/en"}}, "tasks", "set"),
        ({"tasks": None}, "tasks", "NoneType"),
        ({"save_runs": "json", "results": "results"}, "save_runs", "json"),
        ({"save_runs": "trec"}, "save_runs", None),
        ({"metrics": "ndgc@7"}, None, "ndgc"),
        ({"metrics": [7]}, "metrics", 7),
        ({"profile": "mteb-3"}, "profile", "mteb-3"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], option: str | None, found: object) -> None:
    with pytest.raises(UsageError) as caught:
        evaluate(**{"models": Overlap(), "tasks": small_task(), **arguments})  # type: ignore[arg-type]
    assert (caught.value.option, caught.value.found) == (option, found)


def test_metrics_in_any_spelling() -> None:
    results = evaluate(Overlap(), small_task(), metrics="nDCG@7")
    for spelling in ("ndcg_at_7", "nDCG@7", "ndcg_cut_7"):
        assert results.means(spelling) == {"overlap": results[0]["ndcg_at_7"]}
        assert results.table(spelling)[1][0][1].startswith(f"{results[0]['ndcg_at_7']:.4f}")
    with pytest.raises(UnknownName) as unknown:
        results.table("ndgc@7")
    assert unknown.value.name == "ndgc"
    with pytest.raises(UnknownName) as unknown:
        results[0]["nDCG@7"]
    assert "ndcg_at_7" in unknown.value.near
    with pytest.raises(UnknownName) as unknown:
        results[0].per_query["nDCG@7"]
    assert "ndcg_at_7" in unknown.value.near


def test_a_notebook_shows_the_table() -> None:
    results = evaluate(Overlap(), small_task("Small/<b>"))
    assert repr(results) == "Results(1 model x 1 task)"
    shown = results._repr_html_()
    assert "<th>overlap</th>" in shown and "<td>Small/&lt;b&gt;</td>" in shown and shown.count("<tr>") == 2
    assert Results([])._repr_html_() == "<p>no results</p>"


def test_names_and_objects_may_be_mixed() -> None:
    results = steelyard.evaluate(["bm25", Overlap(), "bm25"], [small_task("A/x"), small_task("A/y")])
    assert results.models == ("bm25", "overlap") and results.tasks == ("A/x", "A/y") and len(results) == 4
    assert repr(results) == "Results(2 models x 2 tasks)" and not results.failures
    assert [r.task for r in results.filter(model="bm25")] == ["A/x", "A/y"]
    assert len(results[1:3]) == 2 and results.to_dicts()[0]["task_name"] == "A/x"
    columns, rows = results.table(intervals=True)
    assert columns == ["nDCG@10", "bm25", "overlap"] and [row[0] for row in rows] == ["A/x", "A/y", "mean"]
    assert "*" in "".join(rows[0]) and "[" in rows[0][1]


def test_many_models_stand_in_rows() -> None:
    results = [Result("T/a", f"m{i}", {}, str(i), metrics={"ndcg_at_10": i / 10}) for i in range(6)]
    columns, rows = Results(results).table()
    assert columns == ["nDCG@10", "T/a"] and rows[-1] == ["m5", "0.5000*"] and len(rows) == 6
    assert Results(results[:5]).table()[0] == ["nDCG@10", "m0", "m1", "m2", "m3", "m4"]


def test_table_has_intervals() -> None:
    def made(task: str, low: float, high: float) -> Result:
        metrics, intervals = {"ndcg_at_10": 0.5}, {"ndcg_at_10": Interval(low, high, 0.95)}
        return Result(task, "bm25", {}, task, metrics=metrics, intervals=intervals)

    results = Results([made("A/x", 0.2, 0.8), made("A/y", 0.1, 0.9)])
    _, rows = results.table()
    assert [row[1] for row in rows] == ["0.5000  ±0.300", "0.5000  ±0.400", "0.5000  ±0.250"]  # 0.25 = |(0.3, 0.4)| / 2
    unsure = Results([*results, Result("A/z", "bm25", {}, "z", metrics={"ndcg_at_10": 0.5})])
    assert unsure.table()[1][-1][1].strip() == "0.5000"  # a mean of figures without intervals claims none


@pytest.mark.slow
def test_results_hang_on_nothing_but_their_inputs() -> None:
    """The same batch in two processes with other hash seeds gives the same files, times and machine aside."""
    script = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from engine_parts import *\n"
        "from steelyard import evaluate\n"
        "for r in evaluate(['bm25', Overlap()], small_task()):\n"
        "    ours = r.to_dict(); part = ours['steelyard']; ours.pop('evaluation_time')\n"
        "    [part.pop(n) for n in ('timings', 'created', 'peak_memory_bytes')]\n"
        "    print(json.dumps(ours), r.per_query.by_metric['ndcg_at_10'].tolist())\n"
    )
    folder = str(Path(__file__).parents[1] / "support")
    texts = {
        subprocess.run(
            [sys.executable, "-c", script, folder],
            env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(texts) == 1 and "ndcg_at_10" in texts.pop()


def test_an_interrupt_waits_for_a_safe_place() -> None:
    written = []
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:
        with interrupts.allowed():
            pass
        signal.raise_signal(signal.SIGINT)
        written.append("all of it")
        with interrupts.allowed():
            written.append("no new work")
    assert written == ["all of it"]
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts, interrupts.allowed():
        signal.raise_signal(signal.SIGINT)
        written.append("work goes on")
    with pytest.raises(KeyboardInterrupt), Interrupts():
        signal.raise_signal(signal.SIGINT)
        written.append("the end")
    with pytest.raises(KeyboardInterrupt), Interrupts():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        written.append("a second one waited")
    assert written == ["all of it", "the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@dataclass
class Swallowing(Overlap):
    """A model whose package turns an interrupt into an error of its own, as DuckDB does."""

    def index(self, *given: object) -> Any:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            error = RuntimeError("Query interrupted")
        raise error from None


def test_an_interrupt_that_a_package_swallows_is_no_failure_of_its_model(tmp_path: Path) -> None:
    store, got = ResultStore(tmp_path), []
    batch = Batch(
        [Model("swallowing", Swallowing())], [small_task("Small/a"), small_task("Small/b")], lookup=ResultLookup(store)
    )
    with pytest.raises(KeyboardInterrupt):
        for result in batch.run():
            got.append(result)
    assert got == [] == list(store.all())


def test_an_interrupted_batch_has_handed_over_all_that_it_stored(tmp_path: Path) -> None:
    """The interrupt comes in the middle of writing the second result."""
    store, put = ResultStore(tmp_path), ResultStore.put

    def interrupted_put(self: ResultStore, result: Result, beside: object = None) -> Result:
        if result.task == "Small/b":
            signal.raise_signal(signal.SIGINT)
        return put(self, result)

    tasks = [small_task(f"Small/{name}") for name in "abc"]
    got: list[str] = []
    batch = Batch([Model("overlap", Overlap())], tasks, lookup=ResultLookup(store))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ResultStore, "put", interrupted_put)
        for result in batch.run():
            got.append(result.task)
    assert got == ["Small/a", "Small/b"] == [result.task for result in store.all()]


@pytest.fixture
def families(monkeypatch: pytest.MonkeyPatch) -> Registry[Any]:
    """The families of retrievers; what a test adds, or has loaded, is gone after it."""
    for part in ("_builtins", "_loaded"):
        monkeypatch.setattr(RETRIEVERS, part, dict(getattr(RETRIEVERS, part)))
    return RETRIEVERS


def explode(spec: object) -> None:
    raise OSError("the weights are gone")


def test_a_model_that_does_not_load_is_recorded(tmp_path: Path, families: Registry[Any]) -> None:
    families.add("explosive", explode)
    failed, done = evaluate(["explosive", "bm25"], small_task(), results=tmp_path)
    assert failed.error is not None and (failed.error.type, failed.error.message) == ("OSError", "the weights are gone")
    assert failed.facts.documents == 8 and done.done


def test_settings_that_no_key_is_made_of_are_one_failure(families: Registry[Any]) -> None:
    families.add("opaque", Opaque)
    for opaque in (Opaque(), "opaque"):
        failed, done = evaluate([opaque, "bm25"], small_task())
        assert done.done and failed.error is not None and "cannot be stored in a result" in failed.error.message


class Opaque(Overlap):
    """Its settings are no JSON."""

    def __init__(self, spec: object = None) -> None:
        super().__init__()

    @property
    def settings(self):  # type: ignore[no-untyped-def]
        return {"weights": object()}


def test_unknown_family_is_an_error_before_any_model_is_loaded(families: Registry[Any]) -> None:
    families.add("never-loaded", heavy)
    for wrong in ("bm52", "[bm25, bm52]", "bm52 > rerank:x"):
        with pytest.raises(UnknownName) as unknown:
            evaluate(["never-loaded", wrong], small_task())
        assert unknown.value.name == "bm52"


def heavy(spec: object) -> object:
    pytest.fail("a model was loaded")


def test_models_and_tasks_of_the_same_name_are_distinguished() -> None:
    both = evaluate([Overlap(), Overlap(weight=2.0)], small_task())
    assert len(set(both.models)) == 2 and all(name.startswith("overlap#") for name in both.models)
    results = evaluate(Overlap(), [small_task(), small_task(shift=1)])
    _, rows = results.table()
    assert len(rows) == 3 and rows[0][0] != rows[1][0] and all("Small/geography@" in row[0] for row in rows[:2])
    assert results.means()["overlap"] == pytest.approx(sum(r.score or 0 for r in results) / 2)
