"""Exports are read back by those they are meant for; diffs list what differs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml
from result_files import mteb_result, write_json, write_repository

from steelyard.cli import main
from steelyard.errors import DataError, UnknownName
from steelyard.warehouse import import_results, query
from steelyard.warehouse.catalogue import catalogue, from_mteb, main_metric, packed
from steelyard.warehouse.diff import diff_results
from steelyard.warehouse.export import Selection, export


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    import_results([write_repository(tmp_path)], tmp_path / "w")
    return tmp_path / "w"


def test_mteb_reads_the_exported_files(warehouse: Path, tmp_path: Path) -> None:
    import mteb

    written = export(warehouse, "mteb", tmp_path / "out", Selection(models=("BAAI/bge-small",)))
    path = tmp_path / "out" / "BAAI__bge-small" / "r1" / "STSB.json"
    assert path in written
    assert mteb.results.TaskResult.from_disk(path).get_score(splits=["test"]) == 0.5
    assert (tmp_path / "out" / "BAAI__bge-small" / "r1" / "experiments" / "dim_4" / "STSB.json") in written


def test_an_export_in_mtebs_layout_imports_to_the_same_scores(warehouse: Path, tmp_path: Path) -> None:
    export(warehouse, "mteb", tmp_path / "out")
    import_results([tmp_path / "out"], tmp_path / "again")
    sql = "SELECT model, revision, experiment, task, split, subset, main_score FROM scores ORDER BY ALL"
    assert query(tmp_path / "again", sql).to_pylist() == query(warehouse, sql).to_pylist()


def test_tables_have_a_row_per_model_and_no_mean_over_missing_tasks(warehouse: Path, tmp_path: Path) -> None:
    (path,) = export(warehouse, "csv", tmp_path / "t.csv")
    with path.open(newline="") as file:
        assert {row["model"] for row in csv.DictReader(file)} == {"BAAI/bge-small", "org/encoder"}
    (path,) = export(warehouse, "markdown", tmp_path / "t.md", Selection(benchmark="MTEB(cmn, v1)"))
    header, _, *body = path.read_text().splitlines()
    assert header == "| model | mean | AFQMC | LCQMC | STSB |"
    assert "| BAAI/bge-small |  |  | 70.00 | 50.00 |" in body
    (path,) = export(warehouse, "latex", tmp_path / "t.tex", Selection(tasks=("STSB",)))
    assert r"BAAI/bge-small & 50.00 & \textbf{50.00} \\" in path.read_text()


def test_hub_metadata_is_yaml(warehouse: Path, tmp_path: Path) -> None:
    (path, *_) = export(warehouse, "eval-results", tmp_path / "e", Selection(tasks=("STSB",)))
    (entry,) = yaml.safe_load(path.read_text())
    assert entry["dataset"]["task_id"] == "STSB"
    assert entry["value"] == 50.0
    (path, *_) = export(warehouse, "model-index", tmp_path / "i", Selection(tasks=("STSB",)))
    card = yaml.safe_load(path.read_text().split("---")[1])
    assert card["model-index"][0]["results"][0]["metrics"] == [{"type": "main_score", "value": 50.0}]


def test_unknown_formats_benchmarks_and_empty_selections_are_errors(warehouse: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName):
        export(warehouse, "xlsx", tmp_path / "x")
    with pytest.raises(UnknownName) as caught:
        export(warehouse, "csv", tmp_path / "x", Selection(benchmark="MTEB(cmn, v2)"))
    assert "MTEB(cmn, v1)" in caught.value.near
    with pytest.raises(DataError):
        export(warehouse, "csv", tmp_path / "x", Selection(models=("nobody",)))
    assert not (tmp_path / "x").exists()


def test_a_diff_lists_what_differs_and_what_one_side_lacks(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours" / "m" / "r", tmp_path / "theirs" / "m" / "r"
    write_json(ours / "STSB.json", mteb_result("STSB", 0.5))
    write_json(ours / "LCQMC.json", mteb_result("LCQMC", 0.5))
    write_json(theirs / "STSB.json", mteb_result("STSB", 0.50002, pearson=0.25))
    write_json(theirs / "ATEC.json", mteb_result("ATEC", 0.5))
    result = diff_results(ours, theirs, tolerance=1e-5)
    assert [(d.split, d.metric, d.ours, d.theirs) for d in result.differences if d.split == "test"] == [
        ("test", "cosine_spearman", 0.5, 0.50002),
        ("test", "main_score", 0.5, 0.50002),
        ("test", "pearson", None, 0.25),
    ]
    assert {place[0] for place in result.only_ours} == {"LCQMC"}
    assert {place[0] for place in result.only_theirs} == {"ATEC"}
    assert not diff_results(ours, theirs, tolerance=1e-3).main_scores()


def test_a_diff_of_several_models_needs_a_choice(tmp_path: Path) -> None:
    for model in ("a", "b"):
        write_json(tmp_path / model / "r" / "STSB.json", mteb_result())
    with pytest.raises(DataError):
        diff_results(tmp_path, tmp_path)
    assert diff_results(tmp_path, tmp_path, model="a").equal > 0


def test_the_verb_imports_queries_exports_and_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, warehouse = write_repository(tmp_path), str(tmp_path / "w")
    assert main(["results", "import", str(results), "--warehouse", warehouse]) == 0
    assert "broken.json" in capsys.readouterr().err
    sql = "SELECT task, score FROM mart_model_task WHERE task = 'LCQMC'"
    assert main(["results", "query", sql, "--warehouse", warehouse, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"task": "LCQMC", "score": 0.7}]
    assert main(["results", "query", sql, "--warehouse", warehouse, "--csv"]) == 0
    assert capsys.readouterr().out.split() == ["task,score", "LCQMC,0.7"]
    assert main(["results", "export", "csv", "-o", str(tmp_path / "x.csv"), "--warehouse", warehouse]) == 0
    one, other = results / "BAAI__bge-small" / "r1", tmp_path / "other" / "bge" / "r"
    write_json(other / "STSB.json", mteb_result("STSB", 0.25))
    capsys.readouterr()
    assert main(["results", "diff", str(one), str(other), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["differences"]
    assert main(["results", "diff", str(one), str(tmp_path / "none")]) == 2


def test_the_catalogue_is_that_of_the_installed_mteb() -> None:
    assert packed(catalogue()) == packed(from_mteb())
    assert main_metric("STSB") == "cosine_spearman"
