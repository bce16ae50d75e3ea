"""Settings: a flag counts before the environment, the environment before `steelyard.toml`, the file before defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard import config
from steelyard.cli import main
from steelyard.encoders.cache import budget
from steelyard.errors import DataError, UnknownName


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in config.SETTINGS:
        monkeypatch.delenv(f"STEELYARD_{name.upper()}", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_file_says_what_the_environment_does_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.results_folder() == Path("results") and not config.offline() and config.data_folder() is None
    lines = ['home = "kept"', 'results = "weighed"', "cache_bytes = 5000", 'hub = "modelscope"', 'data = "copies"']
    (folder / config.FILE).write_text("\n".join([*lines, 'device = "cpu"', "offline = true"]))
    assert (config.home(), config.results_folder()) == (Path("kept"), Path("weighed"))
    assert (config.hub(), config.device(), config.data_folder()) == ("modelscope", "cpu", Path("copies"))
    assert config.offline() and budget.limit() == 5000
    monkeypatch.setenv("STEELYARD_RESULTS", "elsewhere")
    monkeypatch.setenv("STEELYARD_OFFLINE", "no")
    assert config.results_folder() == Path("elsewhere") and not config.offline()


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ('result = "x"', UnknownName, "unknown setting in .* 'result' .*did you mean 'results'"),
        ("results = [1]", DataError, r"steelyard\.toml: results is \[1\] \(a text"),
        ("results = weighed", DataError, r"steelyard\.toml: not TOML"),
    ],
)
def test_a_slip_in_the_file_is_told(folder: Path, text: str, kind: type[Exception], message: str) -> None:
    (folder / config.FILE).write_text(text)
    with pytest.raises(kind, match=message):
        config.results_folder()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("offline", "maybe", "unknown word of offline 'maybe'"),
        ("hub", "nohub", "unknown hub 'nohub'"),
    ],
)
def test_a_value_that_is_none_is_told_whatever_the_verb(
    name: str,
    value: str,
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / config.FILE).write_text(f'{name} = "{value}"')
    assert main(["list", "metrics"]) == 2 and message in capsys.readouterr().err
    (folder / config.FILE).unlink()
    monkeypatch.setenv(f"STEELYARD_{name.upper()}", value)
    assert main(["list", "metrics"]) == 2 and message in capsys.readouterr().err


def test_a_size_that_is_none_says_where_it_stands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / config.FILE).write_text('cache_bytes = "lots"')
    assert main(["cache", "ls"]) == 2
    assert "cache_bytes in steelyard.toml: cannot read the size 'lots'" in capsys.readouterr().err


def test_a_command_heeds_the_file(folder: Path) -> None:
    (folder / config.FILE).write_text('home = "kept"\nresults = "weighed"')
    assert main(["run", "bm25", "-t", "NanoAlmanac/en", "--limit", "2", "--no-report", "-q"]) == 0
    assert (
        list((folder / "weighed").rglob("*.json")) and (folder / "kept").is_dir() and not (folder / "results").exists()
    )
