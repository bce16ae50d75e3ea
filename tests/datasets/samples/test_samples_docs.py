"""The examples of docs/data.md run as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "data.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("<!-- samples: begin -->")[2].partition("<!-- samples: end -->")[0]
EXAMPLES = re.findall(r"^\*\*([\w ]+)\*\*.*?^```console\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE)


def test_there_is_an_example_of_each_type() -> None:
    assert [name for name, _ in EXAMPLES] == ["STS", "Pair classification", "Classification", "Clustering", "Reranking"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "body"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_the_examples_run(name: str, body: str, tmp_path: Path) -> None:
    commands = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"STEELYARD_HOME": str(tmp_path / "home"), "STEELYARD_OFFLINE": "1", "PATH": path}
    assert len(commands) == 3
    for command in commands:
        done = subprocess.run(
            ["bash", "-ec", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
