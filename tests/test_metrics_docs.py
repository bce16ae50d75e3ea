"""The page on metrics names every metric with the formula that the code has, and its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from steelyard.metrics import METRICS

PAGE = (Path(__file__).parent.parent / "docs" / "metrics.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(METRICS))
def test_every_metric_has_its_row(name: str) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
    definition = METRICS.get(name)
    assert definition.display in row and definition.formula in row


@pytest.mark.parametrize("snippet", re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
def test_the_python_runs(snippet: str) -> None:
    namespace: dict[str, object] = {}
    exec(snippet, namespace)
    assert "scores" in namespace or "FIRST_GRADE" in namespace
