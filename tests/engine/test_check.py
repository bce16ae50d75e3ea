"""Tasks and conditions that were put together in a program: what no figure may come of is said, not weighed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_parts import Overlap, small_task

from steelyard import Result, Results, evaluate, load_task
from steelyard.encoders.backends.function import from_function
from steelyard.errors import DataError, ModelError, UnknownName, UsageError
from steelyard.metrics import parse
from steelyard.retrievers.dense import DenseRetriever
from steelyard.types import Corpus, Qrels, Queries, Ragged, Run, Task, TaskInfo
from steelyard.types.protocols import Tick, no_tick
from steelyard.types.samples import ClusterTask, LabelTask, PairTask, Problem

OWN = {
    "corpus": Corpus(("c", "b", "a"), ("epsilon", "gamma", "alpha")),
    "queries": Queries(("q1", "q2"), ("alpha", "gamma")),
    "qrels": Qrels.of([0, 1], [2, 1], [1, 1], queries=2),
}


def own(**parts: Any) -> Task:
    return Task(**{"info": TaskInfo("My/own"), **OWN, **parts})


def test_a_sound_task_is_weighed() -> None:
    (result,) = evaluate("bm25", own())
    assert result.score == 1.0


def test_dictionaries_are_the_task_that_their_files_are(tmp_path: Path) -> None:
    documents = {"a": {"title": "One", "text": "alpha"}, "b": {"text": "beta", "title": ""}, "c": "gamma"}
    task = Task.of("My/own", documents, {"2": "beta", "1": "alpha", "9": "x"}, {"1": {"a": 3, "c": 0}, "2": {"b"}})
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "a", "title": "One", "text": "alpha"}\n{"_id": "b", "text": "beta"}\n{"_id": "c", "text": "gamma"}\n'
    )
    (tmp_path / "queries.tsv").write_text("id\ttext\n2\tbeta\n1\talpha\n9\tx\n")
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t3\n1\tc\t0\n2\tb\t1\n")
    read = load_task(tmp_path)
    assert task.content_hash == read.content_hash and task.queries.ids == read.queries.ids == ("2", "1")


@pytest.mark.parametrize(
    ("qrels", "found"),
    [({"q9": {"a": 1}}, "q9"), ({"q1": {"z": 1}}, "z"), ({"q1": {"a": 0.5}}, 0.5), ({}, None)],
)
def test_judgements_in_dictionaries_are_checked(qrels: Any, found: object) -> None:
    with pytest.raises(DataError) as caught:
        evaluate("bm25", Task.of("My/own", {"a": "alpha"}, {"q1": "alpha"}, qrels, missing_judgements="error"))
    assert caught.value.found == found


def test_the_page_on_data_shows_how(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- dictionaries: begin -->")[2].partition("<!-- dictionaries: end -->")[0]
    exec(shown.strip().removeprefix("```python").removesuffix("```"), {})
    assert "Mine/geography  1.0000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"corpus": Corpus(("b", "b", "a"), ("", "", ""))}, None),
        ({"corpus": Corpus(("a", "b", "c"), ("", "", ""))}, None),
        ({"corpus": Corpus((3, 2, 1), ("", "", ""))}, 3),
        ({"corpus": Corpus(("c", "b", "a"), ("", None, ""))}, None),
        ({"corpus": Corpus(("c", "b", "a"), ("", ""))}, "3 and 2"),
        ({"corpus": Corpus((), ())}, None),
        ({"queries": Queries(("q1", "q1"), ("alpha", "gamma"))}, "q1 twice"),
        ({"queries": Queries(("q1", "q2"), ("alpha",))}, "2 and 1"),
        ({"queries": Queries((), ())}, None),
        ({"qrels": Qrels.of([0, 1], [2, 7], [1, 1], queries=2)}, 7),
        ({"qrels": Qrels.of([0, 1], [2, -2], [1, 1], queries=2)}, -2),
        ({"qrels": Qrels.of([0, 1], [2, 1], [1, 1], queries=3)}, 3),
        ({"candidates": {"bm25": Ragged(np.array([0, 1, 2]), np.array([0, 9], np.int32))}}, 9),
    ],
)
def test_wrong_task_in_memory_is_an_error(parts: dict[str, Any], found: object) -> None:
    with pytest.raises(DataError) as caught:
        evaluate("bm25", own(**parts))
    assert (caught.value.where, caught.value.found) == ("My/own", found)


def test_misspelt_type_of_task() -> None:
    with pytest.raises(UnknownName) as caught:
        evaluate("bm25", own(info=TaskInfo("My/own", type="retreival")))
    assert (caught.value.name, caught.value.near) == ("retreival", ["retrieval"])


def pairs(first: Any = ("a", "b"), second: Any = ("c", "d"), gold: Any = (1.0, 2.0)) -> PairTask:
    return PairTask(TaskInfo("My/own", type="sts"), first, second, np.array(gold) if isinstance(gold, tuple) else gold)


@pytest.mark.parametrize(
    ("task", "found"),
    [
        (pairs(second=("c",)), "2 and 1 and 2"),
        (pairs(gold=(1.0, 2.0, 3.0)), "2 and 2 and 3"),
        (pairs(gold=(1.0, float("inf"))), float("inf")),
        (pairs(gold=[1.0, 2.0]), "list"),
        (pairs(first=("a", None)), None),
        (LabelTask(TaskInfo("My/own"), ("a", "b"), (0, 1), ("c", "d"), (0,)), "2 and 1"),
        (LabelTask(TaskInfo("My/own"), ("a",), (0, 1), ("c",), (0,)), "1 and 2"),
        (ClusterTask(TaskInfo("My/own"), (Problem(("a", "b"), ((0,),)),)), "2 and 1"),
    ],
)
def test_wrong_samples_in_memory_are_errors(task: Any, found: object) -> None:
    with pytest.raises(DataError) as caught:
        evaluate("bm25", task)
    assert (caught.value.where, caught.value.found) == ("My/own", found)


def test_names_of_wide_characters_do_not_shift_the_table() -> None:
    results = [Result("数据/任务", "bm25", {}, "1", metrics={"ndcg_at_10": 0.5})]
    results += [Result("A/en", "bm25", {}, "2", metrics={"ndcg_at_10": 0.25})]
    assert str(Results(results)).splitlines() == [
        "nDCG@10    bm25",
        "---------  -------",
        "数据/任务  0.5000",
        "A/en       0.2500",
        "mean       0.3750",
    ]


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (([0, 0], [2, 1], [1, 0.5]), 0.5),
        (([0, 0], [2, 1], [1, float("inf")]), float("inf")),
        (([0, 0], [2, 1], [1, 2**40]), 2**40),
        (([0, 0], [2, 2], [1, 2]), None),
        (([0, 5], [2, 1], [1, 1]), 5),
        (([0, -1], [2, 1], [1, 1]), -1),
        (([0, 0], [2, 1], [1]), "2 queries, 2 documents and 1 grades"),
    ],
)
def test_wrong_judgements_are_errors(columns: tuple[Any, Any, Any], found: object) -> None:
    with pytest.raises(DataError) as caught:
        Qrels.of(*columns, queries=2)
    assert caught.value.found == found


def test_judged_documents_outside_the_corpus_may_be_several() -> None:
    assert Qrels.of([0, 0], [-1, -1], [1, 1.0], queries=1).positives.tolist() == [2]


@pytest.mark.parametrize(
    ("rows", "scores", "found"),
    [
        ([[0, 1], [2]], [[2, 1], [1]], None),
        ([0, 1], [2, 1], "(2,) and (2,)"),
        ([[0, 1]], [[1]], "(1, 2) and (1, 1)"),
        ([[0.7, 1]], [[2, 1]], 0.7),
        ([[2**40, 1]], [[2, 1]], 2**40),
    ],
)
def test_wrong_lists_are_errors(rows: Any, scores: Any, found: object) -> None:
    with pytest.raises(ModelError) as caught:
        Run.of(rows, scores)
    assert caught.value.found == found


@dataclass
class Anything(Overlap):
    """A retriever whose index returns a fixed value."""

    given: Any = None

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Any:
        given = self.given
        return type("Index", (), {"size_bytes": 0, "notes": {}, "search": lambda self, queries, top_k: given})()


@pytest.mark.parametrize("given", [None, {"q1": {"d1": 0.5}}, ([[0]], [[1.0]])])
def test_index_that_returns_no_run_is_a_failure(given: Any) -> None:
    (result,) = evaluate(Anything(given=given), small_task())
    assert result.error is not None and result.error.type == "ModelError"
    assert type(given).__name__ in result.error.message


@pytest.mark.parametrize(
    ("bodies", "titles", "found"),
    [
        (["x"], None, "2 ids, 1 texts"),
        (["x", "y", "z"], None, "2 ids, 3 texts"),
        (["x", "y"], ["t"], "2 ids, 2 texts, 1 titles"),
    ],
)
def test_columns_of_a_corpus_must_be_of_one_length(bodies: list[str], titles: list[str] | None, found: str) -> None:
    with pytest.raises(DataError) as caught:
        Corpus.of(["a", "b"], bodies, titles)
    assert caught.value.found == found


def test_models_and_tasks_come_in_whatever_can_be_gone_through() -> None:
    names = ["Small/one", "Small/two"]
    results = evaluate(iter(["bm25", "bm25?k1=0.9"]), (small_task(name) for name in names))
    assert results.tasks == tuple(names) and results.models == ("bm25", "bm25?k1=0.9")
    with pytest.raises(UsageError):
        evaluate("bm25", [])


def test_leaving_a_querys_own_document_out_is_another_result(tmp_path: Path) -> None:
    """The data is the same, the figure is not: a stored result of one must not be taken for the other's."""
    queries = Queries(("c", "b"), ("gamma", "alpha"))
    task = own(
        queries=queries,
        corpus=Corpus(("c", "b", "a"), ("gamma", "gamma", "alpha")),
        qrels=Qrels.of([0, 1], [1, 2], [1, 1], queries=2),
    )
    without = replace(task, info=replace(task.info, ignore_identical_ids=True))
    (kept,) = evaluate("bm25", task, results=tmp_path)
    (left_out,) = evaluate("bm25", without, results=tmp_path)
    assert kept.key != left_out.key and kept.score is not None and kept.score < 1.0
    assert left_out.score == 1.0 and left_out.facts.ignore_identical_ids


@pytest.mark.parametrize("asked", [{"top_k": 10.0}, {"top_k": "10"}, {"limit": 2.5}, {"seed": "x"}])
def test_condition_that_is_not_a_whole_number_is_an_error(asked: dict[str, Any]) -> None:
    ((name, value),) = asked.items()
    with pytest.raises(UsageError) as caught:
        evaluate("bm25", small_task(), **asked)
    assert (caught.value.option, caught.value.found) == (name, value)


def test_metrics_are_one_or_many_and_nothing_else() -> None:
    (result,) = evaluate("bm25", small_task(), metrics=parse("nDCG@7"))
    assert "ndcg_at_7" in result.metrics
    for wrong in (None, [None], [7]):
        with pytest.raises(UsageError):
            evaluate("bm25", small_task(), metrics=wrong)  # type: ignore[arg-type]


def test_results_may_stand_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No shell is there to say where that is."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (result,) = evaluate("bm25", small_task(), results="~/results")
    assert result.path is not None and result.path.is_relative_to(tmp_path / "home" / "results")
    assert not (tmp_path / "~").exists()


def test_an_encoder_alone_is_searched_exactly() -> None:
    encoder = from_function(
        lambda texts: [[text.count(letter) + 0.1 for letter in "aeiou"] for text in texts], "vowels"
    )
    alone, behind = evaluate(encoder, small_task()), evaluate(DenseRetriever("dense:vowels", encoder), small_task())
    assert alone.models == ("dense:vowels",) and alone[0].key == behind[0].key and alone[0].score == behind[0].score
