"""Correlations as means of influence values: parity with scipy, with the jackknife, and the rate of false positives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from steelyard.stats.agreement import pearson_influence, spearman_influence
from steelyard.stats.randomisation import p_values
from steelyard.types import Float64


def pairs(count: int, seed: int) -> tuple[Float64, Float64]:
    generator = np.random.default_rng(seed)
    gold = np.round(generator.uniform(0, 5, count) * 2) / 2  # as in STS: eleven grades
    return gold, gold + generator.normal(0, 1.5, count)


@pytest.mark.parametrize("seed", range(3))
def test_means_are_the_correlations_of_scipy(seed: int) -> None:
    gold, scores = pairs(90, seed)
    spearman, pearson = spearman_influence(gold, scores), pearson_influence(gold, scores)
    assert spearman is not None and spearman.mean() == pytest.approx(stats.spearmanr(gold, scores).statistic)
    assert pearson is not None and pearson.mean() == pytest.approx(stats.pearsonr(gold, scores).statistic)


@pytest.mark.parametrize(
    ("influence", "correlation"), [(spearman_influence, stats.spearmanr), (pearson_influence, stats.pearsonr)]
)
def test_values_are_those_of_the_jackknife(influence, correlation) -> None:  # type: ignore[no-untyped-def]
    gold, scores = pairs(150, 7)
    whole = correlation(gold, scores).statistic
    without = [correlation(np.delete(gold, i), np.delete(scores, i)).statistic for i in range(150)]
    jackknife = 150 * whole - 149 * np.array(without)
    assert np.corrcoef(influence(gold, scores), jackknife)[0, 1] > 0.99
    assert influence(gold, scores).std() == pytest.approx(jackknife.std(), rel=0.05)


def test_false_positives_of_equal_correlations_are_five_percent() -> None:
    generator = np.random.default_rng(1)
    differences = []
    for _ in range(1500):
        gold = np.round(generator.uniform(0, 5, 120) * 2) / 2
        common = generator.normal(0, 1, 120)
        both = [spearman_influence(gold, gold + common + generator.normal(0, 1, 120)) for _ in range(2)]
        assert both[0] is not None and both[1] is not None
        differences.append(both[0] - both[1])
    assert 0.035 <= (p_values(np.array(differences), 2000) <= 0.05).mean() <= 0.065


def test_a_constant_side_has_no_correlation() -> None:
    assert spearman_influence([1.0, 1.0, 1.0], [0.1, 0.2, 0.3]) is None
    assert pearson_influence([0.1, 0.2, 0.3], [2.0, 2.0, 2.0]) is None
