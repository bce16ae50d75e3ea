"""Settings: an argument wins over the environment, the environment over `steelyard.toml`, the file over defaults."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from steelyard import config
from steelyard.cli import main
from steelyard.config import Settings
from steelyard.errors import DataError, UnknownName, UsageError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for field in dataclasses.fields(Settings):
        monkeypatch.delenv(f"STEELYARD_{field.name.upper()}", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_defaults(folder: Path) -> None:
    settings = Settings.load()
    assert settings == Settings()
    assert (settings.results, settings.home) == (Path("results"), folder / "cache" / "steelyard")
    assert (settings.device, settings.offline, settings.hub, settings.data) == ("auto", False, "huggingface", None)
    assert (settings.cache_bytes, settings.threads) == (10**10, None)


def test_file_fills_what_the_environment_lacks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ['results = "out"', "cache_bytes = 5000", 'hub = "modelscope"', 'data = "copies"', "threads = 3"]
    (folder / config.FILE).write_text("\n".join([*lines, 'device = "cpu"', "offline = true"]))
    settings = Settings.load()
    assert (settings.results, settings.data, settings.hub) == (Path("out"), Path("copies"), "modelscope")
    assert (settings.device, settings.offline, settings.cache_bytes, settings.threads) == ("cpu", True, 5000, 3)
    monkeypatch.setenv("STEELYARD_RESULTS", "elsewhere")
    monkeypatch.setenv("STEELYARD_OFFLINE", "no")
    assert (Settings.load().results, Settings.load().offline) == (Path("elsewhere"), False)


def test_argument_wins_over_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_DEVICE", "cuda:0")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    settings = Settings.load(device="cpu", offline=False, hub=None)
    assert (settings.device, settings.offline, settings.hub) == ("cpu", False, "huggingface")
    assert Settings.load().offline


def test_updated_keeps_what_is_not_given() -> None:
    settings = Settings.load(device="cpu").updated(hub="modelscope", device=None)
    assert (settings.device, settings.hub) == ("cpu", "modelscope")


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().offline = True  # type: ignore[misc]


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", "from the environment")
    settings = Settings.load(secrets={"MY_KEY": "s3cret"})
    assert (settings.secret("MY_KEY"), settings.secret("OTHER_KEY")) == ("s3cret", "from the environment")
    assert settings.secret("NO_KEY") is None
    assert "s3cret" not in repr(settings)


def test_unknown_setting_in_the_file(folder: Path) -> None:
    (folder / config.FILE).write_text('result = "x"')
    with pytest.raises(UnknownName) as caught:
        Settings.load()
    assert (caught.value.name, caught.value.near) == ("result", ["results"])


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("results = [1]", "results"),
        ("results = x", None),
        ("threads = 0", "threads"),
        ("threads = 1.5", "threads"),
        ("offline = 2", "offline"),
        ("device = 1", "device"),
        ('cache_bytes = "lots"', "cache_bytes"),
        ("cache_bytes = " + "9" * 5000, None),
        ("results = " + "[" * 100_000, None),
    ],
    ids=["list", "not-toml", "zero", "fraction", "switch", "number", "size", "digits", "nesting"],
)
def test_bad_value_in_the_file(folder: Path, text: str, field: str | None) -> None:
    (folder / config.FILE).write_text(text)
    with pytest.raises(DataError) as caught:
        Settings.load()
    assert (caught.value.path, caught.value.field) == (str(folder / config.FILE), field)


def test_home_is_not_taken_from_a_project_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / config.FILE).write_text('home = "~"')
    with pytest.raises(DataError) as caught:
        Settings.load()
    assert (caught.value.field, caught.value.found) == ("home", "~")
    precious = folder / "cache" / "steelyard" / "file"
    precious.parent.mkdir(parents=True)
    precious.write_text("keep me")
    assert main(["cache", "rm", "all"]) == 2
    assert precious.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [("offline", "maybe"), ("hub", "nohub"), ("threads", "many"), ("cache_bytes", "-1"), ("home", "~nosuchuser/x")],
)
def test_bad_value_in_the_environment(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"STEELYARD_{name.upper()}", value)
    with pytest.raises(UsageError) as caught:
        Settings.load()
    assert (caught.value.option, caught.value.found) == (f"STEELYARD_{name.upper()}", value)
    assert main(["list", "metrics"]) == 2


@pytest.mark.parametrize(("name", "value"), [("offline", "maybe"), ("hub", "nohub"), ("threads", 0), ("data", 1)])
def test_bad_argument(name: str, value: object) -> None:
    with pytest.raises(UsageError) as caught:
        Settings.load(**{name: value})
    assert (caught.value.option, caught.value.found) == (name, value)


def test_unknown_argument() -> None:
    with pytest.raises(UnknownName) as caught:
        Settings.load(devices="cpu")
    assert caught.value.near == ["device"]


def test_command_applies_the_file(folder: Path) -> None:
    (folder / config.FILE).write_text('results = "out"')
    assert main(["run", "bm25", "-t", "NanoAlmanac/en", "--limit", "2", "--no-report", "-q"]) == 0
    assert list((folder / "out").rglob("*.json")) and not (folder / "results").exists()


@pytest.mark.parametrize("text", ["", "ten", "5 XB", "-1GB", "1e9", "9" * 5000], ids=lambda text: text[:9])
def test_parse_bytes_refuses_what_is_not_a_size(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        config.parse_bytes(text)
    assert caught.value.found == text


@pytest.mark.parametrize(
    ("limits", "expected"), [(["max"], None), (["3000000"], 3_000_000), (["max", "2000000"], 2_000_000)]
)
def test_the_memory_of_a_container_is_its_limit(
    limits: list[str], expected: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / "missing", *(tmp_path / str(number) for number in range(len(limits)))]
    for path, limit in zip(paths[1:], limits, strict=True):
        path.write_text(f"{limit}\n", encoding="ascii")
    monkeypatch.setattr(config, "CGROUP_LIMITS", [tmp_path / "missing"])
    machine = config.machine_memory()
    monkeypatch.setattr(config, "CGROUP_LIMITS", paths)
    assert config.machine_memory() == (machine if expected is None else expected)
    if expected is not None:
        assert config.default_memory() == expected // 4
