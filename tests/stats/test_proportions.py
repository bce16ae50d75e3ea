"""Fisher's exact test and the Mann-Whitney test against scipy."""

import numpy as np
import pytest

from steelyard.stats.proportions import fisher_exact, mann_whitney


@pytest.mark.parametrize("table", [(8, 10, 1, 6), (0, 12, 5, 30), (3, 3, 0, 4), (7, 7, 9, 9), (40, 90, 300, 900)])
def test_fisher_is_that_of_scipy(table: tuple[int, int, int, int]) -> None:
    scipy = pytest.importorskip("scipy.stats")
    hits, total, other, other_total = table
    expected = scipy.fisher_exact([[hits, total - hits], [other, other_total - other]]).pvalue
    assert fisher_exact(*table) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_mann_whitney_is_that_of_scipy_with_ties(seed: int) -> None:
    scipy = pytest.importorskip("scipy.stats")
    draw = np.random.default_rng(seed)
    first, second = draw.integers(0, 12, 40).astype(float), draw.integers(1, 14, 25).astype(float)
    expected = scipy.mannwhitneyu(first, second, method="asymptotic")
    ours = mann_whitney(first, second)
    assert ours is not None
    assert ours.auc == pytest.approx(expected.statistic / (40 * 25), rel=1e-12)
    assert ours.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_mann_whitney_is_not_defined_for_constants_or_nothing() -> None:
    assert mann_whitney(np.ones(3), np.ones(4)) is None
    assert mann_whitney(np.ones(0), np.ones(4)) is None
