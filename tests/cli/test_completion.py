"""Completion in real shells: what a user sees after the tab key, typed into a terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from steelyard.cli import main
from steelyard.cli.completion import SCRIPTS, completions
from steelyard.config import Settings

INSTALLED = {
    "bash": "bash-completion/steelyard",
    "zsh": "functions/_steelyard",
    "fish": "fish/completions/steelyard.fish",
}
"""Where the script of each shell is put, as the note of the command says."""
START = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-f", "-i"],
    "fish": ["--private", "-i"],
}
SETUP = {
    "bash": "source {script}; bind 'set bell-style none'",
    "zsh": "fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; unsetopt beep",
    "fish": "set -g fish_autosuggestion_enabled 0",
}
LINES = [
    ("steelyard reco", "steelyard recommend"),
    ("steelyard run dense:use-mul", "steelyard run dense:use-multilingual-v3"),
    ("steelyard run bm25 -t NanoAlmanac/j", "steelyard run bm25 -t NanoAlmanac/ja"),
    ("steelyard run bm25 --overwrite-s", "steelyard run bm25 --overwrite-strategy"),
    ("true && steelyard build samp", "true && steelyard build sample"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder in which names were listed once, and a command `steelyard` on the path."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "bin").mkdir()
    command = folder / "bin" / "steelyard"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m steelyard "$@"\n')
    command.chmod(0o755)
    completions("steelyard run ", Settings.load(home=folder / "cache"))
    return folder


def environment(home: Path) -> dict[str, str]:
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    own = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "ZDOTDIR": str(home), "TERM": "xterm"}
    return {**os.environ, **own, "PATH": path, "STEELYARD_HOME": str(home / "cache"), "PS1": "> "}


def shell_path(shell: str) -> str:
    """Return the program; CI installs all three (`make shells`), elsewhere a shell may be missing."""
    program = shutil.which(shell)
    if program is None and os.environ.get("CI"):
        pytest.fail(f"{shell} is not installed: make shells")
    return program or pytest.skip(f"{shell} is not installed: make shells")


@pytest.mark.slow
@pytest.mark.parametrize("shell", [*SCRIPTS])
def test_the_tab_key_completes_in_a_terminal(shell: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = shell_path(shell)
    assert main(["completion", shell]) == 0
    script = home / ".config" / INSTALLED[shell]
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(capsys.readouterr().out)
    assert subprocess.run([program, "-n", str(script)], check=False).returncode == 0
    terminal = pexpect.spawn(
        program, START[shell], env=environment(home), encoding="utf-8", timeout=30, dimensions=(40, 200), echo=False
    )
    try:
        terminal.sendline(SETUP[shell].format(script=script, folder=script.parent))
        for line, completed in LINES:
            terminal.sendline("echo ready-$((1 + 1))" if shell != "fish" else "echo ready-(math 1 + 1)")
            terminal.expect("ready-2")
            terminal.send(f"{line}\t")
            # The completed line becomes the argument of an echo, between quotation marks.
            terminal.send('\x01echo "got: \x05"\r')
            terminal.expect_exact(f"got: {completed}")
    finally:
        terminal.close(force=True)
