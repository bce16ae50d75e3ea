"""Agreement of rankings, against scipy's figures and by counting."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import DataError, UsageError
from steelyard.stats.agreement import agreement, spread

# spearmanr(a, b).statistic and kendalltau(a, b).statistic of scipy 1.17.1, most of them with ties.
GOLDEN = [
    ([0.6251, 0.8972, 0.7757], [0.3579, 0.7608, 0.4782], 1.0, 1.0),
    ([0.0, 0.8, 0.8, 0.5, 0.3], [0.1, 0.8, 0.5, 0.5, 0.5], 0.802955068547, 0.755928946018),
    (
        [1.0, 0.8, 0.6, 1.0, 0.2, 0.2, 0.6, 0.0],
        [1.0, 0.7, -0.2, 0.8, 0.2, 0.2, 0.1, -0.1],
        0.707369675489,
        0.57735026919,
    ),
    (
        [0.1924, 0.692, 0.2006, 0.3695, 0.0037, 0.83, 0.1545, 0.2676],
        [0.2255, 0.7111, -0.1669, 0.3923, 0.4113, 0.3659, 0.4123, 0.3034],
        0.02380952381,
        0.071428571429,
    ),
    (
        [0.87, 0.36, 0.6, 0.06, 0.39, 0.32, 0.15, 0.82, 0.38, 0.98, 0.59, 0.61, 0.64, 0.68, 0.15, 0.44, 0.24, 0.4],
        [0.47, 0.12, 0.79, -0.54, 0.25, 0.29, 0.53, 1.03, 0.28, 0.87, 0.51, 1.07, 0.51, 0.59, 0.26, 0.4, 0.18, 0.07],
        0.695247933884,
        0.506578947368,
    ),
]

few = st.integers(0, 4).map(lambda n: n / 4)
rankings = st.integers(2, 8).flatmap(lambda models: st.tuples(*[st.lists(few, min_size=models, max_size=models)] * 2))


@pytest.mark.parametrize(("a", "b", "spearman", "kendall"), GOLDEN)
def test_correlations_are_scipys(a: list[float], b: list[float], spearman: float, kendall: float) -> None:
    told = agreement(a, [b, a, [-x for x in a]])
    assert told.spearman == pytest.approx([spearman, 1, -1], abs=1e-10)
    assert told.kendall == pytest.approx([kendall, 1, -1], abs=1e-10)
    assert told["pairs"][1:].tolist() == [1, 0]


@given(rankings)
def test_pairs_are_counted(two: tuple[list[float], list[float]]) -> None:
    a, b = two
    told_apart = [(i, j) for i, j in combinations(range(len(a)), 2) if a[i] != a[j]]
    if not told_apart:
        with pytest.raises(UsageError):
            agreement(a, [b])
        return
    same = sum(1.0 if (a[i] - a[j]) * (b[i] - b[j]) > 0 else 0.5 if b[i] == b[j] else 0.0 for i, j in told_apart)
    assert agreement(a, [b]).pairs[0] == pytest.approx(same / len(told_apart))


def test_figures_that_differ_by_rounding_tie() -> None:
    nearly = 0.1 + 0.2
    assert agreement([0.5, 0.4, 0.3], [[0.5, nearly, 0.3]]).pairs[0] == pytest.approx(5 / 6)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(DataError, match=r"3.*1.*2"):
        agreement([0.1, 0.2, 0.3], [[0.1, 0.2]])
    with pytest.raises(DataError):
        agreement([0.1, 0.2], [[0.1, np.nan]])


def test_few_values_claim_no_more_than_they_show() -> None:
    """Of n values and one more of the same kind, each is equally likely to be the lowest or the highest."""
    generator = np.random.default_rng(0)
    draws = generator.random((20_000, 6))
    ranges = [spread(row[:5]) for row in draws[:2000]]
    inside = np.mean([r.low <= row[5] <= r.high for r, row in zip(ranges, draws, strict=False)])
    assert ranges[0].level == pytest.approx(4 / 6) == pytest.approx(inside, abs=0.04)
    many = spread(draws[:, 0])
    assert many.level == 0.95 and (many.low, many.high) == pytest.approx((0.025, 0.975), abs=0.01)
    assert spread([0.4]).level == 0 and spread([0.4]).low == spread([0.4]).high == 0.4
