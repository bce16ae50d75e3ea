"""The pages about comparisons are true: commands and snippets run, and so does the workflow that is ready to copy."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
WORKFLOW = ROOT / "docs" / "workflows" / "steelyard-gate.yml"
PROGRAM = f'steelyard() {{ "{sys.executable}" -m steelyard "$@"; }}\n'


def shell(command: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"STEELYARD_OFFLINE": "1", **more}
    return subprocess.run(
        ["bash", "-ec", PROGRAM + command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compare.md", "gate.md"])
def test_commands_and_snippets_of_the_page_run(name: str, tmp_path: Path) -> None:
    ran = 0
    for language, body in FENCE.findall((ROOT / "docs" / name).read_text(encoding="utf-8")):
        if language == "console":
            commands = [line.removeprefix("$ ") for line in body.splitlines() if line.startswith("$ ")]
            done = [shell(command, tmp_path) for command in commands]
        elif language == "python":
            environment = os.environ | {"STEELYARD_OFFLINE": "1"}
            command = [sys.executable, "-c", body]
            done = [subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)]
        else:
            continue
        for process in done:
            assert process.returncode == 0, process.stderr
            ran += 1
    assert ran >= 3


@pytest.fixture(scope="module")
def workflow() -> Any:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))


def test_workflow_has_what_github_needs(workflow: Any) -> None:
    triggers = workflow.get("on", workflow.get(True))  # YAML 1.1 reads `on` as true
    job = workflow["jobs"]["gate"]
    assert "pull_request" in triggers and job["runs-on"] and workflow["permissions"] == {"contents": "read"}
    assert all("uses" in step or "run" in step for step in job["steps"])
    assert next(step["run"] for step in job["steps"] if "run" in step).startswith("pip install steelyard")


@pytest.mark.slow
def test_commands_of_the_workflow_run(workflow: Any, tmp_path: Path) -> None:
    job = workflow["jobs"]["gate"]
    (check,) = [step["run"] for step in job["steps"] if step.get("run", "").startswith("steelyard ")]
    text = WORKFLOW.read_text(encoding="utf-8")
    (baseline,) = re.findall(r"^#\s+(steelyard compare .*)$", text, re.MULTILINE)
    assert shell(check, tmp_path, **job["env"]).returncode == 3, "without a baseline the gate does not pass"
    assert shell(baseline, tmp_path).returncode == 0
    passed = shell(check, tmp_path, **job["env"], GITHUB_ACTIONS="true")
    assert passed.returncode == 0, passed.stderr
    upload = next(step for step in job["steps"] if "upload-artifact" in step.get("uses", ""))
    kept = upload["with"]["path"].split()
    assert all((tmp_path / name).exists() for name in kept)
    worse = shell(check, tmp_path, MODEL="dense?truncate_dim=8", GITHUB_ACTIONS="true")
    assert worse.returncode == 1 and "::error title=Regression" in worse.stderr and "gate failed" in worse.stderr
