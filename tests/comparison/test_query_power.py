"""How small a difference the queries of a task can detect: typical, or measured with stored results."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.comparison.query_power import query_power
from steelyard.engine import evaluate
from steelyard.results import ResultStore
from steelyard.stats.power import TYPICAL_DEVIATION, detectable_difference, queries_needed
from steelyard.types import Task


def task(queries: int = 12) -> Task:
    words = [f"word{number}" for number in range(queries * 3)]
    corpus = {f"d{n}": " ".join(words[(n * 7 + k * k) % len(words)] for k in range(9)) for n in range(60)}
    asked = {f"q{n}": " ".join((words[n * 3], words[(n * 5 + 1) % len(words)])) for n in range(queries)}
    return Task.of("Mine/own", corpus, asked, {query: {f"d{n}": 1} for n, query in enumerate(asked)}, language="en")


def test_the_power_of_a_t_test_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for queries in (2, 30, 199, 1229):
        quantiles = stats.t.ppf(0.975, queries - 1) + stats.t.ppf(0.8, queries - 1)
        expected = quantiles * 0.25 / math.sqrt(queries)
        assert detectable_difference(0.25, queries) == pytest.approx(expected, rel=1e-8)
    for difference in (0.2, 0.05, 0.02):
        needed = queries_needed(0.25, difference)
        assert detectable_difference(0.25, needed) <= difference < detectable_difference(0.25, needed - 1)


def test_without_results_the_deviation_is_typical() -> None:
    power = query_power(200)
    assert (power.deviation, power.models) == (TYPICAL_DEVIATION, 0)
    assert power.detectable_difference == pytest.approx(detectable_difference(TYPICAL_DEVIATION, 200))
    assert query_power(1).detectable_difference is None


def test_stored_results_give_the_measured_deviation(tmp_path: Path) -> None:
    own = task()
    evaluate(["bm25", "bm25?k1=0.1&b=0.0", "bm25?k1=9&b=1"], own, results=tmp_path)
    stored = ResultStore(tmp_path).find(task="Mine/own")
    scores = {result.model: np.asarray(result.per_query["ndcg_at_10"]) for result in stored}
    names = sorted(scores)
    pairs = [np.std(scores[a] - scores[b], ddof=1) for i, a in enumerate(names) for b in names[i + 1 :]]
    expected = float(np.median([one for one in pairs if one > 0]))
    power = query_power(len(own.queries), stored)
    assert power.models == 3 and power.deviation == pytest.approx(expected, rel=1e-12)
    assert query_power(12, stored[:1]).models == 0


def test_show_prints_it_for_own_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    from steelyard.cli import main

    (tmp_path / "corpus.csv").write_text("_id,text\n" + "".join(f"d{n},text {n}\n" for n in range(30)))
    (tmp_path / "queries.csv").write_text("_id,text\n" + "".join(f"q{n},text {n}\n" for n in range(30)))
    (tmp_path / "qrels.csv").write_text("query-id,corpus-id\n" + "".join(f"q{n},d{n}\n" for n in range(30)))
    words = ["show", str(tmp_path), "-o", str(tmp_path / "results")]
    assert main([*words, "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    power: dict[str, Any] = shown["power"]
    assert power["queries"] == 30 and power["models"] == 0
    assert power["detectable_difference"] == pytest.approx(detectable_difference(TYPICAL_DEVIATION, 30))
    assert power["queries_needed"]["0.02"] == 1229
    assert main(words) == 0
    assert "detectable difference" in capsys.readouterr().out
