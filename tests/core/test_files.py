"""Files that are there whole or not at all, and facts that may be forgotten."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steelyard import files
from steelyard.files import remember, remembered, remove_leftovers, write_whole


def test_parts_are_written_one_after_the_other_in_place_of_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_whole(path, b"old and long")
    write_whole(path, b"ab", memoryview(b"cd"), b"")
    assert path.read_bytes() == b"abcd" and [found.name for found in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((os, "fsync", fail) if step == "fsync" else (Path, "replace", fail)))
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old" and [found.name for found in tmp_path.iterdir()] == ["file"]


def test_a_file_system_without_locks_goes_by_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(files.fcntl, "flock", no_locks)
    write_whole(tmp_path / "file", b"content")
    young, old = tmp_path / f".a{files.SUFFIX}", tmp_path / f".b{files.SUFFIX}"
    for path in (young, old):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert remove_leftovers(tmp_path) == 1
    assert young.exists() and not old.exists() and (tmp_path / "file").read_bytes() == b"content"


def test_leftovers_that_go_meanwhile_or_may_not_be_opened_are_passed_over(tmp_path: Path) -> None:
    left = tmp_path / "inside" / f".a{files.SUFFIX}"
    left.parent.mkdir()
    left.write_bytes(b"half")
    (tmp_path / f".gone{files.SUFFIX}").symlink_to(tmp_path / "nothing")
    (tmp_path / f".itself{files.SUFFIX}").symlink_to(
        f".itself{files.SUFFIX}"
    )  # opening it is an OSError of another kind
    assert remove_leftovers(tmp_path) == 1 and not left.exists()


def test_facts_are_kept_and_what_is_not_whole_is_no_fact(tmp_path: Path) -> None:
    path = tmp_path / "facts" / "a.json"
    assert remembered(path) == {}
    remember(path, {"dimension": 8, "name": "naïve \udc80"})
    assert remembered(path) == {"dimension": 8, "name": "naïve \udc80"}
    for damaged in (b"", b'{"dimension": 8', b"[1]", b"\xff"):
        path.write_bytes(damaged)
        assert remembered(path) == {}


def test_facts_that_cannot_be_kept_are_forgotten(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    remember(tmp_path / "file" / "a.json", {"dimension": 8})
    assert remembered(tmp_path / "file" / "a.json") == {}
