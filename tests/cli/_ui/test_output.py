"""How commands speak: what --quiet leaves, tables on narrow terminals, a slip in the file of settings."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_parts import small_task

from steelyard.cli import VERBS, build_parser, main
from steelyard.cli._ui.output import Output, format_table
from steelyard.cli._ui.parser import Parser
from steelyard.cli._ui.progress import Progress
from steelyard.datasets import write_nano_set
from steelyard.errors import SteelyardError
from steelyard.text.display import broken_at


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def nano(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Nano-set of one task; caches and results stay in the test's folder."""
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STEELYARD_RESULTS", str(tmp_path / "results"))
    return write_nano_set(tmp_path / "NanoSmall", [small_task("NanoSmall/a")])


@pytest.mark.slow
def test_quiet_means_the_same_for_every_verb_that_makes_something(
    nano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, cut = str(nano), str(tmp_path / "cut")
    for words in (
        ["run", "bm25", "-t", source],
        ["run", "bm25", "-t", source, "--metrics", "nDCG@3", "P@2"],
        ["build", "sample", source, "-o", cut, "--docs", "7", "--overwrite"],
        ["build", "candidates", cut, "--bm25"],
        ["build", "publish", cut, "someone/NanoCut", "--dry-run"],
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
    lines = [line for table in stages for line in table.splitlines() if not line.startswith("*")]  # a note
    assert max(map(len, lines)) <= columns, stages


def test_words_are_broken_where_their_parts_end() -> None:
    assert broken_at("[bm25, dense:use-multilingual-v3]", 16) == ["[bm25,", "dense:use-", "multilingual-v3]"]
    assert broken_at("日本語日本語", 5) == ["日本", "語日", "本語"] and broken_at("", 5) == [""]
    assert broken_at("abc", 1) == ["a", "b", "c"], "a line takes one character at least"
    table = format_table(["task", "x"], [["a" * 50, 0.5], ["b", 0.25]], max_width=20)
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


def test_a_folder_that_cannot_be_written_is_reported_before_the_work_and_without_a_traceback(
    nano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], error_of: Callable[..., SteelyardError]
) -> None:
    (tmp_path / "file").write_text("in the way")
    file = str(tmp_path / "file")
    for words in (
        ["run", "bm25", "-t", str(nano), "-o", file],
        ["pages", str(nano), "-o", file],
        ["build", "sample", str(nano), "-o", f"{file}/below", "--docs", "7"],
    ):
        assert main(words) == 1
        err = capsys.readouterr().err
        assert file in err and "hint: " in err and "Traceback" not in err
        assert not (tmp_path / "results").exists(), "nothing was evaluated that could not be stored"
    assert error_of("list", "results", "--results", file).path == file
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
    assert "No space left on device" in done.stderr.splitlines()[-2] and done.stderr.count("hint: ") == 1
    assert "Traceback" not in done.stderr and "ignored" not in done.stderr


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["run", "--limits"], "--limit"),
        (["run", "--limits=5"], "--limit"),
        (["list", "task"], "tasks"),
        (["cache", "lss"], "ls"),
        (["build", "sample", "x", "--seeed", "3"], "--seed"),
        (["run", "--hub", "hugingface"], "huggingface"),
        (["show"], None),
    ],
)
def test_a_wrong_option_is_reported_in_two_lines(
    words: list[str], near: str | None, capsys: pytest.CaptureFixture[str], error_of: Callable[..., SteelyardError]
) -> None:
    assert main(words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
    hint = error_of(*words).hint
    assert hint == f"did you mean {near}?" if near else "--help" in str(hint)


@pytest.mark.parametrize(
    ("words", "option", "found"),
    [
        (["run", "--seed", "x"], "--seed", "x"),
        (["run", "--seed", "-1"], "seed", -1),
        (["build", "fidelity", "x", "--target", "2.0"], "--target", 2.0),
        (["build", "fidelity", "x", "--draws", "-1"], "--draws", -1),
        (["build", "fidelity", "x", "--sizes", "10,0"], "--sizes", "10,0"),
        (["build", "sample", "x", "-o", "y", "--queries", "0"], "--queries", 0),
        (["score", "a", "b", "-M", "0"], "-M", 0),
        (["cache", "rm", "all", "--json"], "--yes", None),
    ],
)
def test_a_wrong_value_names_its_option(
    words: list[str],
    option: str,
    found: object,
    error_of: Callable[..., SteelyardError],
    own_home: Path,
) -> None:
    write_nano_set(own_home / "builtin" / "NanoSmall-1", [small_task("NanoSmall/a")])
    error = error_of(*words)
    assert (error.exit_code, error.option, error.found) == (2, option, found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["build", "{nano}", "-o", "{out}", "--docs", "7"], ["build", "sample"]),
        (["build", "-o", "{out}", "--docs", "7", "{nano}"], ["build", "sample"]),
        (["publish", "{nano}", "someone/NanoSmall", "--dry-run"], ["build", "publish"]),
    ],
)
def test_old_spellings_work_with_a_note(
    old: list[str], new: list[str], nano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.format(nano=nano, out=tmp_path / "out") for word in old]
    code = main(words)
    err = capsys.readouterr().err
    assert f"deprecated: use `steelyard {' '.join(new)}" in err
    skip = 1 if old[0] == "build" else 0
    assert main([*new, *words[skip if skip else 1 :], *(["--overwrite"] if skip else [])]) == code
    assert "deprecated" not in capsys.readouterr().err


def test_options_may_come_before_the_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json", "metrics"]) == 0
    metrics = capsys.readouterr().out
    assert main(["list", "metrics", "--json"]) == 0 and capsys.readouterr().out == metrics
    assert main(["list", "--group", "NanoAlmanac", "groups", "--json"]) == 0
    assert [row["group"] for row in json.loads(capsys.readouterr().out)] == ["NanoAlmanac"]


def every_parser() -> list[Parser]:
    verbs = [build_parser(verb) for verb in VERBS]
    return [parser for verb in verbs for parser in (verb, *verb.commands.values())]


@pytest.mark.parametrize("parser", every_parser(), ids=lambda parser: parser.prog)
def test_every_line_of_help_makes_sense_on_its_own(parser: Parser) -> None:
    for action in parser._actions:
        if action.help is argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):
            continue
        assert action.help and action.help[0].isupper() and action.help[-1] in ".)", action.dest
        assert len(textwrap.wrap(action.help, 80 - 24 - 2)) <= 2, f"{action.dest} takes more than two lines"
        takes_value = action.option_strings and action.nargs != 0
        if takes_value and action.default not in (None, "", [], argparse.SUPPRESS):
            assert "default" in action.help, f"{action.dest} does not name its default"


@pytest.mark.parametrize("text", ["a\x1b[2Jb", "bell\x07", "c1\x9b31m", "rtl\u202eevil", "cr\rover", "del\x7f"])
def test_nothing_that_is_printed_controls_the_terminal(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.line(text)
    output.note(text)
    output.failure(text)
    output.table(["name"], [[text], [f"{text}\nforged line"]])
    output.error(SteelyardError(text, hint=text))
    output.data({"name": text})
    bar = Terminal()
    Progress(bar, terminal=True, clock=iter([0.0, 9.0]).__next__).show(0.5, text)
    out, err = capsys.readouterr()
    shown = out + err + bar.getvalue().removeprefix("\r\x1b[K")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown)
    assert "\nforged line" not in shown


def test_help_on_a_verb_and_options_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "cache"]) == 0 and "usage: steelyard cache" in capsys.readouterr().out
    assert main(["--json", "list", "metrics"]) == 2
    assert "write options after the verb: steelyard list --json" in capsys.readouterr().err


def test_a_code_that_no_language_has_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "tasks", "-l", "en", "chinese"]) == 0
    assert "unknown language code 'chinese': the code of Chinese is zh" in capsys.readouterr().err
    assert main(["run", "bm25", "-t", "NanoAlmanac/en", "-l", "qq"]) == 2
    assert "unknown language code 'qq'\n" in capsys.readouterr().err
    assert main(["list", "tasks", "-l", "zh-CN", "deu", "cmn-Hans", "pt_BR", "multilingual"]) == 0
    assert "unknown language" not in capsys.readouterr().err
