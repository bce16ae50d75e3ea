"""`steelyard doctor`, by its real command."""

import json
from importlib import metadata

import pytest

from steelyard.cli import main


@pytest.fixture(autouse=True)
def home(own_home):
    return own_home


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
    monkeypatch.setattr("steelyard.cli.doctor.machine.metadata.requires", lambda name: wanted)
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
