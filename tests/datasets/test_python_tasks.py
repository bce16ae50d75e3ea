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
    ("qrels", "said"),
    [
        ({"q9": {"a": 1}}, "My/own: judgements of 'q9', which is no query"),
        ({"q1": {"z": 1}}, "My/own: 'z', judged for 'q1', is not in the corpus"),
        ({"q1": {"a": 0.5}}, "the grade 0.5"),
        ({}, "My/own: 0 queries and 1 documents"),
    ],
)
def test_judgements_in_dictionaries_are_checked(qrels: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        evaluate("bm25", Task.of("My/own", {"a": "alpha"}, {"q1": "alpha"}, qrels))


def test_the_page_on_data_shows_how(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- dictionaries: begin -->")[2].partition("<!-- dictionaries: end -->")[0]
    exec(shown.strip().removeprefix("```python").removesuffix("```"), {})
    assert "Mine/geography  1.0000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"corpus": Corpus(("b", "b", "a"), ("", "", ""))}, "not unique and in descending order"),
        ({"corpus": Corpus(("a", "b", "c"), ("", "", ""))}, "not unique and in descending order"),
        ({"corpus": Corpus((3, 2, 1), ("", "", ""))}, "3 at document row 0, where text was expected"),
        ({"corpus": Corpus(("c", "b", "a"), ("", None, ""))}, "None at document row 1"),
        ({"corpus": Corpus(("c", "b", "a"), ("", ""))}, "3 and 2 values in the columns of a document"),
        ({"corpus": Corpus((), ())}, "2 queries and 0 documents"),
        ({"queries": Queries(("q1", "q1"), ("alpha", "gamma"))}, "two queries have the id 'q1'"),
        ({"queries": Queries(("q1", "q2"), ("alpha",))}, "2 and 1 values in the columns of a query"),
        ({"queries": Queries((), ())}, "0 queries and 3 documents"),
        ({"qrels": Qrels.of([0, 1], [2, 7], [1, 1], queries=2)}, "judgements of a document row 7, in a corpus of 3"),
        ({"qrels": Qrels.of([0, 1], [2, -2], [1, 1], queries=2)}, "judgements of a document row -2"),
        ({"qrels": Qrels.of([0, 1], [2, 1], [1, 1], queries=3)}, "judgements of 3 queries, and 2 queries"),
        ({"candidates": {"bm25": Ragged(np.array([0, 1, 2]), np.array([0, 9], np.int32))}}, "bm25 of a document row 9"),
    ],
)
def test_what_is_wrong_with_a_task_in_memory_is_said(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=f"My/own: .*{said}"):
        evaluate("bm25", own(**parts))


def test_a_type_of_task_that_is_misspelt_is_said() -> None:
    with pytest.raises(UnknownName, match=r"'retreival'.*'retrieval'"):
        evaluate("bm25", own(info=TaskInfo("My/own", type="retreival")))


def pairs(first: Any = ("a", "b"), second: Any = ("c", "d"), gold: Any = (1.0, 2.0)) -> PairTask:
    return PairTask(TaskInfo("My/own", type="sts"), first, second, np.array(gold) if isinstance(gold, tuple) else gold)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (pairs(second=("c",)), "2 and 1 and 2 values in the columns of a pair"),
        (pairs(gold=(1.0, 2.0, 3.0)), "2 and 2 and 3 values in the columns of a pair"),
        (pairs(gold=(1.0, float("nan"))), "the gold value nan at pair row 1"),
        (pairs(gold=[1.0, 2.0]), "gold values in a list"),
        (pairs(first=("a", None)), "None at pair row 1, where text was expected"),
        (
            LabelTask(TaskInfo("My/own"), ("a", "b"), (0, 1), ("c", "d"), (0,)),
            "2 and 1 values in the columns of a text",
        ),
        (
            LabelTask(TaskInfo("My/own"), ("a",), (0, 1), ("c",), (0,)),
            "1 and 2 values in the columns of a training text",
        ),
        (ClusterTask(TaskInfo("My/own"), (Problem(("a", "b"), ((0,),)),)), "2 and 1 values in the columns of a text"),
    ],
)
def test_what_is_wrong_with_samples_in_memory_is_said(task: Any, said: str) -> None:
    with pytest.raises(DataError, match=f"My/own: .*{said}"):
        evaluate("bm25", task)


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
    ("columns", "said"),
    [
        (([0, 0], [2, 1], [1, 0.5]), "the grade 0.5"),
        (([0, 0], [2, 1], [1, float("nan")]), "the grade nan"),
        (([0, 0], [2, 1], [1, 2**40]), r"the grade 1.09951e\+12"),
        (([0, 0], [2, 2], [1, 2]), "two judgements of query row 0 and document row 2"),
        (([0, 5], [2, 1], [1, 1]), "a judgement of query row 5, where there are 2"),
        (([0, -1], [2, 1], [1, 1]), "a judgement of query row -1, where there are 2"),
        (([0, 0], [2, 1], [1]), "2 queries, 2 documents and 1 grades"),
    ],
)
def test_judgements_that_would_change_a_figure_unseen_are_said(columns: tuple[Any, Any, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        Qrels.of(*columns, queries=2)


def test_judged_documents_outside_the_corpus_may_be_several() -> None:
    assert Qrels.of([0, 0], [-1, -1], [1, 1.0], queries=1).positives.tolist() == [2]


@pytest.mark.parametrize(
    ("rows", "scores", "said"),
    [
        ([[0, 1], [2]], [[2, 1], [1]], "differ in length .fill them up with rows of -1"),
        ([0, 1], [2, 1], r"rows of shape \(2,\)"),
        ([[0, 1]], [[1]], r"rows of shape \(1, 2\) and scores of shape \(1, 1\)"),
        ([[0.7, 1]], [[2, 1]], "a document row of 0.7"),
        ([[2**40, 1]], [[2, 1]], "a document row of 1099511627776"),
    ],
)
def test_lists_that_would_become_other_documents_are_said(rows: Any, scores: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        Run.of(rows, scores)


@dataclass
class Anything(Overlap):
    """A retriever whose index gives whatever it was told to."""

    given: Any = None

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Any:
        given = self.given
        return type("Index", (), {"size_bytes": 0, "notes": {}, "search": lambda self, queries, top_k: given})()


@pytest.mark.parametrize("given", [None, {"q1": {"d1": 0.5}}, ([[0]], [[1.0]])])
def test_what_is_no_run_is_said_with_the_promise(given: Any) -> None:
    (result,) = evaluate(Anything(given=given), small_task())
    assert result.error is not None and result.error.type == "ModelError"
    assert f"gave a {type(given).__name__} where a Run was expected" in result.error.message


@pytest.mark.parametrize(
    ("bodies", "titles", "said"),
    [
        (["x"], None, "2 ids, 1 texts"),
        (["x", "y", "z"], None, "2 ids, 3 texts"),
        (["x", "y"], ["t"], "2 texts, 1 titles"),
    ],
)
def test_columns_of_a_corpus_must_be_of_one_length(bodies: list[str], titles: list[str] | None, said: str) -> None:
    with pytest.raises(DataError, match=said):
        Corpus.of(["a", "b"], bodies, titles)


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
def test_a_condition_that_is_no_whole_number_is_said_before_anything_is_done(asked: dict[str, Any]) -> None:
    ((name, value),) = asked.items()
    with pytest.raises(UsageError, match=f"{name} is {value!r}, where a whole number was expected"):
        evaluate("bm25", small_task(), **asked)


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
