"""`steelyard cache`: what is listed, and that nothing but our own files is ever removed."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from encoder_parts import Letters
from engine_parts import small_task

from steelyard.cache import cached_entries, foreign_files, is_steelyard_home, remove_entries
from steelyard.cli import main
from steelyard.cli.completion import _names
from steelyard.config import Settings
from steelyard.datasets import write_nano_set
from steelyard.datasets.formats.saved_dataset import arrow_view
from steelyard.encoders.cache.cached_encoder import encode_once
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.engine.batch import load_models
from steelyard.errors import SteelyardError, UnknownName, UsageError
from steelyard.recommendation.measure_models import measure_models

SET = "NanoSmall-1.0-e1"
pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture
def filled(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the vectors of two encoders, a built-in set and some records."""
    monkeypatch.delenv("STEELYARD_CACHE_BYTES", raising=False)
    for encoder in (Letters(), Letters(symmetric=True)):
        encode_once(encoder, ["a", "b"], "document", store=VectorStore(encoder))
    write_nano_set(own_home / "builtin" / SET, [small_task("NanoSmall/a")])
    for place, record in (
        ("hashes/" + "a" * 24, {"path": "x", "digest": "00"}),
        ("services/" + "b" * 16, {"encoder": "x", "dimension": 3}),
        ("pages/tokens/" + "c" * 32, {"tokenizer": "x", "counts": [1]}),
        ("hubs/huggingface/owner--name", {"revisions": {}, "files": {}}),
        ("models/" + "d" * 32, {"version": 1, "name": "x", "settings": {}}),
        ("costs/" + "e" * 32, {"latency": {}, "batch_latency": {}, "measured_on": {}}),
        ("completion/1.0.0", {"tasks": [], "models": []}),
    ):
        path = own_home / f"{place}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    return own_home


def names(capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert main(["cache", "--json"]) == 0
    return [entry["name"] for entry in json.loads(capsys.readouterr().out)["stored"]]


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}


def test_an_empty_home(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache"]) == 0
    assert "0 B in" in capsys.readouterr().err
    assert names(capsys) == []
    assert main(["cache", "rm", "all", "--yes"]) == 0
    capsys.readouterr()
    assert main(["cache", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(own_home)


def test_ls_lists_every_kind_with_sizes(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = names(capsys)
    assert [name.partition("/")[0] for name in listed] == [
        *("builtin", "completion", "costs", "hashes", "hubs", "models", "pages", "services", "vectors", "vectors")
    ]
    assert main(["cache", "ls", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["bytes"] == sum(file.stat().st_size for file in filled.rglob("*") if file.is_file())
    assert main(["cache"]) == 0
    assert SET in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "removed"),
    [
        ("vectors", 2),
        ("builtin", 1),
        (SET, 1),
        (f"builtin/{SET}", 1),
        (f"builtin/{SET}/", 1),
        ("letters-small", 2),
        ("hashes", 1),
        ("hubs", 1),
        ("pages/tokens", 1),
        ("costs", 1),
        ("models", 1),
        ("completion", 1),
        ("all", 10),
    ],
)
@pytest.mark.usefixtures("filled")
def test_rm_removes_the_named_entries(name: str, removed: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "rm", name, "--json", *(["--yes"] if name == "all" else [])]) == 0
    report = json.loads(capsys.readouterr().out)
    assert len(report["removed"]) in (removed, 1) if name == "letters-small" else len(report["removed"]) == removed
    assert report["freed"] > 0
    assert len(names(capsys)) == 10 - len(report["removed"])


def test_rm_all_leaves_no_empty_folder(filled: Path) -> None:
    assert main(["cache", "rm", "all", "--yes", "-q"]) == 0
    assert tree(filled) == set()


@pytest.mark.parametrize("name", ["NanoTwo", "..", "../home", "vectors/../builtin", "/", "."])
@pytest.mark.usefixtures("filled")
def test_rm_refuses_other_names(
    name: str, capsys: pytest.CaptureFixture[str], error_of: Callable[..., SteelyardError]
) -> None:
    error = error_of("cache", "rm", name)
    assert isinstance(error, UnknownName) and error.name == name
    assert len(names(capsys)) == 10


def test_rm_all_keeps_what_steelyard_did_not_write(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = min((filled / "vectors").iterdir())
    others = {
        "thesis.tex",
        "photos/1.jpg",
        f"vectors/{own.name}/notes.txt",
        f"vectors/{own.name}/{'a' * 24}.vectors.bak",
        "vectors/mine/1.vectors",
        f"builtin/{SET}/my notes.md",
        "builtin/NanoMine/corpus.parquet",
        "hashes/todo.json",
        f"hashes/{'f' * 24}.json",
        "models/weights.json",
        f"models/{'f' * 32}.json",
        "costs/2026.json",
        f"costs/{'f' * 32}.json",
        "completion/mine.json",
        "completion/2.0.json",
        f"arrow/{'f' * 16}/data/README.md",
        ".ssh/id_ed25519",
    }
    for name in others:
        path = filled / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    assert main(["cache", "rm", "all", "--yes"]) == 0
    assert tree(filled) == others
    assert "notes.txt" in capsys.readouterr().err, "files in removed entries are reported"


def test_links_are_neither_followed_nor_removed(filled: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write_nano_set(outside / SET, [small_task("NanoSmall/a")])
    (outside / "records").mkdir()
    (outside / "records" / f"{'a' * 24}.json").write_text('{"path": "x", "digest": "00"}')
    before = tree(outside)
    (filled / "builtin" / "NanoLinked-1").symlink_to(outside / SET)
    (filled / "builtin" / SET / "extra").symlink_to(outside / SET / "corpus")
    (filled / "builtin" / SET / "corpus" / "linked.parquet").symlink_to(outside / SET / "corpus" / "a.parquet")
    (filled / "hashes" / f"{'a' * 24}.json").unlink()
    (filled / "hashes").rmdir()
    (filled / "hashes").symlink_to(outside / "records")
    assert main(["cache", "rm", "all", "--yes", "-q"]) == 0
    assert tree(outside) == before
    links = {"builtin/NanoLinked-1", f"builtin/{SET}/extra", f"builtin/{SET}/corpus/linked.parquet", "hashes"}
    assert tree(filled) == links


@pytest.mark.parametrize("kind", ["models", "costs", "completion", "arrow"])
def test_a_link_in_place_of_a_folder_of_records_stays(kind: str, filled: Path, tmp_path: Path) -> None:
    folder, outside = filled / kind, tmp_path / "outside"
    folder.mkdir(exist_ok=True)
    folder.rename(outside)
    folder.symlink_to(outside)
    before = tree(outside)
    assert kind not in [entry.name for entry in cached_entries(filled)] and kind in foreign_files(filled)
    remove_entries(cached_entries(filled))
    assert folder.is_symlink() and tree(outside) == before


@pytest.mark.slow
def test_what_the_verbs_store_is_listed_and_removed(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings.load()
    assert _names(settings)["models"]
    model = load_models(["bm25"], settings=settings)
    assert measure_models(model, [small_task("NanoSmall/a")], failed={}, settings=settings)
    assert {"completion", "costs"} <= set(names(capsys)) and foreign_files(own_home) == []
    assert main(["cache", "rm", "all", "--yes", "-q"]) == 0
    assert tree(own_home) == set()


def test_views_of_saved_data_are_removed_and_the_data_stays(own_home: Path, tmp_path: Path) -> None:
    data = tmp_path / "saved"
    data.mkdir()
    for name in ("data-00000-of-00001.arrow", "dataset_info.json", "state.json"):
        (data / name).write_text("{}")
    view = arrow_view(data, Settings.load())
    assert view is not None and view.is_relative_to(own_home)
    mine = view / "mine.arrow"
    mine.symlink_to(data / "state.json")
    (entry,) = cached_entries(own_home)
    assert entry.name.startswith("arrow/") and entry.files == 2
    assert remove_entries([entry]).left == (mine,) and tree(view) == {"mine.arrow"}
    assert len(tree(data)) == 3


def test_a_folder_that_steelyard_did_not_make_is_refused(
    own_home: Path, error_of: Callable[..., SteelyardError]
) -> None:
    (own_home / "vectors" / "mine").mkdir(parents=True)
    (own_home / "vectors" / "mine" / "1.vectors").write_text("mine")
    assert not is_steelyard_home(own_home) and cached_entries(own_home) == []
    error = error_of("cache", "rm", "all", "--yes")
    assert isinstance(error, UsageError) and error.path == str(own_home)
    assert (own_home / "vectors" / "mine" / "1.vectors").exists()


def test_an_entry_that_changed_since_it_was_listed_is_kept(filled: Path, tmp_path: Path) -> None:
    (entry,) = (entry for entry in cached_entries(filled) if entry.name == f"builtin/{SET}")
    (tmp_path / "moved").mkdir()
    entry.path.rename(tmp_path / "moved" / SET)
    entry.path.symlink_to(tmp_path / "moved" / SET)
    before = tree(tmp_path / "moved")
    assert remove_entries([entry]).freed == 0
    assert tree(tmp_path / "moved") == before


def test_rm_all_needs_a_confirmation(filled: Path, error_of: Callable[..., SteelyardError]) -> None:
    assert error_of("cache", "rm", "all").option == "--yes"
    assert len(cached_entries(filled)) == 10


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("n\n", 10), ("\n", 10)])
def test_rm_all_asks_on_a_terminal(answer: str, left: int, filled: Path) -> None:
    master, terminal = pty.openpty()
    command = [sys.executable, "-m", "steelyard", "cache", "rm", "all"]
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=dict(os.environ)) as process:
        os.close(terminal)
        asked = b""
        while b"[y/N]" not in asked:
            asked += os.read(master, 1000)
        os.write(master, answer.encode())
        process.wait()
    os.close(master)
    assert process.returncode == (0 if not left else 2) and len(cached_entries(filled)) == left


def test_the_home_of_a_project_file_is_never_emptied(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error_of: Callable[..., SteelyardError]
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "steelyard.toml").write_text(f'home = "{filled}"')
    monkeypatch.chdir(project)
    monkeypatch.delenv("STEELYARD_HOME")
    assert error_of("cache", "rm", "all", "--yes").field == "home"
    assert len(cached_entries(filled)) == 10


def test_trim_removes_vectors_only(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "trim", "--max-bytes", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == 2
    assert f"builtin/{SET}" in names(capsys)
    assert foreign_files(filled) == []


@pytest.mark.parametrize(
    "words", [["rm"], ["ls", "vectors"], ["ls", "--max-bytes", "1"], ["trim", "--max-bytes", "much"]]
)
def test_a_wrong_request_is_refused(words: list[str], error_of: Callable[..., SteelyardError]) -> None:
    assert isinstance(error_of("cache", *words), UsageError)
