"""How well cuts rank models: the measures against scipy's definitions worked by hand, and both ways on data."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_parts import big_set
from steelyard.build.fidelity import agreement, recut, resample, smallest
from steelyard.build.fidelity_plot import plot
from steelyard.build.recipe import Recipe
from steelyard.cli import main
from steelyard.errors import UsageError

FIGURES = st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=4, max_size=4)


@given(FIGURES.filter(lambda values: len(set(values)) > 1), FIGURES)
def test_the_measures_are_what_their_names_say(full: list[float], other: list[float]) -> None:
    told = agreement(np.array(full), np.array([other]))
    pairs = [(np.sign(full[i] - full[j]), np.sign(other[i] - other[j])) for i, j in combinations(range(4), 2)]
    concord = sum(a * b for a, b in pairs)
    strict, stricts = sum(abs(a) for a, _ in pairs), sum(abs(b) for _, b in pairs)
    assert told["kendall"][0] == pytest.approx(concord / np.sqrt(strict * stricts) if stricts else 0)
    assert told["pairs"][0] == pytest.approx(sum((a * b + 1) / 2 for a, b in pairs if a) / strict)

    def ranks(values: list[float]) -> list[float]:
        return [1 + sum(v < value for v in values) + (values.count(value) - 1) / 2 for value in values]

    expected = np.corrcoef(ranks(full), ranks(other))[0, 1] if stricts else 0
    assert told["spearman"][0] == pytest.approx(expected)


def table(spread: float, queries: int = 400) -> np.ndarray:
    """Six models whose true means lie `spread` apart, with noise by query."""
    rng = np.random.default_rng(5)
    difficulty = rng.normal(0, 0.2, queries)
    return np.array([0.3 + spread * m + difficulty + rng.normal(0, 0.1, queries) for m in range(6)])


def test_more_queries_agree_better_and_all_of_them_perfectly() -> None:
    found = resample(table(0.01), [10, 50, 200, 400], draws=300)
    means = [one.kendall for one in found]
    assert means == sorted(means) and means[0] < 0.8
    last = found[-1]
    assert last.spearman == last.kendall == last.pairs == pytest.approx(1.0)
    assert all(one.intervals["pairs"].low <= one.pairs <= one.intervals["pairs"].high for one in found)


def test_the_smallest_cut_meets_the_target_in_its_interval() -> None:
    found = resample(table(0.02), [5, 25, 100, 400], draws=300)
    best = smallest(found, 0.9)
    assert best is not None
    smaller = [one for one in found if one.queries < best.queries]
    assert smaller and all(one.intervals["pairs"].low < 0.9 for one in smaller)
    assert best.intervals["pairs"].low >= 0.9
    assert smallest(found[:1], 0.999) is None


def test_the_same_seed_draws_the_same() -> None:
    assert resample(table(0.01), [20], draws=50, seed=1) == resample(table(0.01), [20], draws=50, seed=1)
    assert resample(table(0.01), [20], draws=50, seed=1) != resample(table(0.01), [20], draws=50, seed=2)


def test_too_few_models_or_queries_are_refused() -> None:
    with pytest.raises(UsageError, match="2 models"):
        resample(table(0.01)[:2], [10])
    with pytest.raises(UsageError, match="500 of 400 queries"):
        resample(table(0.01), [500])


def test_real_cuts_and_the_plot(tmp_path: Path) -> None:
    source = big_set(tmp_path / "source", documents=800)
    models = ["bm25", "bm25?b=0&k1=0.01", "bm25?form=robertson&k1=9"]
    found = recut(str(source), models, [(10, 200), (60, 600)], seeds=[0, 1], recipe=Recipe())
    assert [(one.queries, one.documents, one.draws, one.way) for one in found] == [
        (10, 200, 2, "cut"),
        (60, 600, 2, "cut"),
    ]
    picture = plot([*resample(table(0.01), [10, 50], draws=20), *found], "pairs", "a <title>", target=0.9)
    assert picture.count("<polyline") == 3 and "a &lt;title&gt;" in picture and "600 documents" in picture


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, results = str(big_set(tmp_path / "source", documents=800)), str(tmp_path / "results")
    assert main(["build", "fidelity", source, "--results", results]) == 2
    assert "weigh three or more" in capsys.readouterr().err
    models = ["bm25", "bm25?b=0&k1=0.01", "bm25?form=robertson&k1=9"]
    done = main(["run", *models, "-t", source, "-o", results, "--no-report"])
    assert done == 0, capsys.readouterr().err
    capsys.readouterr()
    picture = tmp_path / "fidelity.svg"
    asked = ["--results", results, "--sizes", "10", "120", "500", "--draws", "50", "--plot", str(picture), "--json"]
    assert main(["build", "fidelity", source, *asked]) == 0
    seen = capsys.readouterr()
    told = json.loads(seen.out)
    assert [one["queries"] for one in told["fidelity"]] == [10, 120] and "500 queries" in seen.err
    assert told["fidelity"][1]["pairs"] == 1.0 and picture.read_text().startswith("<svg")
    assert main(["build", "fidelity", source, "--results", results, "--sizes", "120", "--draws", "9"]) == 0
    assert "smallest that keeps pairs at 0.9: 120 queries" in capsys.readouterr().err
