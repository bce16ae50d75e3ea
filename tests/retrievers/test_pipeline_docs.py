"""The pages on pipelines and rerankers say what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.retrievers.fusion import retriever as fusion
from steelyard.retrievers.fusion.join import METHODS
from steelyard.retrievers.model_names import RERANK_DEPTH as DEPTH
from steelyard.retrievers.pipeline import STAGE_OPTIONS
from steelyard.retrievers.rerank import cross_encoder
from steelyard.spec import parse

DOCS = Path(__file__).parents[2] / "docs"
PIPELINES, RERANKERS = ((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("pipelines", "rerankers"))


@pytest.mark.slow
@pytest.mark.parametrize("page", [PIPELINES, RERANKERS], ids=["pipelines", "rerankers"])
def test_the_snippets_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    (snippet,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "bm25" in done.stdout


@pytest.mark.parametrize("page", [PIPELINES, RERANKERS], ids=["pipelines", "rerankers"])
def test_the_names_of_models_can_be_read(page: str) -> None:
    names = re.findall(r"'([^']*(?:>|rerank:|\[)[^']*)'", "\n".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL)))
    assert len(names) >= 4
    for name in names:
        assert parse(name).parts


def test_every_option_and_method_is_there() -> None:
    for option in cross_encoder.OPTIONS:
        assert re.search(rf"^\|.*`{option}`.*\|", RERANKERS, re.MULTILINE), option
    for method in METHODS:
        assert re.search(rf"^\| `{method}` \|", PIPELINES, re.MULTILINE), method
    for option in (*fusion.OPTIONS, *STAGE_OPTIONS):
        assert f"{option}=" in PIPELINES, option
    assert f"(default: {DEPTH})" in PIPELINES and f"k={fusion.Fusion.k:g}" in PIPELINES
    assert all(preset in PIPELINES for preset in fusion.PRESETS)
