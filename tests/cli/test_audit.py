"""`steelyard audit`: what it prints, what it writes, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.cli import main

DOCUMENT = "The Nile is a river in Africa that flows north through eleven countries to the sea."
QUERY = "how long is the river Nile in Africa"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A BEIR folder `places` and a training file that has its only query together with the positive."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "places"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text(json.dumps({"_id": "d1", "text": DOCUMENT}) + "\n", encoding="utf-8")
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": QUERY}) + "\n", encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n", encoding="utf-8")
    rows = [{"query": "another question", "positive": "another answer"}, {"query": QUERY, "positive": DOCUMENT}]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def test_the_verdict_is_printed_and_the_files_are_written(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "./places", "--against", "train.jsonl"]) == 0
    out, err = capsys.readouterr()
    assert "severe" in out and "2 rows" in err
    assert {path.name for path in (data / "audit").glob("*.*")} >= {"audit.json", "matches.jsonl", "report.html"}


def test_json_is_the_file_that_was_written(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "./places", "--against", "train.jsonl", "--json", "-q", "-o", "out", "--clean", "clean"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    printed = json.loads(out)
    assert err == ""
    assert printed == json.loads((data / "out" / "audit.json").read_text(encoding="utf-8"))
    assert printed["tasks"][0]["pairs"]["ids"] == [["q1", "d1"]]
    assert (data / "clean" / "train.jsonl").read_text(encoding="utf-8").count("\n") == 1


def test_without_training_data_the_sets_are_audited_by_themselves(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "./places", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["kind"], report["between"]) == ("overlap", None)
    assert (data / "audit" / "overlap.json").exists()


def test_a_bad_row_is_a_note_and_a_bad_file_is_exit_code_1(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (data / "train.jsonl").open("a", encoding="utf-8") as file:
        file.write("{broken\n")
    assert main(["audit", "./places", "--against", "train.jsonl"]) == 0
    assert "invalid-json" in capsys.readouterr().err
    (data / "bad.parquet").write_bytes(b"not a table")
    assert main(["audit", "./places", "--against", "bad.parquet", "train.jsonl"]) == 1
    out, err = capsys.readouterr()
    assert "bad.parquet" in err and "severe" in out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--against", "absent.jsonl"], 3),
        (["--against", "train.jsonl", "--jaccard", "0"], 2),
        (["--against", "train.jsonl", "--threads", "0"], 2),
        (["--against", "train.jsonl", "--parts", "quries"], 2),
        (["--clean", "out"], 2),
        (["--agianst", "train.jsonl"], 2),
    ],
)
def test_wrong_words_have_their_exit_codes(words: list[str], code: int, data: Path) -> None:
    assert main(["audit", "./places", *words]) == code


def test_progress_names_file_rows_and_matches(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.cli._ui.progress.PATIENCE", 0.0)
    assert main(["audit", "./places", "--against", "train.jsonl"]) == 0
    assert "train.jsonl: 2 rows" in capsys.readouterr().err
