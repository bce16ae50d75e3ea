"""`steelyard list` and `steelyard show`, as typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from engine_parts import small_task

from steelyard.cli import main
from steelyard.datasets import builtin, load_task, write_nano_set
from steelyard.datasets.sources import SOURCES
from steelyard.errors import SteelyardError, UnknownName
from steelyard.results import Result, ResultStore


@pytest.fixture
def data(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command with --json and gives its exit code and what it printed."""

    def run(*words: str) -> tuple[int, Any]:
        code = main([*words, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STEELYARD_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))


def write_rivers(folder: Path, qrels: str = "1\ta\t1\n") -> str:
    (folder / "corpus.jsonl").write_text('{"_id": "a", "text": "The Nile."}\n{"_id": "b", "text": "The Rhine."}\n')
    (folder / "queries.jsonl").write_text('{"_id": "1", "text": "Which river?"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + qrels)
    return str(folder)


def test_list_tasks_filters(data: Any) -> None:
    code, rows = data("list", "tasks", "-l", "zh", "--type", "retrieval")
    names = {row["task"] for row in rows}
    assert code == 0 and {"C-MTEB/T2Retrieval", "NanoCMTEB/medical"} <= names
    assert "C-MTEB/T2Reranking" not in names and "NanoBEIR-en/NanoNQ" not in names
    assert all(row["language"] == "zh" or "zh" in row["languages"] for row in rows)
    _, code_rows = data("list", "--category", "code", "--group", "NanoCoIR")
    assert len(code_rows) == 10 and all(row["published_bm25_ndcg_at_10"] is not None for row in code_rows)


def test_languages_may_stand_apart_or_with_commas_and_the_list_after_them(data: Any) -> None:
    _, rows = data("list", "tasks", "-l", "zh", "--group", "NanoAlmanac")
    several = [
        data("list", "tasks", "--group", "NanoAlmanac", *words)[1] for words in (["-l", "zh", "ja"], ["-l", "zh,ja"])
    ]
    assert several[0] == several[1] and len(several[0]) > len(rows) > 0
    assert data("list", "--group", "NanoAlmanac", "-l", "zh", "groups")[1][0]["group"] == "NanoAlmanac"


def test_list_tasks_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "tasks", "--group", "NanoMMTEB-v2"]) == 0
    said = capsys.readouterr()
    assert "NanoMMTEB-v2/belebele" in said.out and "0.0903" in said.out and "18 tasks" in said.err


def test_builtin_tasks_are_counted_once_they_are_cut(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _, before = data("list", "tasks", "--group", "NanoAlmanac")
    assert {row["queries"] for row in before} == {None}
    assert main(["list", "tasks", "--group", "NanoAlmanac"]) == 0
    assert "sizes of a built-in set" in capsys.readouterr().err
    task = load_task("NanoAlmanac/en")
    _, after = data("list", "tasks", "--group", "NanoAlmanac")
    (row,) = [row for row in after if row["task"] == "NanoAlmanac/en"]
    assert (row["queries"], row["documents"]) == (len(task.queries), len(task.corpus))
    _, (group,) = data("list", "groups", "--group", "NanoAlmanac")
    assert group["queries"] == sum(row["queries"] for row in after)


def test_list_groups_models_metrics(data: Any) -> None:
    _, groups = data("list", "groups")
    assert {"C-MTEB": 31, "MNanoBEIR": 169}.items() <= {g["group"]: g["tasks"] for g in groups}.items()
    assert len([group for group in groups if not group["builtin"]]) == 40
    _, models = data("list", "models")
    assert {"bm25", "dense"} <= {row["family"] for row in models}
    _, metrics = data("list", "metrics")
    assert {"ndcg", "map", "recall"} <= {row["metric"] for row in metrics} and all(row["formula"] for row in metrics)


def test_show_a_published_task_without_fetching(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    code, facts = data("show", "NanoMMTEB-v2/belebele")
    assert code == 0 and facts["counts"]["queries"] == 376
    assert facts["reference"]["dense_ndcg_at_10"] == pytest.approx(0.2781, abs=1e-4)
    assert "profile" not in facts
    assert main(["show", "NanoMMTEB-v2/belebele"]) == 0
    said = capsys.readouterr()
    assert "0.2781" in said.out and "--load" in said.err


def test_show_a_built_in_task_with_its_profile(data: Any) -> None:
    name = next(name for name in builtin.names() if name.startswith("NanoAlmanac/"))
    code, facts = data("show", name)
    assert code == 0 and len(facts["profile"]["examples"]) == 3
    assert facts["profile"]["positives_per_query"]["min"] >= 1


def test_show_a_group(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _, group = data("show", "NanoCMTEB")
    assert len(group["tasks"]) == 8
    assert main(["show", "NanoCMTEB"]) == 0
    assert "total of 8" in capsys.readouterr().out


def test_show_a_metric_and_a_model(data: Any) -> None:
    _, (metric,) = data("show", "ndcg_cut_10")
    assert metric["metric"] == "ndcg_at_10" and metric["trec_eval"] == "ndcg_cut_10"
    _, model = data("show", "bm25?k1=0.9")
    assert model["settings"]["k1"] == 0.9


def test_show_own_data(data: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (task,) = data("show", write_rivers(tmp_path))
    assert code == 0 and task["good"] and task["problems"] == []
    assert task["profile"]["documents"]["count"] == 2 and task["profile"]["examples"][0]["document"] == "The Nile."
    assert main(["show", str(tmp_path)]) == 0
    assert "no problems" in capsys.readouterr().out


def test_show_tells_every_fault_of_own_data(data: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_rivers(tmp_path, "1\ta\t1\n1\tgone\t1\n2\tb\t1\n1\tb\t0.5\n")
    code, (task,) = data("show", folder)
    assert code == 2 and not task["good"]
    told = {problem["kind"]: problem for problem in task["problems"]}
    assert {kind: problem["rows"] for kind, problem in told.items()} == {
        "outside-document": [2],
        "unknown-query": [3],
        "fractional-grade": [4],
    }
    assert all(problem["file"] == "qrels.tsv" and problem["remedy"] for problem in told.values())
    assert main(["show", folder]) == 2
    said = capsys.readouterr().out
    assert (
        "2 errors" in said
        and "1 warning" in said
        and "qrels.tsv row 2: 'gone' is not in the corpus" in said
        and "->" in said
    )


def test_results_are_listed_and_opened(data: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ResultStore(tmp_path / "results")
    store.put(Result("NanoMMTEB-v2/belebele", "bm25", {}, "abc123", metrics={"ndcg_at_10": 0.09}))
    assert main(["list", "results"]) == 0 and "1 result; `steelyard show KEY`" in capsys.readouterr().err
    assert main(["list", "results", "-o", "elsewhere"]) == 0 and "no results in elsewhere" in capsys.readouterr().err
    assert main(["list", "tasks", "-l", "chinese"]) == 0 and "codes such as zh" in capsys.readouterr().err
    _, rows = data("list", "results")
    assert [(row["task"], row["model"], row["score"]) for row in rows] == [("NanoMMTEB-v2/belebele", "bm25", 0.09)]
    assert data("list", "results", "-o", str(tmp_path / "results")) == (0, rows)
    for refused in (("--category", "code"), ("--type", "sts"), ("-l", "zh"), ("--group", "NanoCMTEB")):
        assert data("list", "results", *refused) == (0, [])
    _, facts = data("show", "NanoMMTEB-v2/belebele")
    assert facts["results"][0]["score"] == 0.09
    assert main(["show", "abc123"]) == 0
    assert "belebele" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["list", "tasks", "--group", "NanoMMTEB-v2"],
        ["show", "NanoMMTEB-v2"],
        ["show", "NanoMMTEB-v2/belebele"],
        ["show", "bm25"],
        ["show", "ndcg"],
    ],
    ids=" ".join,
)
def test_quiet_leaves_what_was_asked_for(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    loud = capsys.readouterr()
    assert main([*words, "-q"]) == 0
    quiet = capsys.readouterr()
    assert quiet.out == loud.out != "" and quiet.err == ""


def test_an_unknown_group_is_no_unknown_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "tasks", "--group", "nanommteb-v2"]) == 2
    assert main(["list", "groups", "--group", "nosuch"]) == 2
    said = capsys.readouterr().err
    assert "unknown group 'nanommteb-v2'" in said and "did you mean 'NanoMMTEB-v2'" in said
    assert "unknown group 'nosuch'" in said and "steelyard list groups" in said


def test_unknown_names_and_paths(error_of: Callable[..., SteelyardError]) -> None:
    task = error_of("show", "NanoMMTEB-v2/belebel")
    assert isinstance(task, UnknownName) and "NanoMMTEB-v2/belebele" in task.near
    assert "NanoBEIR-en/NanoNFCorpus" in str(error_of("show", "nfcorpus").hint)
    assert error_of("show", "./nowhere").exit_code == 2
    group = error_of("list", "tasks", "--group", "NanoMIRACLE")
    assert isinstance(group, UnknownName) and "NanoMIRACL" in group.near
    assert error_of("list", "metrics", "-l", "zh").option == "-l"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("task", "NanoMMTEB-v2/belebele"),
        ("group", "NanoCMTEB"),
        ("model", "bm25"),
        ("metric", "ndcg_cut_10"),
    ],
)
def test_a_kind_may_be_named(data: Any, kind: str, name: str) -> None:
    assert data("show", kind, name) == data("show", name) == data("show", "any", name)


def test_a_path_may_be_named_as_data(data: Any, tmp_path: Path) -> None:
    assert data("show", "data", write_rivers(tmp_path)) == data("show", str(tmp_path))


def test_a_result_may_be_named(data: Any, tmp_path: Path, error_of: Callable[..., SteelyardError]) -> None:
    store = ResultStore(tmp_path / "results")
    store.put(Result("NanoMMTEB-v2/belebele", "bm25", {}, "abc123", metrics={"ndcg_at_10": 0.09}))
    assert data("show", "result", "abc") == data("show", "abc123")
    assert isinstance(error_of("show", "result", "nosuch"), UnknownName)


def test_names_with_control_characters_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ResultStore(tmp_path / "results")
    store.put(Result("T/\x1b[31mred\x07", "bm25", {}, "abc123", metrics={"ndcg_at_10": 0.09}))
    for words in (["list", "results"], ["show", "abc123"], ["show", "\x1b[31mred"]):
        main(words)
        out, err = capsys.readouterr()
        assert not set("\x1b\x07\x9b") & set(out + err), words
    assert main(["list", "results", "--json"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out and json.loads(out)[0]["task"] == "T/\x1b[31mred\x07", "JSON keeps the name, escaped"


def test_show_several_tasks_by_a_list_or_a_pattern(data: Any) -> None:
    names = ["NanoMMTEB-v2/belebele", "NanoAlmanac/en"]
    assert [row["task"] for row in data("show", ",".join(names))[1]["tasks"]] == names
    assert len(data("show", "NanoMMTEB-v2/*")[1]["tasks"]) == len(data("show", "NanoMMTEB-v2")[1]["tasks"])
    assert data("show", "NanoMMTEB-v2/bel*")[1]["name"] == names[0]


def test_show_a_task_of_a_plug_in(data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "class Shelf:\n    def __init__(self, options): pass\n    def accepts(self, name): return name == 'shelf:one'\n"
    )
    code += "    def names(self, name): return [name]\n    def load(self, name):\n"
    code += "        from steelyard.datasets import load_task\n        return load_task('NanoAlmanac/en')\n"
    (tmp_path / "shown_shelf.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("shown", "shown_shelf:Shelf", "steelyard.sources")
    monkeypatch.setattr(SOURCES, "_plugins", {"shown": point})
    assert data("show", "shelf:one")[1]["name"] == "NanoAlmanac/en"


def test_a_set_of_many_tasks_is_checked_in_part_unless_all_are_requested(
    data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("steelyard.cli.show.data.MAX_TASKS", 3)
    names = [f"NanoMany/t{number}" for number in range(5)]
    folder = str(write_nano_set(tmp_path / "NanoMany", [small_task(name) for name in names]))
    _, first = data("show", folder)
    assert [task["name"] for task in first] == names[:3]
    assert main(["show", folder]) == 0 and "2 more tasks" in capsys.readouterr().err
    _, every = data("show", folder, "--all")
    assert [task["name"] for task in every] == names
    assert main(["show", "data", folder, "--all"]) == 0 and "more tasks" not in capsys.readouterr().err


def test_a_group_has_focus_best_profile_and_totals(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The totals and best profiles are those of the published page of the group."""
    _, shown = data("show", "NanoMMTEB-v2")
    totals = shown["totals"]
    assert (totals["tasks"], totals["queries"], totals["documents"], totals["positives"]) == (18, 3248, 116_569, 9408)
    assert round(totals["positives_per_query"], 2) == 2.90
    assert totals["languages"] == ["da", "en", "multilingual", "zh"] and totals["categories"] == ["natural_language"]
    assert totals["best_profiles"] == {"BM25": 3, "Dense": 12, "Reranking hybrid": 3}
    best = {row["task"].rpartition("/")[2]: row["best_profile"] for row in shown["tasks"]}
    assert (best["belebele"], best["covid"], best["spart_qa"]) == ("Dense", "BM25", "Reranking hybrid")
    assert all(row["retrieval_focus"] for row in shown["tasks"])
    assert main(["show", "NanoMMTEB-v2"]) == 0
    table = capsys.readouterr().out
    assert "legal scenario to statute" in table and "116,569" in table and "Reranking hybrid" in table


def test_the_references_of_a_task_are_shown(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _, task = data("show", "NanoMMTEB-v2/belebele")
    assert [one["year"] for one in task["references"]] == [2024, 2025, 2024]
    assert task["evaluation_split_origin"] == "test" and task["original_train_split"] == "available"
    assert main(["show", "NanoMMTEB-v2/belebele"]) == 0
    assert "https://arxiv.org/abs/2308.16884" in capsys.readouterr().out
