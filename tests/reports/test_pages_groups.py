"""Group pages of which some tasks are missing: how many, which, why, and that no larger page is replaced."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pages_parts import as_lists, ranked_task

from steelyard.cli import main
from steelyard.datasets import write_nano_set
from steelyard.types import Task

RANKS: dict[Any, list[int]] = {"bm25": [40, 0, 1], "dense": [1, 0, 30], "hybrid": [1, 20, 2]}
GROUP = "NanoMMTEB-v2"


def task_of(name: str) -> Task:
    task, profiles = ranked_task(RANKS, name=name)
    names = ("bm25", "harrier", "reranking_hybrid")
    stored = {config: as_lists(one.run) for config, one in zip(names, profiles, strict=True)}
    return Task(task.info, task.corpus, task.queries, task.qrels, stored)


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """A folder with copies of two of the 18 tasks of a published group."""
    names = ("belebele", "mlqa")
    write_nano_set(tmp_path / "hakari-bench" / GROUP, [task_of(f"{GROUP}/{name}") for name in names])
    return tmp_path


def pages(folder: Path, name: str, *more: str) -> int:
    words = ["pages", name, "-o", str(folder / "out"), "--results", str(folder / "results"), "--data-dir", str(folder)]
    return main([*words, "-q", *more])


def index(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "out" / GROUP / "index.json").read_text(encoding="utf-8"))
    return value


def test_a_group_page_counts_and_lists_what_is_missing(copies: Path) -> None:
    assert pages(copies, GROUP) == 1, "16 tasks failed"
    figures, findings = index(copies)["figures"], index(copies)["findings"]
    assert sorted(figures["tasks"]) == [f"{GROUP}/belebele", f"{GROUP}/mlqa"]
    missing = {one["task"]: one for one in figures["missing"]}
    assert len(missing) == 16 and "belebele" not in missing
    assert all(one["reason"] and one["reason"] != "not part of this build" for one in missing.values())
    published = {kind: round(score, 4) for kind, score in missing["covid"]["published"].items()}
    assert published == {"bm25": 0.7888, "dense": 0.7592, "hybrid": 0.7873}, "as on the published page"
    assert (missing["covid"]["queries"], missing["covid"]["documents"]) == (200, 10_000)
    (size,) = (one for one in findings if one["kind"] == "group_part")
    assert (size["figures"]["tasks"], size["figures"]["total"], size["figures"]["missing"]) == (2, 18, 16)
    assert not any(one["kind"] == "group_size" for one in findings)
    page = (copies / "out" / GROUP / "index.md").read_text(encoding="utf-8")
    assert "2 of the 18 tasks" in page and "## Missing Tasks" in page and "0.7888" in page
    assert "| Task pages | 2 of 18 |" in page
    assert "2 of 18" in (copies / "out" / "index.md").read_text(encoding="utf-8")


def test_a_task_alone_is_one_of_its_group(copies: Path) -> None:
    assert pages(copies, f"{GROUP}/mlqa") == 0
    figures = index(copies)["figures"]
    assert figures["tasks"] == [f"{GROUP}/mlqa"] and len(figures["missing"]) == 17
    assert {one["reason"] for one in figures["missing"]} == {"not part of this build"}
    assert pages(copies, f"{GROUP}/belebele") == 0
    assert len(index(copies)["figures"]["tasks"]) == 2, "the earlier task is kept"


@pytest.mark.parametrize("why", ["settings", "version"])
def test_a_task_alone_does_not_replace_a_larger_page(
    copies: Path, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pages(copies, GROUP) == 1
    home = copies / "out" / GROUP
    if why == "version":
        for path in home.glob("*.json"):
            path.write_text(path.read_text().replace('"schema_version": ', '"schema_version": 1', 1))
    before = {path.name: path.read_bytes() for path in home.glob("index.*")}
    contents = (copies / "out" / "index.md").read_bytes()
    more = ("--lists", "searched", "--dense", "bm25?k1=0.5") if why == "settings" else ()
    capsys.readouterr()
    assert pages(copies, f"{GROUP}/mlqa", *more) == 0
    assert {path.name: path.read_bytes() for path in home.glob("index.*")} == before
    if why == "settings":
        assert (copies / "out" / "index.md").read_bytes() == contents
    assert json.loads((home / "mlqa.json").read_text())["figures"]["name"] == f"{GROUP}/mlqa", "the task is written"


def test_the_whole_group_may_replace_a_larger_page(copies: Path) -> None:
    assert pages(copies, GROUP) == 1
    for name in ("corpus", "queries", "qrels"):
        (copies / "hakari-bench" / GROUP / name / "belebele.parquet").unlink()
    shutil.rmtree(copies / "results", ignore_errors=True)
    assert pages(copies, GROUP, "--lists", "searched", "--dense", "bm25?k1=0.5") == 1
    assert index(copies)["figures"]["tasks"] == [f"{GROUP}/mlqa"]


def test_a_folder_lists_its_other_tasks(tmp_path: Path) -> None:
    write_nano_set(tmp_path / "set", [task_of("NanoToy/first"), task_of("NanoToy/second")])
    assert pages(tmp_path, f"{tmp_path / 'set'}::first") == 0
    value = json.loads((tmp_path / "out" / "NanoToy" / "index.json").read_text())["figures"]
    assert [one["name"] for one in value["missing"]] == ["NanoToy/second"]
