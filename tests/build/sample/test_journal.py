"""Ctrl-C while something is built: it is said what was kept and how to go on, and going on gives the same set."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build_parts import big_set

from steelyard.build.sample import hard_negatives, scan
from steelyard.build.sample.journal import Journal
from steelyard.build.sample.sampler import finished_steps
from steelyard.build.source import streams
from steelyard.cli import main
from steelyard.cli._ui import progress as cli_progress


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return big_set(tmp_path_factory.mktemp("source") / "full", documents=1500, queries=40)


def interrupting(function: Callable[..., Any], at: int) -> Callable[..., Any]:
    """The function, whose user presses Ctrl-C as it is called for the `at`-th time."""
    calls = 0

    def call(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            signal.raise_signal(signal.SIGINT)
        return function(*arguments, **options)

    return call


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def command(source: Path, folder: Path) -> list[str]:
    return ["build", str(source), "-o", str(folder), "--queries", "10", "--docs", "200", "--mine", "bm25"]


def test_an_interrupt_while_mining_keeps_what_was_mined(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hard_negatives, "PORTION", 300)
    monkeypatch.setattr(streams, "BLOCK", 50_000)
    calm, folder = tmp_path / "calm" / "out", tmp_path / "out"
    assert main(command(source, calm)) == 0
    with monkeypatch.context() as patch:
        patch.setattr(hard_negatives, "_search", interrupting(hard_negatives._search, at=3))
        capsys.readouterr()
        assert main(command(source, folder)) == 130
    told = capsys.readouterr().err
    assert re.search(r"interrupted while mining with bm25: \d+ of 1,500 documents", told)
    kept = next(line for line in told.splitlines() if line.startswith("kept in"))
    assert "full: ids read, hard negatives among " in kept
    assert told.endswith("the same command continues from there\n")
    assert main(command(source, folder)) == 0
    assert files(folder) == files(calm)


def test_an_interrupt_before_anything_was_done(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scan, "draw", interrupting(scan.draw, at=1))
    assert main(command(source, tmp_path / "out")) == 130
    told = capsys.readouterr().err
    assert "interrupted while reading ids" in told and "starts again" in told


def test_progress_is_told_and_knows_how_much_there_is(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli_progress, "PATIENCE", 0.0)
    monkeypatch.setattr(cli_progress, "LINE_INTERVAL", 0.0)
    monkeypatch.setattr(streams, "BLOCK", 50_000)
    assert main(command(source, tmp_path / "out")) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "reading ids: 1,500 documents" in lines
    assert "mining with bm25: 1,500 of 1,500 documents" in lines
    assert main([*command(source, tmp_path / "other"), "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_an_interrupt_while_candidates_are_made(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from steelyard.build.candidates import lists

    folder = tmp_path / "out"
    assert main([*command(source, folder), "-q"]) == 0
    before = files(folder)
    with monkeypatch.context() as patch:
        patch.setattr(lists, "_search", interrupting(lists._search, at=1))
        assert main(["build", "candidates", str(folder), "--bm25"]) == 130
    assert "interrupted while searching out/full with bm25" in capsys.readouterr().err
    assert files(folder) == before
    assert main(["build", "candidates", str(folder), "--bm25", "-q"]) == 0


@pytest.mark.parametrize(("flag", "wrong"), [("--mine", "bm52"), ("--stratify", "colour")])
def test_a_wrong_name_is_told_before_anything_is_read(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], flag: str, wrong: str
) -> None:
    assert main(["build", "sample", str(source), "-o", str(tmp_path / "out"), flag, wrong]) == 2
    assert wrong in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_step_that_was_being_written_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "mining-0.tmp.npz").write_bytes(b"half of a f")
    np.savez(tmp_path / "mining-1.npz", done=np.int64(7))
    np.savez(tmp_path / "scan.npz", draws=np.zeros(3))
    assert Journal.counts(tmp_path, "mining-*") == [7] and Journal.counts(tmp_path, "scan") == [0]
    assert finished_steps(tmp_path / "nowhere") == {}
