"""Names and results follow the weights: paths do not matter, weights do, and a stored rerun opens no model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from torch_models import save_bert

from steelyard import evaluate, load_results
from steelyard.cli import main
from steelyard.types import Task

DOCUMENTS = {"a": "red fox", "b": "blue whale", "c": "green frog"}


def task() -> Task:
    return Task.of("Weights/animals", DOCUMENTS, {"q": "a red fox", "r": "frog"}, {"q": {"a": 1}, "r": {"c": 1}})


def vectors(path: Path, seed: int) -> Path:
    texts = [*DOCUMENTS.values(), *task().queries.texts]
    np.savez(path, vectors=np.random.default_rng(seed).normal(size=(len(texts), 4)), texts=texts)
    return path


def test_a_relative_and_an_absolute_path_are_one_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = vectors(tmp_path / "v.npz", 0)
    first, second = (evaluate(f"dense:{name}", task(), results="r")[0] for name in ("v.npz", str(path)))
    assert first.model == second.model == "dense:v.npz" and first.key == second.key
    assert len(list(Path("r").glob("*/*/*.json"))) == 1
    (tmp_path / "other").mkdir()
    (moved,) = evaluate(f"dense:{shutil.copy(path, tmp_path / 'other' / 'v.npz')}", task(), results="r")
    assert moved.key == first.key, "a copy elsewhere has the same weights"


def test_old_and_new_weights_of_one_name_are_distinguished(tmp_path: Path) -> None:
    path = vectors(tmp_path / "v.npz", 0)
    evaluate(path, task(), results=tmp_path / "r")
    assert load_results(tmp_path / "r").models == ("dense:v.npz",)
    vectors(path, 1)
    (new,) = evaluate(path, task(), results=tmp_path / "r")
    assert new.model == "dense:v.npz", "alone, a name needs no hash"
    both = load_results(tmp_path / "r").models
    assert len(both) == 2 and all(name.startswith("dense:v.npz#") for name in both)
    (tmp_path / "other").mkdir()
    results = evaluate([path, vectors(tmp_path / "other" / "v.npz", 2)], task())
    assert len(set(results.models)) == 2 and all("#" in name for name in results.models)


PROGRAM = """
import json, sys
from steelyard import evaluate
from steelyard.cli import main
code = main(["run", sys.argv[1], "-t", "NanoAlmanac/en", "--limit", "3", "-o", sys.argv[2], "--no-report", "--json"])
print(json.dumps(["torch" in sys.modules, code]), file=sys.stderr)
"""


@pytest.mark.torch
@pytest.mark.slow
def test_a_stored_rerun_opens_no_model(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    from torch_models import save_bert

    folder = save_bert(tmp_path / "bert")
    outcomes, scores = [], []
    for model in (f"dense:{folder}", f"dense:{folder}", f"mine=dense:{folder}?device=cpu"):
        environment = os.environ | {"STEELYARD_HOME": str(tmp_path / "home")}
        command = [sys.executable, "-c", PROGRAM, model, str(tmp_path / "r")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        outcomes.append(json.loads(done.stderr.splitlines()[-1]))
        scores.append(json.loads(done.stdout)[0]["steelyard"]["key"])
    assert outcomes == [[True, 0], [False, 0], [False, 0]] and len(set(scores)) == 1
    shutil.rmtree(tmp_path / "r")
    command = [sys.executable, "-c", PROGRAM, f"dense:{folder}?precision=int8", str(tmp_path / "r")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stderr.splitlines()[-1]) == [False, 0], "stored vectors are enough for a variant"


@pytest.mark.torch
@pytest.mark.usefixtures("own_home")
def test_a_name_of_results_can_be_pasted_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = save_bert(tmp_path / "far" / "tiny")
    given = ["-t", "NanoAlmanac/en", "--limit", "3", "-o", str(tmp_path / "r"), "-q"]
    assert main(["run", f"dense:{folder}", *given, "--no-report"]) == 0
    assert main(["run", "dense:tiny", *given, "--no-report"]) == 2, "a folder is opened by its path"
    assert str(folder) in capsys.readouterr().err
    assert main(["compare", "dense:tiny", "bm25", *given]) == 0
    assert main(["run", "sparse:tiny", *given, "--no-report"]) == 2
    assert str(folder) in capsys.readouterr().err
    shutil.move(folder, tmp_path / "gone")
    assert main(["compare", "dense:tiny", "bm25", *given]) == 0, "its results are enough"
    assert main(["run", "dense:tiny", *given, "--no-report"]) == 2
