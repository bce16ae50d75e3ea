"""The process around a command: readers that go away, interrupts at any moment, errors as data."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from engine_parts import small_task

from steelyard.cli import VERBS, main
from steelyard.datasets import write_nano_set
from steelyard.results import ResultStore

STEELYARD = f"{sys.executable} -m steelyard"


@pytest.fixture
def nano(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Nano-set of one task; caches and results stay in the test's folder."""
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STEELYARD_RESULTS", str(tmp_path / "results"))
    return write_nano_set(tmp_path / "NanoSmall", [small_task("NanoSmall/a")])


@pytest.mark.parametrize(
    ("readers", "code"),
    [
        ("2>&1 | true", 0),
        ("| true", 0),
        (">&-", 0),
        ("2>&-", 0),
        (">&- 2>&-", 0),
        ("2>/dev/full", 0),
        (">/dev/full", 1),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_run_goes_on_whoever_reads_it(readers: str, code: int, unbuffered: str, nano: Path, tmp_path: Path) -> None:
    command = f"set -o pipefail; {STEELYARD} run bm25 'bm25?k1=0.5' -t {nano} {readers}"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr and "ignored" not in done.stderr
    assert done.stderr.count("steelyard: No space left on device") == code
    assert len(ResultStore(tmp_path / "results").all()) == 2 and (tmp_path / "results" / "report.html").exists()


@pytest.mark.parametrize("words", ["--help", "run --help", "list metrics"])
@pytest.mark.parametrize(("readers", "code"), [("| true", 0), (">&-", 0), ("2>&-", 0), (">/dev/full", 1)])
def test_help_and_lists_too(words: str, readers: str, code: int) -> None:
    command = f"set -o pipefail; {STEELYARD} {words} {readers}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == code and "Traceback" not in done.stderr and "ignored" not in done.stderr


def test_notes_do_not_come_among_data_where_there_is_no_standard_error(nano: Path) -> None:
    command = f"{STEELYARD} run bm25 -t {nano} --json 2>&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert len(json.loads(done.stdout)) == 1


def strict(text: str) -> object:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    ("words", "kind", "code"),
    [
        ("run nosuch", "UnknownName", 2),
        ("run --limit many", "UsageError", 2),
        ("eval nowhere.yaml", "", 2),
        ("list tasks --type nosuch", "UsageError", 2),
        ("show nosuch", "UnknownName", 2),
        ("score nowhere.qrels nowhere.run", "", 2),
        ("pages nosuch/task", "", 2),
        ("build nosuch/task -o out", "", 2),
        ("publish nowhere someone/set", "", 2),
        ("cache nosuch", "UsageError", 2),
        ("doctor --nosuch", "UsageError", 2),
        ("nosuch", "UnknownName", 2),
    ],
)
def test_an_error_is_data_where_data_was_asked_for(
    words: str, kind: str, code: int, nano: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(nano)
    found = main([*words.split(), "--json"])
    out, err = capsys.readouterr()
    told = strict(out)
    assert isinstance(told, dict) and list(told) == ["error"]
    assert list(told["error"]) == ["kind", "message", "hint", "exit_code"]
    assert told["error"]["exit_code"] == found and (found == code or not kind) and found != 0
    assert told["error"]["kind"] == kind or not kind
    assert told["error"]["message"] in err, "people are told as ever"
    assert words.split()[0] in VERBS or words == "nosuch"


def test_an_error_behind_data_is_no_second_answer(
    nano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results" / "report.html").mkdir(parents=True)
    assert main(["run", "bm25", "-t", str(nano), "--json"]) == 1
    out, err = capsys.readouterr()
    assert isinstance(strict(out), list) and "--no-report" in err


INTERRUPTED = """
import signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
sys.argv = ["steelyard", *sys.argv[2:]]
import steelyard.cli
def run(arguments, output):
    {body}
    return 0
import steelyard.cli.list as verb
verb.run = run
sys.exit(steelyard.cli.main())
"""


@pytest.mark.parametrize(
    "body",
    [
        "import interrupted_module; import time; time.sleep(5); print('went on')",
        "import weakref; thing = set(); weakref.finalize(thing, signal.raise_signal, 2); del thing\n"
        "    import time; time.sleep(5); print('went on')",
        "import atexit; atexit.register(signal.raise_signal, 2)",
        "raise KeyboardInterrupt",
        "import interrupted_module",
    ],
    ids=["import", "destructor", "shutdown", "command", "import at the end"],
)
def test_an_interrupt_at_any_moment_is_one_plain_line(body: str, tmp_path: Path) -> None:
    (tmp_path / "interrupted_module.py").write_text(
        "import signal\ntry:\n    signal.raise_signal(2)\nexcept KeyboardInterrupt:\n"
        "    raise ImportError('as packages of C say') from None\n"
    )
    command = [sys.executable, "-c", INTERRUPTED.format(body=body), str(tmp_path), "list", "metrics"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip(), done.stdout) == (130, "interrupted", "")


def test_an_interrupted_command_says_so_as_data(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(arguments: object, output: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("steelyard.cli.list.run", run)
    assert main(["list", "metrics", "--json"]) == 130
    assert strict(capsys.readouterr().out) == {
        "error": {"kind": "Interrupted", "message": "interrupted", "hint": None, "exit_code": 130}
    }


def test_behind_nohup_interrupts_stay_ignored() -> None:
    script = "import signal, sys; signal.signal(2, signal.SIG_IGN); sys.argv = ['steelyard', '--version']\n"
    script += "from steelyard.cli import main; code = main(); signal.raise_signal(2); sys.exit(code)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("steelyard ") and signal.SIGINT == 2
