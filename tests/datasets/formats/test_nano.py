"""Nano-sets written for others: the same bytes every time, a manifest that tells of changes, a card hubs read."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from steelyard.datasets import check, load_task, task_names, write_nano_set
from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.types import Corpus, Qrels, Queries, Ragged, Task, TaskInfo


def make(name: str, *, rows: tuple[int, ...] = (0, 2, 1)) -> Task:
    corpus = Corpus.of(["a", "b", "c"], ["one", "two", "three"], ["", "Title", ""])
    lists = Ragged(np.array([0, 2, 3]), np.array([2, 0, 1], dtype=np.int32))
    info = TaskInfo(name, language="no", languages=("no",), source="here", licence="CC0-1.0", reference={"bm25_x": 0.5})
    qrels = Qrels.of([0, 0, 1], rows, [1, 0, 2], queries=2)
    return Task(info, corpus, Queries(("q1", "q2"), ("1?", "2?")), qrels, {"bm25": lists})


@pytest.mark.parametrize("place", ["here", "here, and there"])
def test_a_round_trip_keeps_everything(tmp_path: Path, place: str) -> None:
    tasks = [make("NanoX/one-two"), make("NanoX/three")]
    folder = write_nano_set(tmp_path / place / "NanoX", tasks, licence="cc0-1.0")
    names = task_names([str(folder)])
    assert names == [f"{folder}::one-two", f"{folder}::three"]
    for name, task in zip(names, tasks, strict=True):
        read = load_task(name)
        assert read.content_hash == task.content_hash and read.info == task.info
        assert read.corpus.titles == task.corpus.titles
        assert read.candidates["bm25"].rows.tolist() == [2, 0, 1]


def test_the_same_tasks_give_the_same_bytes(tmp_path: Path) -> None:
    one, two = (write_nano_set(tmp_path / name / "NanoX", [make("NanoX/t")]) for name in ("a", "b"))
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert {str(path.parent) for path in files} == {".", "corpus", "queries", "qrels", "bm25"}
    assert all((one / path).read_bytes() == (two / path).read_bytes() for path in files)


def test_the_card_tells_hubs_what_is_where(tmp_path: Path) -> None:
    folder = write_nano_set(tmp_path / "NanoX", [make("NanoX/one-two")], licence="cc0-1.0", description="Numbers.")
    _, front, text = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    card = yaml.safe_load(front)
    assert card["language"] == ["no"] and card["license"] == "cc0-1.0"
    configs = {config["config_name"]: config for config in card["configs"]}
    assert set(configs) == {"corpus", "queries", "qrels", "bm25"} and configs["queries"]["default"] is True
    # Split names of the `datasets` library are words without hyphens.
    assert configs["corpus"]["data_files"] == [{"split": "one_two", "path": ["corpus/one-two.parquet"]}]
    assert "Numbers." in text and "| one-two | no | 2 | 3 | 2 |" in text


def test_the_manifest_tells_of_changes(tmp_path: Path) -> None:
    folder = write_nano_set(tmp_path / "NanoX", [make("NanoX/t")])
    (checked,) = check(folder)
    assert checked.good and not checked.report.problems
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["tasks"]["t"]["content_hash"] == make("NanoX/t").content_hash
    changed = write_nano_set(tmp_path / "other", [make("NanoX/t", rows=(1, 2, 1))])
    (folder / "qrels" / "t.parquet").write_bytes((changed / "qrels" / "t.parquet").read_bytes())
    (checked,) = check(folder)
    assert [(p.kind, p.file) for p in checked.report.problems] == [("checksum", "qrels/t.parquet")]
    assert checked.good, "a change is told, but may be meant"


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        write_nano_set(tmp_path, [make("NanoX/t", rows=(-1, 2, 1))])
    with pytest.raises(DataError):
        write_nano_set(tmp_path, [make("A/t"), make("B/t")])


@pytest.mark.parametrize("name", ["corpus", "qrels", "default", "a/b", "", "bm25-00000-of-00001"])
def test_lists_under_a_name_that_is_taken_or_never_read_are_refused(tmp_path: Path, name: str) -> None:
    task = make("NanoX/t")
    with pytest.raises(DataError, match=re.escape(repr(name))):
        write_nano_set(tmp_path, [replace(task, candidates={name: task.candidates["bm25"]})])
    assert not list(tmp_path.iterdir())


def test_a_task_that_would_not_be_found_again_is_refused(tmp_path: Path) -> None:
    for name in ("NanoX/", "NanoX/t-00000-of-00001"):
        with pytest.raises(DataError):
            write_nano_set(tmp_path, [make(name)])
    with pytest.raises(DataError):
        write_nano_set(tmp_path, [])


def test_tables_of_another_set_are_not_left_beside(tmp_path: Path) -> None:
    """They would be tasks of the new set without facts, or candidate lists that were never made for it."""
    folder = write_nano_set(tmp_path / "NanoX", [make("NanoX/one"), make("NanoX/two")])
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(DataError, match=r"bm25/two\.parquet.*3"):
        write_nano_set(folder, [make("NanoX/one", rows=(1, 2, 1))])
    with pytest.raises(DataError, match=r"bm25/one\.parquet.*1"):
        write_nano_set(str(folder), [replace(make(f"NanoX/{task}"), candidates={}) for task in ("one", "two")])
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    write_nano_set(folder, [make("NanoX/one", rows=(1, 2, 1)), make("NanoX/two")])
    assert [checked.report.problems for checked in check(folder)] == [[], []]


def test_a_set_of_several_tasks_wants_a_name(tmp_path: Path) -> None:
    folder = write_nano_set(tmp_path / "NanoX", [make("NanoX/one"), make("NanoX/two")])
    with pytest.raises(UsageError, match="2"):
        load_task(folder)
    with pytest.raises(UnknownName, match="'one'"):
        load_task(f"{folder}::ona")


def test_a_missing_shard_stops_its_own_task_only(tmp_path: Path) -> None:
    for task in ("a", "b"):
        for table, columns in (
            ("corpus", {"_id": ["d"], "text": ["x"]}),
            ("queries", {"_id": ["q"], "text": ["x"]}),
            ("qrels", {"query-id": ["q"], "corpus-id": ["d"]}),
        ):
            (tmp_path / table).mkdir(exist_ok=True)
            shard = "-00001-of-00003" if (table, task) == ("corpus", "b") else ""
            pq.write_table(pa.table(columns), tmp_path / table / f"{task}{shard}.parquet")
    assert load_task(f"{tmp_path}::a").corpus.ids == ("d",)
    assert task_names([str(tmp_path)]) == [f"{tmp_path}::a", f"{tmp_path}::b"]
    missing = r"corpus/b-00000-of-00003\.parquet, corpus/b-00002-of-00003\.parquet"
    with pytest.raises(DataError, match=missing):
        load_task(f"{tmp_path}::b")
    assert [(each.good, len(each.report.problems)) for each in check(tmp_path)] == [(True, 0), (False, 2)]
