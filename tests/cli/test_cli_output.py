"""How commands speak: what --quiet leaves, tables on narrow terminals, a slip in the file of settings."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from engine_parts import small_task

from steelyard.cli import VERBS, main
from steelyard.cli._ui.output import broken_at, format_table
from steelyard.datasets import write_nano_set


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def nano(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Nano-set of one task; caches and results stay in the test's folder."""
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STEELYARD_RESULTS", str(tmp_path / "results"))
    return write_nano_set(tmp_path / "NanoSmall", [small_task("NanoSmall/a")])


def test_quiet_means_the_same_for_every_verb_that_makes_something(
    nano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, cut = str(nano), str(tmp_path / "cut")
    for words in (
        ["run", "bm25", "-t", source],
        ["run", "bm25", "-t", source, "--metrics", "nDCG@3", "P@2"],
        ["build", source, "-o", cut, "--docs", "7", "--overwrite"],
        ["build", "candidates", cut, "--bm25"],
        ["publish", cut, "someone/NanoCut", "--dry-run"],
        ["pages", source, "-o", str(tmp_path / "pages")],
        ["cache", "ls"],
        ["doctor", "--no-speed"],
    ):
        assert main(words) == 0
        loud = capsys.readouterr()
        assert main([*words, "-q"]) == 0
        quiet = capsys.readouterr()
        assert quiet.err == "", words
        assert quiet.out.split("\n")[0] == loud.out.split("\n")[0] != "", words


def test_a_quiet_config_says_nothing_unless_it_is_asked(
    nano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def config(verbosity: int) -> str:
        evaluation = {"tasks": ["NanoAlmanac/en"], "limits": 2, "verbosity": verbosity}
        model = [{"model_name_or_path": "bm25"}]
        return json.dumps(
            {"eval_backend": "RAGEval", "eval_config": {"tool": "MTEB", "model": model, "eval": evaluation}}
        )

    words = ["eval", config(0), "-o", str(tmp_path / "files"), "--no-report"]
    assert main(words) == 0
    assert capsys.readouterr() == ("", "")
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["steelyard"]["model"] == "bm25"
    assert main(["eval", config(2), *words[2:], "-q"]) == 0
    out, err = capsys.readouterr()
    assert "bm25" in out and err == ""
    assert main(["eval", config(2), config(2), *words[2:], "--json"]) == 0
    out, err = capsys.readouterr()
    assert [result["task_name"] for result in json.loads(out)] == ["NanoAlmanac/en"] * 2, "one list of all configs"
    assert err.count("1 evaluation: 1 model x 1 task") == 2 and "1/1  bm25 on" in err


def test_tables_that_follow_one_another_are_apart_in_a_file(nano: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "dense", "-t", str(nano), "--precision", "int8", "--no-report"]) == 0
    main_table, variants = capsys.readouterr().out.split("\n\n")
    assert main_table.startswith("nDCG@10") and "int8" in variants
    (nano / "qrels" / "b.parquet").write_bytes(b"not parquet")
    (nano / "corpus" / "b.parquet").write_bytes((nano / "corpus" / "a.parquet").read_bytes())
    (nano / "queries" / "b.parquet").write_bytes((nano / "queries" / "a.parquet").read_bytes())
    assert main(["run", "dense", "-t", str(nano), "--precision", "int8", "--no-report"]) == 1
    main_table, variants = capsys.readouterr().out.split("\n\n")
    assert "failed" in main_table and "int8" not in main_table, "a variant stays one where a task fails"


@pytest.mark.parametrize("columns", [30, 40, 60])
def test_every_table_of_a_run_keeps_to_the_width_of_the_terminal(
    columns: int, nano: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "by_length.py").write_text("def fit(query, texts):\n    return [-abs(len(t) - 90) for t in texts]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLUMNS", str(columns))
    out, err = Terminal(), Terminal()
    monkeypatch.setenv("TERM", "dumb")  # no bar
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    model = "[bm25, dense]?method=rrf > rerank:by_length:fit?depth=5&version=1"
    assert main(["run", "bm25", model, "-t", str(nano), "--no-report"]) == 0
    tables = out.getvalue().splitlines()
    assert tables and max(map(len, tables)) <= columns, out.getvalue()
    (_, *stages), end = err.getvalue().split("\n\n")[:-1], err.getvalue().rpartition("\n\n")[2]
    assert "2 evaluated" in end and "gain" in "".join(stages) and "recall ceiling" in "".join(stages)
    assert max(len(line) for table in stages for line in table.splitlines()) <= columns, stages


def test_words_are_broken_where_their_parts_end() -> None:
    assert broken_at("[bm25, dense:use-multilingual-v3]", 16) == ["[bm25,", "dense:use-", "multilingual-v3]"]
    assert broken_at("日本語日本語", 5) == ["日本", "語日", "本語"] and broken_at("", 5) == [""]
    assert broken_at("abc", 1) == ["a", "b", "c"], "a line takes one character at least"
    table = format_table(["task", "x"], [["a" * 50, 0.5], ["b", 0.25]], widest=20)
    assert table.replace("\n", "").count("a") == 50 + 1, "nothing is lost"
    assert max(map(len, table.splitlines())) <= 20


@pytest.mark.parametrize("words", [["score", "a", "b"], ["list", "metrics"], ["doctor", "--no-speed"], ["show", "map"]])
def test_a_slip_in_the_settings_is_told_by_every_verb(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words[0] in VERBS
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steelyard.toml").write_text('result = "x"')
    assert main(words) == 2
    err = capsys.readouterr().err
    assert err.count("unknown setting") == 1 and "did you mean 'results'?" in err


def test_a_place_that_cannot_be_written_is_told_before_the_work_and_without_a_traceback(
    nano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    file = str(tmp_path / "file")
    for words, told in (
        (["run", "bm25", "-t", str(nano), "-o", file], "file is a file"),
        (["pages", str(nano), "-o", file], "file is a file"),
        (["build", str(nano), "-o", f"{file}/below", "--docs", "7"], "Not a directory"),
    ):
        assert main(words) == 1
        err = capsys.readouterr().err
        assert told in err and "hint: " in err and "Traceback" not in err
        assert not (tmp_path / "results").exists(), "nothing was evaluated that nobody could have kept"
    assert main(["list", "results", "--results", file]) == 1 and "file is a file" in capsys.readouterr().err
    assert main(["run", "bm25", "-t", str(nano), "--mteb-files", file]) == 1
    assert "choose another folder with --mteb-files" in capsys.readouterr().err
    assert (tmp_path / "results" / "report.html").exists()


@pytest.mark.parametrize("words", ["list metrics", "list metrics --json", "--version"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_disk_that_fills_up_while_data_is_printed_is_told(words: str, unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "steelyard", *words.split()]
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2] == "steelyard: No space left on device" and done.stderr.count("hint: ") == 1
    assert "Traceback" not in done.stderr and "ignored" not in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["run", "--limits"],
            "steelyard: run: unrecognized arguments: --limits\n  hint: did you mean --limit?\n",
        ),
        (["list", "task"], "did you mean tasks?"),
        (["cache", "list"], "did you mean ls?"),
        (["show"], "required: name\n  hint: steelyard show --help tells the options\n"),
    ],
)
def test_a_slip_in_an_option_is_told_in_two_lines(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert told in err and len(err.splitlines()) == 2


def test_help_on_a_verb_and_options_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "cache"]) == 0 and "usage: steelyard cache" in capsys.readouterr().out
    assert main(["--json", "list", "metrics"]) == 2
    assert "options stand behind the verb: steelyard list --json" in capsys.readouterr().err


def test_a_code_that_no_language_has_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "tasks", "-l", "en", "chinese"]) == 0
    assert "no language has the code 'chinese': zh is Chinese" in capsys.readouterr().err
    assert main(["run", "bm25", "-t", "NanoAlmanac/en", "-l", "qq"]) == 2
    assert "no language has the code 'qq'\nsteelyard: no task is left" in capsys.readouterr().err
    assert main(["list", "tasks", "-l", "zh-CN", "deu", "cmn-Hans", "pt_BR", "multilingual"]) == 0
    assert "no language" not in capsys.readouterr().err
