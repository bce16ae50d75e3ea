"""SIGINT and SIGTERM at safe places only; each program installs its own handlers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from engine_parts import small_task

from steelyard.datasets import write_nano_set
from steelyard.results import ResultStore

HEAD = """
import signal, sys
from steelyard.engine.interrupts import Interrupts
number = signal.Signals[sys.argv[1]]
def stop(number, frame):
    raise KeyboardInterrupt(number)
for one in (signal.SIGINT, signal.SIGTERM):
    signal.signal(one, stop)
"""
WAITS = """
steps = []
try:
    with Interrupts() as interrupts:
        signal.raise_signal(number)
        steps.append("after the signal")
        with interrupts.allowed():
            steps.append("never")
except KeyboardInterrupt as error:
    steps.append(error.args[0] == number)
assert steps == ["after the signal", True], steps
assert signal.getsignal(signal.SIGTERM) is stop and signal.getsignal(signal.SIGINT) is stop
"""
AT_ONCE = """
steps = []
try:
    with Interrupts() as interrupts, interrupts.allowed():
        signal.raise_signal(number)
        steps.append("never")
except KeyboardInterrupt:
    steps.append("stopped")
try:
    with Interrupts():
        signal.raise_signal(number)
        steps.append("waits")
        signal.raise_signal(number)
        steps.append("never")
except KeyboardInterrupt:
    steps.append("the second does not wait")
try:
    with Interrupts():
        signal.raise_signal(number)
        steps.append("to the end")
    steps.append("never")
except KeyboardInterrupt:
    steps.append("delivered at the end")
assert steps == ["stopped", "waits", "the second does not wait", "to the end", "delivered at the end"], steps
"""
IGNORED = """
signal.signal(number, signal.SIG_IGN)
with Interrupts() as interrupts, interrupts.allowed():
    signal.raise_signal(number)
assert signal.getsignal(number) is signal.SIG_IGN
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("body", [WAITS, AT_ONCE, IGNORED], ids=["waits", "at-once", "ignored"])
def test_signals_stop_only_what_may_be_stopped(name: str, body: str) -> None:
    done = subprocess.run([sys.executable, "-c", HEAD + body, name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_sigterm_ends_a_run_with_143_and_keeps_what_is_done(tmp_path: Path) -> None:
    names = [f"NanoSmall/t{number}" for number in range(40)]
    nano = write_nano_set(tmp_path / "NanoSmall", [small_task(name, shift=i) for i, name in enumerate(names)])
    words = [sys.executable, "-m", "steelyard", "run", "bm25", "-t", str(nano), "-o", str(tmp_path / "r")]
    words.append("--no-report")
    environment = {**os.environ, "STEELYARD_HOME": str(tmp_path / "home")}
    with subprocess.Popen(
        words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("2/"):
                process.send_signal(signal.SIGTERM)
                break
        rest = process.stderr.read()
        code = process.wait()
    stored = ResultStore(tmp_path / "r").all(lambda error: pytest.fail(str(error)))
    assert code == 143 and "Traceback" not in rest and "interrupted" in rest
    assert 2 <= len(stored) < 40 and all(result.done for result in stored)
    assert not list((tmp_path / "r").rglob(".*.tmp"))
