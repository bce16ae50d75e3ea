"""Golden values are scipy's (1.17.1): `bootstrap` and `permutation_test` with 500,000 or more resamples, `t`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from steelyard.errors import DataError, UsageError
from steelyard.stats import intervals, mean_interval, paired_test, paired_tests
from steelyard.stats.agreement import agreement
from steelyard.stats.intervals import BLOCK, Method, bootstrap_means, interval_of_mean
from steelyard.stats.randomisation import flipped_sums
from steelyard.stats.student import t_cdf, t_quantile
from steelyard.types import Float64, Interval

# fmt: off
FIRST = np.array([
    0.009, 0.488, 0.925, 1.0, 0.795, 0.121, 0.414, 0.12, 0.618, 0.971, 0.94, 0.011, 0.996, 0.416, 0.003, 0.999, 0.359,
    0.96, 0.86, 0.324, 0.016, 0.462, 0.032, 0.986, 0.898, 1.0, 0.5, 0.978, 0.087, 0.091, 0.93, 1.0, 0.975, 0.989, 1.0,
    0.996, 0.799, 0.992, 1.0, 0.387,
])
SECOND = np.array([
    0.0, 0.319, 1.0, 1.0, 0.834, 0.273, 0.38, 0.124, 0.753, 1.0, 0.758, 0.228, 0.928, 0.255, 0.0, 0.971, 0.734, 0.775,
    0.942, 0.0, 0.066, 0.692, 0.035, 0.91, 0.994, 1.0, 0.683, 1.0, 0.179, 0.023, 0.955, 1.0, 1.0, 1.0, 1.0, 0.712, 1.0,
    0.927, 0.815, 0.565,
])
# fmt: on


@pytest.mark.parametrize(("method", "low", "high"), [("bootstrap", 0.5113, 0.747), ("percentile", 0.5164, 0.75132)])
def test_bootstrap_as_scipy(method: Method, low: float, high: float) -> None:
    found = mean_interval(FIRST, method=method, draws=50_000)
    assert (found.low, found.high) == (pytest.approx(low, abs=0.002), pytest.approx(high, abs=0.002))


def test_bias_and_skew_as_scipy() -> None:
    # Values that lean far to one side: the plain percentiles are 0.05 and 0.45.
    found = mean_interval([0.0, 0.0, 0.0, 0.1, 0.1, 0.2, 0.3, 1.0], draws=50_000)
    assert (found.low, found.high) == (pytest.approx(0.075, abs=0.006), pytest.approx(0.5875, abs=0.013))


def test_a_percentile_lies_between_two_resamples() -> None:
    drawn = bootstrap_means(FIRST[:, None], 30, 0)
    low, high = np.quantile(drawn, [0.025, 0.975])
    found = mean_interval(FIRST, method="percentile", draws=30)
    assert (found.low, found.high) == (pytest.approx(low, rel=1e-12), pytest.approx(high, rel=1e-12))
    assert low not in drawn and high not in drawn


@pytest.mark.parametrize(
    ("level", "low", "high"),
    [(0.95, 0.5130782916069756, 0.7592717083930243), (0.8, 0.55683830174138, 0.7155116982586198)],
)
def test_student_as_scipy(level: float, low: float, high: float) -> None:
    found = mean_interval(FIRST, level, method="t")
    assert (found.low, found.high, found.level) == (pytest.approx(low), pytest.approx(high), level)


@pytest.mark.parametrize(
    ("probability", "degrees", "expected"),
    [
        (0.9, 1, 3.0776835371752544),
        (0.975, 2, 4.302652729749462),
        (0.995, 5, 4.032142983555228),
        (0.6, 10, 0.2601848294920803),
        (0.975, 49, 2.0095752371292392),
        (0.975, 199, 1.9719565442517533),
        (0.975, 9999, 1.960201263621357),
        (0.9995, 3, 12.923978636687961),
    ],
)
def test_t_quantile_as_scipy(probability: float, degrees: int, expected: float) -> None:
    assert t_quantile(probability, degrees) == pytest.approx(expected, rel=1e-10)
    assert t_quantile(1 - probability, degrees) == pytest.approx(-expected, rel=1e-10)
    assert t_cdf(expected, degrees) == pytest.approx(probability, rel=1e-12)


def test_a_metric_is_never_claimed_to_leave_its_bounds() -> None:
    nearly_all = np.array([1.0] * 47 + [0.0])
    found = {method: mean_interval(nearly_all, method=method) for method in ("bootstrap", "percentile", "t")}
    assert all(0 <= interval.low < interval.high <= 1 for interval in found.values())
    # scipy: BCa 0.89583 to 1, percentile 0.9375 to 1 (a step of the bootstrap distribution is 1/48)
    assert found["bootstrap"].low == pytest.approx(0.89583, abs=1 / 47)
    assert found["t"].high == 1.0  # scipy, unbounded: 1.02108


@settings(max_examples=50)
@example([0.0, 4e-133], "bootstrap")
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.sampled_from(["bootstrap", "percentile", "t"]))
def test_an_interval_lies_within_bounds_and_is_the_same_again(values: list[float], method: Method) -> None:
    found = mean_interval(values, method=method, draws=200)
    assert 0 <= found.low <= found.high <= 1
    if method != "t" and set(values) not in ({0.0}, {1.0}):
        assert min(values) <= found.low and found.high <= max(values)
    assert mean_interval(values, method=method, draws=200) == found


def test_all_metrics_at_once_give_what_each_gives_alone() -> None:
    both = intervals({"a": FIRST, "b": SECOND})
    for name, values in (("a", FIRST), ("b", SECOND)):
        alone = mean_interval(values)
        assert both[name].low == pytest.approx(alone.low, abs=1e-12)
        assert both[name].high == pytest.approx(alone.high, abs=1e-12)
    assert intervals({}) == {}


def test_the_coverage_is_what_it_says() -> None:
    rng = np.random.default_rng(5)
    samples = rng.beta(0.5, 0.5, size=(60, 400))  # many samples side by side: 400 metrics of 60 queries, true mean 0.5
    found = intervals({str(i): samples[:, i] for i in range(400)})
    covered = np.mean([interval.low <= 0.5 <= interval.high for interval in found.values()])
    assert 0.91 <= covered <= 0.98  # same resamples for all columns, but the samples are independent


def test_one_query_tells_nothing() -> None:
    assert (mean_interval([0.7]).low, mean_interval([0.7]).high) == (0.0, 1.0)


def test_what_cannot_be_averaged_is_refused() -> None:
    with pytest.raises(DataError) as uneven:
        intervals({"a": [1, 2], "b": [1]})
    assert uneven.value.found == {"a": (2,), "b": (1,)}
    with pytest.raises(DataError) as missing:
        intervals({"a": [0.5, float("nan")]})
    assert (missing.value.field, missing.value.row) == ("a", 1) and np.isnan(missing.value.found)


def test_a_level_outside_0_and_1_or_an_unknown_method_is_refused() -> None:
    with pytest.raises(UsageError, match="95"):
        mean_interval(FIRST, 95)
    with pytest.raises(UsageError, match="jackknife"):
        mean_interval(FIRST, method="jackknife")  # type: ignore[arg-type]


@pytest.mark.parametrize(("shift", "p_value"), [(0.0, 0.67549), (0.02, 0.64488), (0.05, 0.07942)])
def test_the_randomisation_test_as_scipy(shift: float, p_value: float) -> None:
    found = paired_test(FIRST + shift, SECOND, permutations=50_000)
    assert found.p_value == pytest.approx(p_value, abs=0.01)
    assert found.difference == pytest.approx(FIRST.mean() + shift - SECOND.mean())
    assert found.wins + found.ties + found.losses == len(FIRST)


def test_ties_among_permutations_count_as_at_least_as_far() -> None:
    # scipy, all 256 sign changes: 0.09375; float sums that differ in the last bit must not lose any of them.
    found = paired_test([0.9, 0.8, 0.7, 0.9, 1.0, 0.8, 0.3, 0.2], [0.5, 0.8, 0.6, 0.4, 0.7, 0.9, 0.1, 0.2])
    assert found.p_value == 0.09375
    assert (found.wins, found.ties, found.losses) == (5, 2, 1)


def test_the_difference_has_an_interval_and_a_size() -> None:
    found = paired_test(FIRST, SECOND, draws=50_000)
    # scipy's BCa interval of the differences: -0.05267 to 0.03417
    assert (found.interval.low, found.interval.high) == (
        pytest.approx(-0.05267, abs=0.002),
        pytest.approx(0.03417, abs=0.002),
    )
    differences = FIRST - SECOND
    assert found.effect_size == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert not found.significant()


def test_effect_size_of_two_queries() -> None:
    """The fewest queries that have a standard deviation: 0.3 / (0.2 / sqrt(2))."""
    result = paired_test([0.7, 0.9], [0.5, 0.5])
    assert result.effect_size == pytest.approx(0.3 / (0.2 / 2**0.5))
    assert (result.wins, result.losses, result.difference) == (2, 0, pytest.approx(0.3))


def test_a_model_against_itself_and_against_a_worse_one() -> None:
    same = paired_test(FIRST, FIRST)
    assert (same.difference, same.p_value, same.effect_size, same.ties) == (0.0, 1.0, None, len(FIRST))
    worse = paired_test(FIRST, FIRST * 0.8, permutations=999)
    assert worse.p_value == 1 / 1000 and worse.significant()
    mirrored = paired_test(FIRST * 0.8, FIRST, permutations=999)
    assert (mirrored.p_value, mirrored.difference) == (worse.p_value, -worse.difference)


def test_many_metrics_are_tested_on_the_same_sign_changes() -> None:
    found = paired_tests({"a": FIRST, "b": SECOND, "only here": FIRST}, {"b": SECOND, "a": SECOND})
    assert list(found) == ["a", "b"]
    assert found["a"].p_value == paired_test(FIRST, SECOND).p_value and found["b"].p_value == 1.0
    with pytest.raises(DataError) as error:
        paired_test(FIRST, SECOND[1:])
    assert error.value.found == (40, 39)


def test_many_queries_are_resampled_in_blocks() -> None:
    count = 3000
    draws = 2 * BLOCK // count
    values = np.random.default_rng(0).random((count, 2))
    means = bootstrap_means(values, draws, seed=1)
    assert means.shape == (draws, 2) and len(np.unique(means[:, 0])) == draws
    assert means.mean(axis=0) == pytest.approx(values.mean(axis=0), abs=5e-4)
    assert means.std(axis=0) == pytest.approx(values.std(axis=0) / count**0.5, rel=0.1)
    flips = flipped_sums(values.T, draws, seed=1) / count
    assert flips.shape == (2, draws) and flips.mean(axis=1) == pytest.approx([0, 0], abs=2e-3)


@pytest.mark.parametrize("draws", [1, 6, 7, 8, 50])
def test_blocks_change_no_resample(draws: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).random((9, 2))
    whole = bootstrap_means(values, draws, seed=4)
    monkeypatch.setattr(import_module("steelyard.stats.intervals"), "BLOCK", 7 * len(values))
    found = bootstrap_means(values, draws, seed=4)
    assert found.shape == (draws, 2) and found == pytest.approx(whole, rel=1e-12)


def test_all_hits_still_leave_room_for_doubt() -> None:
    """Clopper and Pearson's bound for 64 of 64 by scipy 1.17: binomtest(64, 64).proportion_ci(method="exact")."""
    found = intervals({"hit": np.ones(64), "miss": np.zeros(64)})
    assert found["hit"].low == pytest.approx(0.9439909106)
    assert found["hit"].high == 1.0
    assert found["miss"].low == 0.0
    assert found["miss"].high == pytest.approx(1 - 0.9439909106)


def test_figures_that_only_the_order_of_a_sum_tells_apart_tie() -> None:
    found = agreement([0.9, 0.5, 0.1], [[0.5 + 1e-13, 0.5, 0.5 - 1e-13], [0.5, 0.5 + 1e-13, 0.1]])
    assert found.pairs.tolist() == pytest.approx([0.5, 5 / 6]) and found.spearman[0] == 0


PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
DRAWN: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], Float64], float]] = {
    "0 or 1, true mean 0.5": (lambda rng, shape: (rng.random(shape) < 0.5).astype(float), 0.5),
    "0 or 1, true mean 0.9": (lambda rng, shape: (rng.random(shape) < 0.9).astype(float), 0.9),
    "even between 0 and 1": (lambda rng, shape: rng.random(shape), 0.5),
    "1 / rank, ranks 1 to 10 alike": (lambda rng, shape: 1 / rng.integers(1, 11, shape), (1 / np.arange(1, 11)).mean()),
    "skewed, mean 0.09 (Beta 0.2, 2)": (lambda rng, shape: rng.beta(0.2, 2, shape), 0.2 / 2.2),
}


@pytest.mark.slow
@pytest.mark.parametrize("values", DRAWN)
def test_as_many_intervals_hold_the_true_mean_as_the_page_says(values: str) -> None:
    draw, true = DRAWN[values]
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {values} |"))
    told = [float(cell) for cell in row.strip("| ").split(" | ")[1:]]
    for size, share in zip((5, 20, 50, 200), told, strict=True):
        drawn = draw(np.random.default_rng(size), (size, 1500))
        found = intervals({str(i): column for i, column in enumerate(drawn.T)}).values()
        held = [interval.low - 1e-12 <= true <= interval.high + 1e-12 for interval in found]
        assert np.mean(held) == pytest.approx(share, abs=0.006)


def test_an_interval_goes_as_far_as_its_metric() -> None:
    counts = [3.0, 0.0, 7.0, 12.0, 5.0, 4.0]
    values = {"count": counts, "correlation": [-0.9, -0.2, 0.4, -0.8, -0.7, 0.1], "share": [0.0, 1, 1, 1, 1, 1]}
    bounds = {"count": (0.0, inf), "correlation": (-1.0, 1.0)}
    found = intervals(values, bounds=bounds)
    assert found["count"].low > 1 and found["count"].high > 5
    assert found["correlation"].low < -0.35 < found["correlation"].high
    assert found["share"] == mean_interval(values["share"])
    assert mean_interval(counts, bounds=(-inf, inf)) == found["count"]


@pytest.mark.parametrize("method", ["bootstrap", "percentile", "t"])
def test_bounds_that_a_value_lies_beyond_are_none(method: Method) -> None:
    high, low = [3.0, 4.0, 9.0, 2.0], [-3.0, 0.5, -1.0, 0.25]
    found = intervals({"high": high, "low": low}, method=method)
    assert found["high"].low <= np.mean(high) <= found["high"].high and found["high"].high > 1
    assert found["low"].low < np.mean(low) < found["low"].high <= 1
    assert mean_interval([1.0, 1 + 1e-12]).high == 1.0  # rounding is not beyond


def test_all_at_the_only_bound_there_is() -> None:
    assert intervals({"count": [0.0, 0.0, 0.0]}, bounds=(0.0, inf))["count"] == Interval(0.0, 0.0)
    assert intervals({"correlation": [-1.0] * 3}, bounds=(-1.0, 1.0))["correlation"].high == pytest.approx(
        -1 + 2 * (1 - 0.025 ** (1 / 3))
    )


def test_one_query_without_bounds_has_no_interval() -> None:
    assert list(intervals({"count": [3.0], "share": [0.5]}, bounds={"count": (0.0, inf)})) == ["share"]
    assert mean_interval([3.0]) == Interval(-inf, inf)


def test_a_difference_is_as_large_as_the_bounds_are_apart() -> None:
    one, other = {"c": [0.9, 0.8, 1.0], "s": [1.0, 1, 1]}, {"c": [-0.9, -0.7, -1.0], "s": [0.0, 0, 0]}
    found = paired_tests(one, other, bounds={"c": (-1.0, 1.0)})
    assert found["c"].interval.high > 1.5 and found["s"].interval.high == 1.0
    alone = paired_tests({"c": [0.9], "s": [1.0]}, {"c": [-0.9], "s": [0.5]}, bounds={"c": (-1.0, 1.0)})
    assert [alone[name].interval for name in "cs"] == [Interval(-2.0, 2.0), Interval(-1.0, 1.0)]
    assert paired_test([9.0], [1.0]).interval == Interval(-inf, inf)


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted), min_size=1, max_size=12))
@example([[0.4, 1.0, 1.0]] * 3)
def test_the_interval_of_a_mean_of_scores_stays_within_the_bounds_of_its_parts(parts: list[list[float]]) -> None:
    scores, ranges = [middle for _, middle, _ in parts], [Interval(low, high) for low, _, high in parts]
    found = interval_of_mean(scores, ranges)
    assert -1e-12 <= found.low <= np.mean(scores) + 1e-12
    assert np.mean(scores) - 1e-12 <= found.high <= 1 + 1e-12
    assert np.mean([one.low for one in ranges]) <= found.low + 1e-12, "means are known better than their parts"


def test_the_interval_of_a_mean_of_scores_covers_the_true_mean() -> None:
    """Four tasks of 30 queries, whose values are near the upper bound: 95 of 100 intervals have the true mean."""
    generator, covered, rounds = np.random.default_rng(5), 0, 400
    for _ in range(rounds):
        tasks = [generator.beta(6, 1, 30) for _ in range(4)]
        found = interval_of_mean([float(task.mean()) for task in tasks], [mean_interval(t, draws=400) for t in tasks])
        covered += found.low <= 6 / 7 <= found.high
    assert 0.92 <= covered / rounds <= 0.98
