"""EvalScope's second example with nothing on the machine: models and data come from ModelScope, by its real client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch_models
from evalscope_parts import TWO_STAGES, first_generation
from modelscope_server import serve
from torch_models import save_cross_encoder

FIRST, SECOND = "AI-ModelScope/m3e-base", "OpenBMB/MiniCPM-Reranker"


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def evaluated(folder: Path, *flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`steelyard eval` in a process of its own: the client reads its environment when it is imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "MODELSCOPE_"))}
    kept = {name: value for name, value in kept.items() if not name.startswith("STEELYARD_")}
    homes = {"STEELYARD_HOME": str(folder / "home"), "MODELSCOPE_CACHE": str(folder / "cache")}
    command = [sys.executable, "-W", "ignore", "-m", "steelyard", "eval", "two.json", "--no-report", *flags]
    return subprocess.run(
        command, cwd=folder, env={**kept, **homes, **environment}, capture_output=True, text=True, check=False
    )


def test_models_and_data_of_the_example_come_from_modelscope(tmp_path: Path) -> None:
    torch_models.save_bert(tmp_path / "models" / FIRST)
    save_cross_encoder(tmp_path / "models" / SECOND)
    copies = first_generation(tmp_path / "copies") / "C-MTEB"
    repositories = {name: files_below(tmp_path / "models" / name) for name in (FIRST, SECOND)}
    repositories |= {f"C-MTEB/{folder.name}": files_below(folder) for folder in copies.iterdir()}
    config: dict[str, Any] = json.loads(json.dumps(TWO_STAGES))
    for model in config["eval_config"]["model"]:
        model["max_seq_length"] = 64  # as much as these small ones have places for
    (tmp_path / "two.json").write_text(json.dumps(config))
    with serve(repositories) as scope:
        done = evaluated(tmp_path, MODELSCOPE_ENDPOINT=scope.url)
        assert done.returncode == 0, done.stderr[-2000:]
        assert scope.fetched("model.safetensors") == 2 and scope.fetched("corpus-00000-of-00001.parquet") == 1
        asked = len(scope.requests)
        again = evaluated(tmp_path, "--offline", MODELSCOPE_ENDPOINT=scope.url)
        assert again.returncode == 0 and len(scope.requests) == asked, again.stderr[-2000:]
    assert again.stdout == done.stdout
    for stage, name in (("stage1", "m3e-base"), ("stage2", "MiniCPM-Reranker")):
        written = json.loads((tmp_path / "outputs" / stage / name / "master" / "T2Retrieval.json").read_text())
        assert written["mteb_version"] == "1.14.15" and 0 < written["scores"]["dev"][0]["ndcg_at_10"] <= 1
