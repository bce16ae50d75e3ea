"""The docs say what the code does: generated pages are fresh, links lead somewhere, snippets run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
BIN = Path(sys.executable).parent


def test_the_pages_of_the_verbs_are_fresh() -> None:
    program = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run `make docs`:\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_verb_and_setting_is_in_the_docs() -> None:
    from steelyard import config
    from steelyard.cli import VERBS

    prose = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for verb in VERBS:
        assert f"steelyard {verb}" in prose
    for variable in set(re.findall(r"STEELYARD_[A-Z_]+", Path(config.__file__).read_text(encoding="utf-8"))):
        assert variable in prose, f"{variable} is not documented"


RUN = ("README.md", "docs/quick-start.md", "docs/results.md", "docs/tutorial-rag.md", "docs/tutorial-training.md")


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_the_snippets_run(name: str, tmp_path: Path) -> None:
    """Python and console snippets of the page run in order, in one folder, as a newcomer would type them.

    What a page shows below a command is what the command prints.
    """
    environment = os.environ | {
        "STEELYARD_HOME": str(tmp_path / "home"),
        "STEELYARD_OFFLINE": "1",
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    }
    text = (ROOT / name).read_text(encoding="utf-8")
    ran = 0
    for language, body in FENCE.findall(text):
        if language == "python":
            commands = [([sys.executable, "-c", body], "")]
        elif language == "console":
            typed = [part.partition("\n") for part in re.split(r"^\$ ", body, flags=re.MULTILINE) if part]
            commands = [(["bash", "-ec", line], shown) for line, _, shown in typed]
        else:
            continue
        for command, shown in commands:
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
            printed = [line.rstrip() for line in done.stdout.splitlines()]
            assert not shown or printed == shown.splitlines(), command[-1]
            ran += 1
    assert ran >= 3
