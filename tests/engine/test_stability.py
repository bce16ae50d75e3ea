"""Stability of scores under other conditions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from steelyard.cli import main
from steelyard.engine.stability import _compared, stability
from steelyard.errors import UsageError
from steelyard.types import Task

TASK = Task.of(
    "Mine/animals",
    {"a": "the red fox", "b": "blue whales", "c": "rain in the north"},
    {"q1": "fox", "q2": "whale", "q3": "weather"},
    {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}},
    language="en",
)


def test_a_model_without_options_reports_why_a_condition_does_not_apply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    found = stability("dense", TASK, batch_sizes=[1], dtypes=["float16"], devices=[])
    by_name = {one.name: one for one in found.conditions}
    assert by_name["usual, again"].queries_changed == 0 and by_name["threads=1"].score is not None
    assert by_name["batch_size=1"].score is None and by_name["batch_size=1"].reason
    assert not found.unstable and found.sentences() and json.dumps(found.to_dict())
    assert not (tmp_path / "vectors").exists(), "nothing is stored, and nothing is read from a store"


def test_bm25_has_no_encoder_to_vary() -> None:
    found = stability("bm25", TASK, batch_sizes=[1], dtypes=[], devices=[])
    assert all(one.difference == 0.0 for one in found.conditions) and found.queries == 3


@pytest.mark.parametrize(
    ("change", "matters"),
    [
        (np.zeros(50), False),
        (np.r_[0.01, np.zeros(49)], False),
        (np.r_[-0.5, np.zeros(49)], True),
        (np.full(50, -0.001), True),
    ],
)
def test_what_could_change_a_decision(change: np.ndarray, matters: bool) -> None:
    """A difference of the margin matters, and so does a small one that all queries share."""
    usual = np.full(50, 0.5)
    found = _compared("x", usual, usual + change, 0.005)
    assert found.matters is matters
    assert found.queries_changed == np.count_nonzero(change)


def test_a_negative_margin_and_several_tasks_are_refused() -> None:
    with pytest.raises(UsageError):
        stability("bm25", TASK, margin=-1.0)
    with pytest.raises(UsageError):
        stability("bm25", "NanoAlmanac/e*")


def test_doctor_stability_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["doctor", "stability", "bm25", "-t", "NanoAlmanac/en", "--limit", "5", "--quiet"]
    assert main([*words, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["queries"] == 5 and data["unstable"] == []
    assert main([*words, "--batch-sizes", "none"]) == 2


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dtypes_of_a_transformer_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from torch_models import save_bert

    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    folder = save_bert(tmp_path / "model")
    found = stability(f"dense:{folder}", TASK, batch_sizes=[1], dtypes=["bfloat16", "float8"], threads=[], devices=[])
    by_name = {one.name: one for one in found.conditions}
    assert by_name["batch_size=1"].score is not None and by_name["dtype=bfloat16"].score is not None
    assert by_name["dtype=float8"].score is None and by_name["dtype=float8"].reason


def test_without_torch_there_is_no_other_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    found = stability("bm25", TASK, batch_sizes=[1], dtypes=[], threads=[1])
    assert found.to_dict()
