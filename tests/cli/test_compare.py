"""`steelyard compare`: forms of output, the gate's exit codes and files, bad input that writes nothing."""

from __future__ import annotations

import json
import xml.etree.ElementTree as Xml
from pathlib import Path

import numpy as np
import pytest

from steelyard.cli import main
from steelyard.results import QueryScores, Result, ResultStore, TaskFacts
from steelyard.results.keys import result_key
from steelyard.types import Float64

OLD = np.random.default_rng(5).uniform(0.3, 0.7, 60)


def folder(path: Path, model: str, **tasks: Float64) -> str:
    for name, values in tasks.items():
        facts = TaskFacts("en", queries=len(values), documents=5, data_hash=f"{len(values):032x}")
        scores = QueryScores(tuple(f"q{i}" for i in range(len(values))), None, {"ndcg_at_10": values})
        key = result_key({}, f"T/{name}", facts)
        metrics = {"ndcg_at_10": float(np.nan_to_num(values.mean()))}
        ResultStore(path).put(Result(f"T/{name}", model, {}, key, metrics=metrics, facts=facts, queries=scores))
    return str(path)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    generator = np.random.default_rng(6)
    worse = OLD - 0.1 + generator.normal(0, 0.05, 60)
    return (
        folder(tmp_path / "old", "before", a=OLD, b=OLD),
        folder(tmp_path / "new", "after", a=worse, b=OLD + generator.normal(0, 0.05, 60)),
    )


def test_table_sentence_and_exit_code(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *pair]) == 0
    out = capsys.readouterr().out
    assert "T/a" in out and "mean of 2 tasks" in out and "after is worse than before" in out


def test_every_form_is_from_the_same_data(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *pair, "--json", "-q"]) == 0
    data = json.loads(capsys.readouterr().out)
    shown = f"{data['overall']['differences'][0]['difference']:+.4f}"
    assert data["overall"]["differences"][0]["verdict"] == "worse"
    for form in ("--markdown", "--latex"):
        assert main(["compare", *pair, form, "-q"]) == 0
        assert shown in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["compare", *pair, "-q", "--html", str(page)]) == 0
    assert shown in page.read_text(encoding="utf-8") and page.read_text(encoding="utf-8").count("<svg") >= 2


def test_gate_fails_with_one_line_a_junit_file_and_annotations(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    report = tmp_path / "gate.xml"
    assert main(["compare", *pair, "--fail-if-worse", "--per-task", "--junit", str(report), "-q"]) == 1
    err = capsys.readouterr().err.splitlines()
    assert sum(line.startswith("gate failed: ") for line in err) == 1
    assert [line for line in err if line.startswith("::error title=Regression on T/a::")]
    suite = Xml.parse(report).getroot().find("testsuite")
    assert suite is not None and suite.get("failures") == "2"
    assert main(["compare", pair[1], pair[0], "--fail-if-worse", "-q"]) == 0


def test_gate_as_json(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *pair, "--fail-if-worse", "--margin", "0.2", "--json"]) == 0
    gate = json.loads(capsys.readouterr().out)["gate"]
    assert gate["failed"] is False and gate["margin"] == 0.2


def test_baseline_is_stored_and_read(pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "baseline.json"
    missing = main(["compare", pair[1], "--baseline", str(file), "--fail-if-worse"])
    assert missing == 3 and "--update-baseline" in capsys.readouterr().err and not file.exists()
    assert main(["compare", pair[0], "--baseline", str(file), "--update-baseline", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"] == ["T/a", "T/b"] and file.stat().st_size < 5000
    assert main(["compare", pair[1], "--baseline", str(file), "--fail-if-worse", "-q"]) == 1
    assert main(["compare", pair[0], "--baseline", str(file), "--fail-if-worse", "-q"]) == 0


def test_a_named_model_is_evaluated_on_the_tasks_of_the_baseline(tmp_path: Path) -> None:
    file, results = str(tmp_path / "baseline.json"), str(tmp_path / "results")
    start = ["compare", "bm25", "-t", "NanoAlmanac/en", "--limit", "20", "-o", results]
    assert main([*start, "--baseline", file, "--update-baseline", "-q"]) == 0
    again = ["compare", "bm25?k1=1.3", "--baseline", file, "--limit", "20", "-o", results, "--fail-if-worse", "-q"]
    assert main(again) == 0
    assert main([*again[:4], "-o", results, "--fail-if-worse", "-q"]) == 2  # all queries against a sample: refused


@pytest.mark.parametrize(
    ("tasks", "other"),
    [
        ({"a": OLD[:1]}, {"a": OLD[:1] - 0.1}),
        ({"a": np.ones(9)}, {"a": np.ones(9)}),
        ({"a": OLD}, {"a": np.where(np.arange(60) == 3, np.nan, OLD)}),
        ({"a": OLD}, {"b": OLD}),
        ({"a": OLD}, {"a": OLD[:50]}),
    ],
    ids=["one query", "constant", "NaN", "no common task", "other queries"],
)
def test_bad_results_exit_2_with_one_error_and_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tasks: dict[str, Float64], other: dict[str, Float64]
) -> None:
    first, second = folder(tmp_path / "x", "one", **tasks), folder(tmp_path / "y", "two", **other)
    files = ["--html", str(tmp_path / "p.html"), "--junit", str(tmp_path / "j.xml")]
    assert main(["compare", first, second, "--fail-if-worse", *files]) == 2
    err = capsys.readouterr().err
    assert err.count("steelyard: ") == 1 and "hint: " in err
    assert not (tmp_path / "p.html").exists() and not (tmp_path / "j.xml").exists()


def test_a_corrupt_baseline_exits_2_and_writes_nothing(pair: tuple[str, str], tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    assert main(["compare", pair[0], "--baseline", str(file), "--update-baseline", "-q"]) == 0
    damaged = file.read_text().replace('"queries": 60', '"queries": 61')
    file.write_text(damaged)
    page = tmp_path / "page.html"
    assert main(["compare", pair[1], "--baseline", str(file), "--html", str(page)]) == 2
    assert not page.exists() and file.read_text() == damaged


@pytest.mark.parametrize(
    "words",
    [
        ["--margin", "0.1"],
        ["--junit", "x.xml"],
        ["--per-task"],
        ["--queries", "-1"],
        ["--update-baseline"],
        ["--json", "--latex"],
        ["--slices", "colour"],
        ["--alpha", "2"],
        ["--metric", "ndgc@10"],
    ],
)
def test_options_that_make_no_sense_are_usage_errors(pair: tuple[str, str], words: list[str]) -> None:
    assert main(["compare", *pair, "-q", *words]) == 2


def test_stored_refuses_with_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "bm25", "dense", "-t", "NanoAlmanac/en", "--stored", "-o", str(tmp_path)]) == 3
    assert "steelyard run " in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_changed_queries_and_slices_on_the_console(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bm25", "dense", "-t", "NanoAlmanac/en", "--limit", "30", "-o", str(tmp_path), "-q"]
    assert main(["compare", *words, "--queries", "3", "--slices", "overlap,length"]) == 0
    out = capsys.readouterr().out
    assert "Queries that changed most" in out and "too few queries" in out and "→" in out
