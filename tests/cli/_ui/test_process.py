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


@pytest.mark.slow
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
    assert done.stderr.count("No space left on device") == code
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
        ("build sample nosuch/task -o out", "", 2),
        ("build publish nowhere someone/set", "", 2),
        ("cache nosuch", "UsageError", 2),
        ("doctor --nosuch", "UsageError", 2),
        ("nosuch", "UnknownName", 2),
    ],
)
def test_an_error_is_data_where_data_was_asked_for(
    words: str, kind: str, code: int, nano: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(nano)
    exit_code = main([*words.split(), "--json"])
    out, err = capsys.readouterr()
    data = strict(out)
    assert isinstance(data, dict) and list(data) == ["error"]
    assert list(data["error"]) == ["kind", "message", "hint", "exit_code"]
    assert data["error"]["exit_code"] == exit_code and (exit_code == code or not kind) and exit_code != 0
    assert data["error"]["kind"] == kind or not kind
    assert data["error"]["message"] in err, "the error is printed, too"
    assert words.split()[0] in VERBS or words == "nosuch"


def test_an_error_behind_data_is_no_second_answer(
    nano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results" / "report.html").mkdir(parents=True)
    assert main(["run", "bm25", "-t", str(nano), "--json"]) == 1
    out, err = capsys.readouterr()
    assert isinstance(strict(out), list) and "--no-report" in err


SIGNALLED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored here
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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize(
    "body",
    [
        "signal.raise_signal({number}); print('went on')",
        "import interrupted_module; print('went on')",
        "import atexit; atexit.register(signal.raise_signal, {number})",
        "exec('try: signal.raise_signal({number})\\nexcept BaseException: raise RuntimeError'); print('went on')",
    ],
    ids=["command", "import", "shutdown", "as DuckDB"],
)
def test_a_signal_ends_a_command_with_one_line(body: str, number: int, code: int, tmp_path: Path) -> None:
    (tmp_path / "interrupted_module.py").write_text(
        f"import signal\ntry:\n    signal.raise_signal({number})\nexcept KeyboardInterrupt:\n"
        "    raise ImportError('as packages of C do') from None\n"
    )
    script = SIGNALLED.format(body=body.format(number=number))
    command = [sys.executable, "-c", script, str(tmp_path), "list", "metrics"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip(), done.stdout) == (code, "interrupted", "")


@pytest.mark.parametrize("words", [["list", "metrics", "--json"]])
def test_a_terminated_command_is_data_with_its_exit_code(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", SIGNALLED.format(body="signal.raise_signal(15)"), str(tmp_path), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 143 == json.loads(done.stdout)["error"]["exit_code"]


@pytest.mark.slow
@pytest.mark.parametrize("ignored", [False, True], ids=["", "SIGINT ignored"])
def test_sigterm_ends_a_run_in_order_and_the_same_command_continues(nano: Path, tmp_path: Path, ignored: bool) -> None:
    models = [f"bm25?k1={0.5 + i / 100}" for i in range(60)]
    words = ["steelyard", "run", *models, "-t", str(nano), "--no-report"]
    handler = "SIG_IGN" if ignored else "default_int_handler"
    script = f"import signal, sys; signal.signal(signal.SIGINT, signal.{handler}); sys.argv = {words!r}\n"
    command = [sys.executable, "-c", script + "from steelyard.cli import main; sys.exit(main())"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("3/60"):
                process.send_signal(signal.SIGTERM)
                break
        rest = process.stderr.read()
    assert process.returncode == 143 and "interrupted" in rest and "Traceback" not in rest
    stored = ResultStore(tmp_path / "results").all()
    assert 3 <= len(stored) < 60 and f"{len(stored)} evaluated" in rest
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{60 - len(stored)} evaluated, {len(stored)} of 60 already stored" in again.stderr


def test_an_interrupted_command_is_data(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(arguments: object, output: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("steelyard.cli.list.run", run)
    assert main(["list", "metrics", "--json"]) == 130
    assert strict(capsys.readouterr().out) == {
        "error": {"kind": "Interrupted", "message": "interrupted", "hint": None, "exit_code": 130}
    }


def test_sigint_stays_ignored_behind_nohup() -> None:
    script = "import signal, sys; signal.signal(2, signal.SIG_IGN); sys.argv = ['steelyard', '--version']\n"
    script += "from steelyard.cli import main; code = main(); signal.raise_signal(2); sys.exit(code)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("steelyard ") and signal.SIGINT == 2
