"""The same scores, keys and files, however often, in which order and with how many threads a batch runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from executor_parts import stored_results

SUPPORT = Path(__file__).parents[1] / "support"
MODELS = (
    "bm25",
    "dense:use-multilingual-v3",
    "[bm25, dense:use-multilingual-v3]",
    "dense:cluster_models:letters?version=1",
)
TASKS = ("NanoAlmanac/en", "NanoAlmanac/de")
SCRIPT = """
import json, sys
from steelyard import evaluate
models, tasks, folder, executor = sys.argv[1].split("|"), sys.argv[2].split("|"), *sys.argv[3:]
for result in evaluate(models, tasks, results=folder, executor=executor):
    print(json.dumps([result.task, result.model, result.key, result.metrics], sort_keys=True))
"""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "STEELYARD_THREADS")


def run(folder: Path, *, threads: int = 1, reverse: bool = False, executor: str = "local") -> tuple[set[str], Any]:
    """Run the batch in a process of its own, without stored vectors; return its lines and its files."""
    step = -1 if reverse else 1
    path = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
    variables = os.environ | dict.fromkeys(THREADS, str(threads))
    variables |= {"PYTHONPATH": path, "STEELYARD_HOME": str(folder / "home")}
    words = ["|".join(MODELS[::step]), "|".join(TASKS[::step]), str(folder / "results"), executor]
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, *words]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == len(MODELS) * len(TASKS)
    return set(lines), stored_results(folder / "results")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], Any]:
    return run(tmp_path_factory.mktemp("first"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [{}, {"threads": 2}, {"reverse": True}, {"executor": "processes?workers=2"}],
    ids=["again", "two threads", "other order", "processes"],
)
def test_scores_keys_and_files_are_the_same(
    change: dict[str, Any], first: tuple[set[str], Any], tmp_path: Path
) -> None:
    lines, files = run(tmp_path, **change)
    assert lines == first[0]
    assert files == first[1]
