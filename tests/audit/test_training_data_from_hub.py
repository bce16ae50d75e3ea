"""Training data from a hub: downloaded with the real client from a hub on loopback, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hub_server import Repository, serve

PROGRAM = """
import json, sys
from steelyard.audit import audit
from steelyard.errors import SteelyardError
from steelyard.types import Task

task = Task.of("X/a", {"d": "a document of several words"}, {"q": "a question of several words"}, {"q": ["d"]})
try:
    result = audit(task, sys.argv[1])
    files = [file["file"] for file in result.training["files"]]
    print(json.dumps({"verdict": result.tasks[0].verdict, "files": files}))
except SteelyardError as error:
    print(json.dumps({"error": type(error).__name__}))
"""
ROW = {"query": "A question of several words?", "positive": "A document of several words."}
FILES = {
    "README.md": b"# A dataset",
    "data/train.jsonl": json.dumps(ROW).encode() + b"\n",
    "other/train.jsonl": b'{"text": "something else entirely"}\n',
}


def run(url: str, home: Path, reference: str) -> dict[str, Any]:
    environment = os.environ | {"HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1"}
    environment.pop("HF_HUB_OFFLINE", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, reference], capture_output=True, text=True, env=environment, check=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (
            "hf://owner/train",
            {"verdict": "severe", "files": ["hf://owner/train/data/train.jsonl", "hf://owner/train/other/train.jsonl"]},
        ),
        ("hf://owner/train/other", {"verdict": "clean", "files": ["hf://owner/train/other/train.jsonl"]}),
        ("hf://owner/absent", {"error": "HubError"}),
        ("hf://owner", {"error": "UsageError"}),
    ],
)
def test_a_dataset_of_a_hub(reference: str, expected: dict[str, Any], tmp_path: Path) -> None:
    with serve({"owner/train": Repository(FILES)}) as hub:
        assert run(hub.url, tmp_path, reference) == expected
