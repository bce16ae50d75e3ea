"""Folders that `datasets` wrote with `save_to_disk`, read without that package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from steelyard import load_task
from steelyard.datasets import load_any, task_names
from steelyard.errors import DataError, UnknownName

PAIRS = {"question": ["how?", "why?", "who?"], "context": ["so", "thus", "they"]}


def save(folder: Path, columns: dict[str, list[Any]], shards: int = 1) -> Path:
    """Write a dataset as `Dataset.save_to_disk` does: a stream of Arrow for each shard, and state.json."""
    folder.mkdir(parents=True)
    table = pa.table(columns)
    names = [f"data-{shard:05}-of-{shards:05}.arrow" for shard in range(shards)]
    for shard, name in enumerate(names):
        part = table.slice(
            shard * len(table) // shards, (shard + 1) * len(table) // shards - shard * len(table) // shards
        )
        with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(part)
    (folder / "dataset_info.json").write_text("{}")
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    return folder


def test_a_dataset_of_pairs(tmp_path):
    task = load_task(save(tmp_path / "faq", PAIRS, shards=2))
    assert (task.name, task.queries.texts, set(task.corpus.texts)) == (
        "local/faq",
        tuple(PAIRS["question"]),
        {"so", "thus", "they"},
    )


def test_splits(tmp_path):
    folder = tmp_path / "faq"
    save(folder / "train", PAIRS)
    save(folder / "test", {name: values[:1] for name, values in PAIRS.items()})
    (folder / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert len(load_task(folder).queries) == 1
    train = load_task(f"{folder}::train")
    assert (train.name, train.info.split, len(train.queries)) == ("local/faq/train", "train", 3)
    assert task_names([str(folder)]) == [f"{folder}::test"]
    with pytest.raises(UnknownName):
        load_task(f"{folder}::dev")


def test_a_saved_dataset_for_each_table(tmp_path):
    save(tmp_path / "set" / "corpus", {"_id": ["a", "b"], "text": ["river", "bread"]})
    save(tmp_path / "set" / "queries", {"_id": ["q"], "text": ["water"]})
    save(tmp_path / "set" / "qrels", {"query-id": ["q"], "corpus-id": ["a"], "score": [2]})
    task = load_task(tmp_path / "set")
    assert (task.corpus.ids, task.qrels.grades.tolist()) == (("b", "a"), [2])


def test_other_types(tmp_path):
    folder = save(tmp_path / "pairs", {"sentence1": ["a", "b"], "sentence2": ["c", "d"], "score": [1.0, 0.5]})
    assert load_any(folder).info.type == "sts"


def test_a_missing_shard_is_an_error(tmp_path):
    folder = save(tmp_path / "faq", PAIRS, shards=2)
    (folder / "data-00001-of-00002.arrow").unlink()
    with pytest.raises(DataError) as raised:
        load_task(folder)
    assert Path(str(raised.value.path)).name == "data-00001-of-00002.arrow"


def test_the_package_writes_the_same(tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    datasets.DatasetDict({"test": datasets.Dataset.from_dict(PAIRS)}).save_to_disk(str(tmp_path / "theirs"))
    theirs, ours = load_task(tmp_path / "theirs"), load_task(save(tmp_path / "ours", PAIRS))
    assert theirs.content_hash == ours.content_hash
