"""Files that are complete or absent, and small caches."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard import files
from steelyard.files import read_cached, read_parquet, remove_leftovers, write_atomic, write_cached


def leftover(name: str) -> str:
    return f"{files.PREFIX}{name}.0123456789ab{files.SUFFIX}"


def test_parts_replace_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_atomic(path, b"old and long")
    write_atomic(path, b"ab", memoryview(b"cd"), b"")
    assert path.read_bytes() == b"abcd" and [found.name for found in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failed_write_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((os, "fsync", fail) if step == "fsync" else (Path, "replace", fail)))
    with pytest.raises(OSError, match="No space left"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old" and [found.name for found in tmp_path.iterdir()] == ["file"]


def test_a_file_system_without_locks_goes_by_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(files.fcntl, "flock", no_locks)
    write_atomic(tmp_path / "file", b"content")
    young, old = tmp_path / leftover("a"), tmp_path / leftover("b")
    for path in (young, old):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert remove_leftovers([tmp_path]) == 1
    assert young.exists() and not old.exists() and (tmp_path / "file").read_bytes() == b"content"


def test_links_and_missing_folders_are_skipped(tmp_path: Path) -> None:
    left = tmp_path / "inside" / leftover("a")
    left.parent.mkdir()
    left.write_bytes(b"half")
    (left.parent / leftover("gone")).symlink_to(tmp_path / "nothing")
    (left.parent / leftover("itself")).symlink_to(leftover("itself"))
    target = tmp_path / "precious"
    target.write_bytes(b"keep")
    (left.parent / leftover("link")).symlink_to(target)
    assert remove_leftovers([tmp_path / "nowhere", left.parent]) == 1
    assert not left.exists() and target.exists() and len(list(left.parent.iterdir())) == 3


def test_damaged_cache_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "facts" / "a.json"
    assert read_cached(path) == {}
    write_cached(path, {"dimension": 8, "name": "naïve \udc80"})
    assert read_cached(path) == {"dimension": 8, "name": "naïve \udc80"}
    for damaged in (b"", b'{"dimension": 8', b"[1]", b"\xff"):
        path.write_bytes(damaged)
        assert read_cached(path) == {}


def test_cache_in_an_unwritable_folder_is_empty(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    write_cached(tmp_path / "file" / "a.json", {"dimension": 8})
    assert read_cached(tmp_path / "file" / "a.json") == {}


def test_small_parquet_files_are_read_without_the_columns_that_they_do_not_have(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    pq.write_table(pa.table({"query": ["q1", "q2"], "score": [1.0, 0.5]}), path)
    assert read_parquet(path).to_pydict() == {"query": ["q1", "q2"], "score": [1.0, 0.5]}
    assert read_parquet(path, ["score", "rank"]).to_pydict() == {"score": [1.0, 0.5]}
    assert pa.types.is_dictionary(read_parquet(path, dictionaries=["query"])["query"].type)
    with pytest.raises(pa.ArrowInvalid):
        read_parquet(pa.BufferReader(path.read_bytes()[:-9]))
