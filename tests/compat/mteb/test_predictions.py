"""Predictions of every type: those that mteb saves for the same vectors, key by key."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mteb
import mteb_parts
import pytest

from steelyard import evaluate
from steelyard.cli import main
from steelyard.compat.mteb import as_mteb_model, as_mteb_task
from steelyard.compat.mteb.predictions import write_all_predictions
from steelyard.types.samples import AnyTask


@pytest.mark.filterwarnings("ignore:.*lbfgs failed to converge")
@pytest.mark.filterwarnings("ignore:unknown class")
@pytest.mark.filterwarnings("ignore:The used Evaluator is deprecated")
@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
@pytest.mark.parametrize("task", mteb_parts.all_types(), ids=lambda task: task.info.task)
def test_every_type_has_the_predictions_of_mteb(task: AnyTask, tmp_path: Path) -> None:
    model = mteb_parts.lookup()
    results = evaluate(model, task, results=tmp_path / "results", save_runs="parquet")
    (path,) = write_all_predictions(results, tmp_path / "ours")
    theirs = as_mteb_task(task)
    mteb.evaluate(
        as_mteb_model(model),
        [theirs],
        cache=None,
        prediction_folder=tmp_path / "theirs",
        show_progress_bar=False,
        co2_tracker=False,
    )
    (other,) = (tmp_path / "theirs").iterdir()
    ours, expected = (json.loads(file.read_text()) for file in (path, other))
    (subset,) = set(expected) - {"mteb_model_meta"}
    split = task.info.split
    assert set(ours) == {"mteb_model_meta", "default"} and list(ours["default"]) == [split]
    assert_same(ours["default"][split], expected[subset][split])


def assert_same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs)
        for key, value in theirs.items():
            assert_same(ours[key], value)
    elif isinstance(theirs, list) and theirs and isinstance(theirs[0], float):
        assert ours == pytest.approx(theirs, abs=2e-5)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    else:
        assert ours == pytest.approx(theirs, abs=2e-5) if isinstance(theirs, float) else ours == theirs


def test_the_words_of_mteb_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "set").mkdir()
    for split in ("validation", "test"):
        (tmp_path / "set" / f"{split}.csv").write_text("sentence1,sentence2,score\na b,b c,1\nc d,d a,2\na a,a,3\n")
    command = ["run", "dense", "-t", f"{tmp_path}/set", "--task-types", "STS", "--eval-splits", "test", "--no-report"]
    command += ["--output-folder", str(tmp_path / "out"), "--prediction-folder", str(tmp_path / "predictions")]
    assert main([*command, "--overwrite-strategy", "only-cache", "--json"]) == 3, "nothing is stored yet"
    (failed,) = json.loads(capsys.readouterr().out)
    assert failed["steelyard"]["error"]["type"] == "MissingPart" and not list((tmp_path / "out").rglob("*.json"))
    assert main([*command, "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    facts = result["steelyard"]["facts"]
    assert (facts["type"], facts["split"]) == ("sts", "test")
    (file,) = (tmp_path / "predictions").iterdir()
    assert set(json.loads(file.read_text())["default"]["test"]) == {
        *("cosine_scores", "manhattan_distances", "euclidean_distances", "similarity_scores")
    }
    assert main([*command, "--overwrite-strategy", "only-cache", "--json"]) == 0


class Tracker:
    """The part of codecarbon's tracker that is used."""

    def __init__(self, **_: object) -> None:
        self.open: list[str] = []

    def start_task(self, name: str) -> None:
        self.open.append(name)

    def stop_task(self, name: str) -> SimpleNamespace:
        self.open.remove(name)
        return SimpleNamespace(emissions=0.25)


def test_emissions_are_in_the_files_of_mteb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "STEELYARD_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    if importlib.util.find_spec("codecarbon") is None:
        monkeypatch.setitem(sys.modules, "codecarbon", SimpleNamespace(EmissionsTracker=Tracker))
    command = ["run", "bm25", "-t", "NanoAlmanac/en", "NanoAlmanac/de", "--limit", "5", "--no-report"]
    command += ["--output-folder", str(tmp_path / "out"), "--mteb-files", str(tmp_path / "files"), "--co2-tracker"]
    assert main(command) == 0
    files = [path for path in (tmp_path / "files").rglob("*.json") if path.name != "model_meta.json"]
    assert len(files) == 2
    assert all(json.loads(path.read_text())["kg_co2_emissions"] > 0 for path in files)
    assert main([*command, "--offline"]) == 2


def test_without_codecarbon_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.config import Settings
    from steelyard.engine.timing import EmissionsMeter
    from steelyard.errors import MissingPart

    monkeypatch.setitem(sys.modules, "codecarbon", None)
    with pytest.raises(MissingPart) as caught:
        EmissionsMeter(Settings(offline=False))
    assert "codecarbon" in str(caught.value.hint)
