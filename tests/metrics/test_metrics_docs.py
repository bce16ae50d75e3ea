"""The page on metrics names every metric with the formula that the code has, and its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import pytrec_eval

from steelyard.metrics import METRICS

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(METRICS))
def test_every_metric_has_its_row(name: str) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
    definition = METRICS.get(name)
    assert definition.display in row and definition.formula in row
    whole, cut = definition.trec
    if whole in pytrec_eval.supported_measures and name != "hit_rate":  # its success always has a cut-off
        assert f"`{whole}`" in row or definition.shares
    if cut in pytrec_eval.supported_measures and definition.takes_cutoff:
        assert f"`{cut}_k`" in row


def test_every_measure_of_trec_eval_is_told_of() -> None:
    for measure in pytrec_eval.supported_measures:
        assert f"`{measure}`" in PAGE or f"`{measure}_k`" in PAGE, measure


@pytest.mark.parametrize("snippet", re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
def test_the_python_runs(snippet: str) -> None:
    namespace: dict[str, object] = {}
    exec(snippet, namespace)
    assert "scores" in namespace or "FIRST_GRADE" in namespace
