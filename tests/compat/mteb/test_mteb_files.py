"""Result files as mteb 1.14.15 and 2.26.24 wrote them for the same vectors: parity/mteb/files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from task_parts import ROW_OF, VECTORS, VERSIONS, sample_tasks

from steelyard.compat.mteb.mteb_files import MtebFolder
from steelyard.compat.mteb.mteb_names import MtebModel
from steelyard.encoders.backends.function import from_function
from steelyard.engine import evaluate
from steelyard.engine.plan import Profile
from steelyard.retrievers.dense import DenseRetriever

FILES = Path(__file__).parents[2] / "parity" / "mteb" / "files"
MODEL = MtebModel("fixture/table-minilm", "1", encode_kwargs={"show_progress_bar": False, "batch_size": 32})
CASES: list[tuple[Profile, str]] = [
    ("mteb-1.14", "FixtureSTS"),
    ("mteb-2.26", "FixtureSTS"),
    ("mteb-2.26", "FixtureClassification"),
    ("mteb-2.26", "FixtureClusteringLegacy"),
]
OWN = ("dataset_revision", "evaluation_time", "date", "evaluation_phases")
"""Fields whose values belong to a run, not to its figures."""


def written(profile: Profile, name: str, folder: Path) -> Path:
    task = sample_tasks()[name]
    task = replace(task, info=replace(task.info, name=name, language="en"))
    model = DenseRetriever("table", from_function(lambda texts: VECTORS[[ROW_OF.get(t, 0) for t in texts]], "table"))
    (result,) = evaluate(model, task, profile=profile)
    path = MtebFolder(folder).add(result, MODEL)
    assert path is not None
    return path


@pytest.mark.parametrize(("profile", "name"), CASES)
def test_files_are_those_of_mteb(profile: Profile, name: str, tmp_path: Path) -> None:
    path = written(profile, name, tmp_path)
    theirs = FILES / VERSIONS[profile]
    ours = json.loads(path.read_text(), parse_constant=pytest.fail)
    wanted = json.loads((theirs / path.name).read_text(), parse_constant=lambda nan: None)  # theirs is no JSON there
    assert [key for key in ours if key != "steelyard"] == list(wanted)
    assert same_keys(ours["scores"]) == same_keys(wanted["scores"])
    for field in (field for field in wanted if field not in OWN):
        assert flat(ours[field]) == pytest.approx(flat(wanted[field]), abs=2e-6)
    for field in OWN:
        assert type(ours[field]) is type(wanted[field]) if field in wanted else field not in ours
    phases = ours.get("evaluation_phases", [])
    assert all(list(phase) == list(wanted["evaluation_phases"][0]) for phase in phases)
    meta = json.loads((path.parent / "model_meta.json").read_text())
    expected = json.loads((theirs / "model_meta.json").read_text())
    assert list(meta) == list(expected) and meta["name"] == expected["name"]


@pytest.mark.slow
def test_run_settings_are_a_line_a_task_written_anew(tmp_path: Path) -> None:
    wanted = [json.loads(line) for line in (FILES / "2.26.24" / "run_settings.jsonl").read_text().splitlines()]
    for name in ("FixtureSTS", "FixtureSTS", "FixtureClusteringLegacy"):
        path = written("mteb-2.26", name, tmp_path)
    ours = [json.loads(line) for line in (path.parent / "run_settings.jsonl").read_text().splitlines()]
    assert [line["task"] for line in ours] == ["FixtureSTS", "FixtureClusteringLegacy"]
    for line in ours:
        (theirs,) = (other for other in wanted if other["task"] == line["task"])
        assert list(line) == list(theirs) and set(line["version"]) == {*theirs["version"], "steelyard"}
        assert {key: line[key] for key in line if key != "version"} == {
            key: theirs[key] for key in line if key != "version"
        }


def same_keys(value: Any) -> Any:
    """The names of a value in their order, without its figures."""
    if isinstance(value, dict):
        return [(key, same_keys(part)) for key, part in value.items()]
    return [same_keys(part) for part in value] if isinstance(value, list) else None


def flat(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return {name: leaf for key, part in parts for name, leaf in flat(part, f"{path}/{key}").items()}
    return {path: value}
