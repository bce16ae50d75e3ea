"""`steelyard cache` and `steelyard doctor`, by their real commands."""

import json
from importlib import metadata

import pytest
from encoder_parts import Letters

from steelyard.cli import main
from steelyard.encoders.cache.cached_encoder import encode_once
from steelyard.encoders.cache.vector_store import VectorStore


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    folder = tmp_path / "home"
    monkeypatch.setenv("STEELYARD_HOME", str(folder))
    monkeypatch.delenv("STEELYARD_CACHE_BYTES", raising=False)
    return folder


@pytest.fixture
def filled(home):
    for encoder in (Letters(), Letters(symmetric=True)):
        encode_once(encoder, ["a", "b"], "document", store=VectorStore(encoder))
    (home / "sets" / "NanoOne").mkdir(parents=True)
    (home / "sets" / "NanoOne" / "corpus.parquet").write_bytes(b"x" * 1500)
    return home


def names(capsys):
    assert main(["cache", "--json"]) == 0
    return [thing["name"] for thing in json.loads(capsys.readouterr().out)["stored"]]


def test_an_empty_home(home, capsys):
    assert main(["cache"]) == 0
    assert "0 B in" in capsys.readouterr().err
    assert names(capsys) == []
    assert main(["cache", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(home)


def test_ls_shows_everything_with_sizes(filled, capsys):
    assert main(["cache", "ls", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert len(listed["stored"]) == 3
    assert {"name": "sets/NanoOne", "files": 1, "bytes": 1500} in listed["stored"]
    assert listed["bytes"] == sum(file.stat().st_size for file in filled.rglob("*") if file.is_file())
    assert main(["cache"]) == 0
    assert "1.5 kB" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("what", "left"),
    [("all", 0), ("vectors", 1), ("sets", 2), ("NanoOne", 2), ("sets/NanoOne", 2), ("letters-small", 1)],
)
@pytest.mark.usefixtures("filled")
def test_rm_removes_what_was_named(what, left, capsys):
    assert main(["cache", "rm", what]) == 0
    capsys.readouterr()
    assert len(names(capsys)) == left


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("what", ["NanoTwo", "..", "../home", "vectors/../sets"])
def test_rm_removes_nothing_else(what, capsys):
    assert main(["cache", "rm", what]) == 2
    assert "unknown stored thing" in capsys.readouterr().err
    assert len(names(capsys)) == 3


@pytest.mark.usefixtures("filled")
def test_trim_removes_vectors_only(capsys):
    assert main(["cache", "trim", "--max-bytes", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == 2
    assert main(["cache", "ls", "--json"]) == 0
    assert "sets/NanoOne" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["rm"], ["ls", "vectors"], ["ls", "--max-bytes", "1"], ["trim", "--max-bytes", "much"]]
)
def test_a_wrong_request_is_refused(arguments):
    assert main(["cache", *arguments]) == 2


def test_doctor_finds_a_sound_installation(capsys, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret_of_the_test")
    assert main(["doctor", "--json"]) == 0
    text = capsys.readouterr().out
    assert "hf_secret_of_the_test" not in text
    report = json.loads(text)
    found = {finding["topic"]: finding for finding in report["findings"]}
    assert report["ok"] is True
    assert found["numpy"]["found"] == metadata.version("numpy")
    assert "with a token" in found["hub"]["found"]
    assert found["matrix product"]["found"].endswith("GFLOP/s")
    assert "texts/s" in found["use-multilingual-v3"]["found"]


def test_doctor_names_what_is_missing_and_the_remedy(capsys, monkeypatch):
    extras = ['torch-no-such>=2; extra == "torch"', 'no-e5>=0.3; extra == "no-e5"']
    wanted = ["numpy>=2.0", "no-such-package-here>=1", "sentencepiece==0.0.1", *extras]
    monkeypatch.setattr("steelyard.cli.doctor.metadata.requires", lambda name: wanted)
    assert main(["doctor", "--json"]) == 3
    found = {finding["topic"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert found["no-such-package-here"]["status"] == "missing"
    assert found["no-such-package-here"]["remedy"] == "pip install 'no-such-package-here>=1'"
    assert found["sentencepiece"]["status"] == "missing"
    assert found["extra [torch]"]["status"] == "optional"
    assert found["extra [torch]"]["remedy"] == "pip install 'steelyard[torch]'"
    assert found["extra [no-e5]"]["status"] == "optional" and "no-e5" not in found
    assert "matrix product" not in found


def test_doctor_names_a_home_that_cannot_be_written(home, capsys):
    home.parent.mkdir(exist_ok=True)
    home.write_text("a file where the folder should be")
    assert main(["doctor", "--no-speed"]) == 3
    assert "STEELYARD_HOME" in capsys.readouterr().err
