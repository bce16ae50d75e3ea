"""Paths that data name: a file outside the folder is an error, and is not read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard import load_task
from steelyard.datasets.formats.nano.manifest import changed_files
from steelyard.datasets.formats.saved_dataset import saved_splits
from steelyard.datasets.samples.splits import card_subsets
from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.model_metadata import model_metadata
from steelyard.errors import DataError, SteelyardError
from steelyard.files import path_inside
from steelyard.results.keys import model_slug, task_slug

OUTSIDE = ["../secret", "a/../../secret", "/etc/passwd", "..\\secret", "c:\\secret", ".."]


def card(folder: Path, name: str) -> None:
    listed = "".join(f"- config_name: {config}\n  data_files: {json.dumps(name)}\n" for config in "ab")
    (folder / "README.md").write_text(f"---\nconfigs:\n{listed}---\n")
    card_subsets(folder)


def state(folder: Path, name: str) -> None:
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    saved_splits(folder)


def splits(folder: Path, name: str) -> None:
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": [name]}))
    saved_splits(folder)


def manifest(folder: Path, name: str) -> None:
    changed_files(folder, {"files": {name: {"sha256": "0" * 64}}})


def modules(folder: Path, name: str) -> None:
    (folder / "config.json").write_text("{}")
    (folder / "modules.json").write_text(json.dumps([{"type": "x.Pooling", "path": name}]))
    model_metadata(ModelFolder("mine", folder), "dense")


READERS: list[Callable[[Path, str], None]] = [state, splits, manifest, modules]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("read", READERS)
def test_no_reader_leaves_its_folder(read: Callable[[Path, str], None], name: str, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "secret").write_text("{}")
    with pytest.raises(DataError) as caught:
        read(tmp_path / "set", name)
    assert caught.value.expected == "inside its folder" and name.split("/")[0] in str(caught.value.found)


@pytest.mark.parametrize("name", ["../*.csv", "a/../../*.csv", "..\\*.csv"])
def test_no_pattern_of_a_card_leaves_its_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "secret.csv").write_text("text,label\nx,1\n")
    with pytest.raises(DataError) as caught:
        card(tmp_path / "set", name)
    assert caught.value.expected == "inside its folder"


def test_a_task_of_a_folder_is_looked_for_inside(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    with pytest.raises(SteelyardError):
        load_task(f"{tmp_path / 'set'}::../../etc")


@pytest.mark.parametrize("name", ["corpus/0.parquet", "./a.json", "a..b", "...", "1_Pooling/config.json"])
def test_names_inside_are_allowed(name: str, tmp_path: Path) -> None:
    assert path_inside(tmp_path, name, "x.json") == tmp_path / name


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "..", "a/../../b", ".hidden", "a\\..\\b", "\x1b[2J"])
def test_names_of_models_and_tasks_are_one_part_of_a_path(name: str) -> None:
    for slug in (model_slug(name), task_slug(name)):
        assert slug and "/" not in slug and "\\" not in slug and slug not in (".", "..") and slug.isprintable()
