"""Data on this machine: folders of `save_to_disk`, several subsets in one folder, copies for tasks of mteb."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import mteb_parts
import pytest

import datasets
from steelyard.config import Settings
from steelyard.datasets import load_any, task_names
from steelyard.engine import evaluate
from steelyard.errors import MissingPart, UnknownName
from steelyard.types import Task
from steelyard.types.samples import PairTask


def pairs(word: str, count: int) -> dict[str, list[Any]]:
    return {
        "sentence1": [f"{word} {n}" for n in range(count)],
        "sentence2": [f"{word} {n % 4}" for n in range(count)],
        "score": [float(n % 5) for n in range(count)],
    }


def save(folder: Path, **splits: dict[str, list[Any]]) -> None:
    tables = {split: datasets.Dataset.from_dict(columns) for split, columns in splits.items()}
    datasets.DatasetDict(tables).save_to_disk(folder)


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    save(tmp_path / "mteb/STSB", validation=pairs("a", 12), test=pairs("b", 16))
    covid = tmp_path / "mteb/CovidRetrieval"
    save(covid / "corpus", dev={"id": ["d1", "d2"], "title": ["", ""], "text": ["red fox", "blue whale"]})
    save(covid / "queries", dev={"id": ["q1", "q2"], "text": ["fox", "whale"]})
    save(covid / "qrels", dev={"query-id": ["q1", "q2"], "corpus-id": ["d1", "d2"], "score": [1, 1]})
    subsets = tmp_path / "STS17"
    card = ["---", "configs:"]
    for name in ("ko-ko", "en-de"):
        (subsets / name).mkdir(parents=True)
        columns = pairs(name, 10)
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        (subsets / name / "test.jsonl").write_text("\n".join(map(json.dumps, rows)))
        card += [f"- config_name: {name}", "  data_files:", "  - split: test", f"    path: {name}/*.jsonl"]
    (subsets / "README.md").write_text("\n".join([*card, "---", ""]))
    shutil.copytree(subsets, tmp_path / "mteb/sts17-crosslingual-sts")
    return tmp_path


@pytest.mark.parametrize("prefix", ["", "mteb:"])
def test_folders_of_save_to_disk_are_copies_of_published_tasks(copies: Path, prefix: str) -> None:
    settings = Settings.load(data=copies)
    sts = load_any(f"{prefix}STSB", settings=settings)
    assert isinstance(sts, PairTask) and sts.first == tuple(pairs("b", 16)["sentence1"])
    assert len(load_any(f"{prefix}STSB:validation", settings=settings)) == 12
    searched = load_any(f"{prefix}CovidRetrieval", settings=settings)
    assert isinstance(searched, Task) and set(searched.corpus.ids) == {"d1", "d2"} and len(searched.qrels.rows) == 2
    assert sts.info.revision is None, "a copy may be of any revision"


def test_a_folder_of_save_to_disk_is_a_task_of_its_own(copies: Path) -> None:
    task = load_any(str(copies / "mteb/STSB"))
    assert task.info.type == "sts" and len(task) == 16
    assert len(load_any(f"sts:{copies / 'mteb/STSB'}::validation")) == 12


def test_subsets_of_one_folder_are_tasks(copies: Path) -> None:
    names = task_names([str(copies / "STS17")])
    tasks = [load_any(name) for name in names]
    assert [task.name for task in tasks] == ["local/STS17[ko-ko]", "local/STS17[en-de]"]
    assert [task.first[0] for task in tasks if isinstance(task, PairTask)] == ["ko-ko 0", "en-de 0"]
    with pytest.raises(UnknownName) as caught:
        load_any(f"sts:{copies / 'STS17'}?subset=fr-fr")
    assert caught.value.hint is not None and "ko-ko" in caught.value.hint


def test_subsets_of_a_copy_are_read_by_mteb_with_its_codes(copies: Path) -> None:
    settings = Settings.load(data=copies)
    korean = load_any("mteb:STS17[ko-ko]", settings=settings)
    assert isinstance(korean, PairTask) and korean.first[0] == "ko-ko 0" and korean.info.language_tags == ("kor-Hang",)
    (result,) = evaluate(mteb_parts.lookup(), "STS17[en-de]", settings=settings)
    assert result.done and result.facts.language_tags == ("eng-Latn", "deu-Latn")


def test_errors_of_the_network_name_the_ways_without_it(tmp_path: Path) -> None:
    offline = Settings.load(offline=True, home=tmp_path)
    for name in ("C-MTEB/LCQMC", "mteb:LCQMC"):
        with pytest.raises(MissingPart) as caught:  # or a HubError, which is one
            load_any(name, settings=offline)
        assert all(word in str(caught.value.hint) for word in ("--data-dir", "STEELYARD_DATA", "dataset_path"))
    with pytest.raises(MissingPart):
        load_any("mteb:LCQMC", settings=Settings.load(data=tmp_path))
