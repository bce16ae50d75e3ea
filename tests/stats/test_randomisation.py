"""Paired tests of all pairs at once: parity with scipy, exactness, false positives, power, corrections."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from steelyard.errors import DataError
from steelyard.stats import group_means
from steelyard.stats.corrections import benjamini_hochberg, holm
from steelyard.stats.group_means import GroupScores, task_pair_p_values
from steelyard.stats.pairs import pair_statistics
from steelyard.stats.power import detectable_difference
from steelyard.stats.randomisation import FEW, SignChanges, flipped_sums, p_values, pair_p_values
from steelyard.types import Float64


def scores_like_ndcg(models: int, queries: int, seed: int = 0) -> Float64:
    generator = np.random.default_rng(seed)
    shift = np.linspace(0, 0.6, models)[:, None] + generator.normal(0, 1, queries)
    rank = np.floor(np.exp(generator.normal(1, 1, (models, queries)) - shift))
    return np.where(rank < 10, 1 / np.log2(rank + 2), 0.0)


def scipy_p(first: Float64, second: Float64, resamples: int = 9_999) -> float:
    found = stats.permutation_test(
        (first, second),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        rng=np.random.default_rng(7),
    )
    return float(found.pvalue)


@pytest.mark.parametrize("queries", [2, 5, 9, 13])
def test_few_queries_give_the_exact_p_value_of_scipy(queries: int) -> None:
    first, second = scores_like_ndcg(2, queries, seed=queries)
    assert p_values(first - second)[0] == pytest.approx(scipy_p(first, second, 10_000), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_p_value_equals_scipy_within_monte_carlo_error(seed: int) -> None:
    first, second = scores_like_ndcg(2, 120, seed=seed)
    own, other = p_values(first - second)[0], scipy_p(first, second)
    error = np.sqrt(2 * own * (1 - own) / 10_000)
    assert own == pytest.approx(other, abs=4.5 * error + 2e-4)


def test_all_pairs_equal_each_pair_alone() -> None:
    scores = scores_like_ndcg(6, 90)
    together = pair_p_values(scores, seed=3)
    assert np.array_equal(together, together.T) and np.diag(together).tolist() == [1.0] * 6
    for i in range(6):
        for j in range(i):
            assert together[i, j] == p_values(scores[i] - scores[j], seed=3)[0]


def test_same_seed_gives_the_same_p_value_and_another_seed_a_close_one() -> None:
    scores = scores_like_ndcg(3, 150)
    first, again, other = (pair_p_values(scores, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert np.abs(first - other).max() < 0.03


def test_order_of_summation_does_not_change_the_p_value() -> None:
    """Scores with many equal sums: shuffled queries, exact enumeration, the same p to the last bit."""
    generator = np.random.default_rng(0)
    differences = generator.choice([-1.0, -1 / 3, 0.0, 1 / 3, 0.5], size=12)
    values = {float(p_values(differences[generator.permutation(12)])[0]) for _ in range(20)}
    assert len(values) == 1


def test_lattice_scores_count_ties_as_at_least_as_far() -> None:
    hits = np.array([1.0] * 9 + [0.0] * 31), np.array([0.0] * 4 + [1.0] * 5 + [0.0] * 31)
    exact = stats.binomtest(4, 4, 0.5).pvalue  # four queries differ, all in one direction
    assert p_values(hits[0] - hits[1])[0] == pytest.approx(exact, abs=0.012)


def test_no_difference_has_p_one_and_unbounded_scores_are_tested() -> None:
    assert p_values(np.zeros(50)).tolist() == [1.0]
    counts = np.random.default_rng(0).integers(0, 10**9, 60).astype(float)
    shifted = counts * 1.5
    assert p_values(shifted - counts)[0] == pytest.approx(1 / 10_001)


@pytest.mark.parametrize("values", [[[0.1, float("nan")]], [[0.1, float("inf")]], [[]], [0.5]])
def test_scores_that_cannot_be_tested_are_refused(values: list[object]) -> None:
    with pytest.raises(DataError):
        pair_p_values(values)


@pytest.mark.slow
def test_false_positives_of_a_a_comparisons_are_five_percent() -> None:
    """Real per-query scores, resampled; which of two models a score belongs to is random, so the null is true."""
    from steelyard import evaluate

    results = evaluate(["bm25", "bm25?b=0&k1=0.2", "dense"], ["NanoAlmanac/en", "NanoAlmanac/fr", "NanoAlmanac/ko"])
    generator = np.random.default_rng(0)
    rejected = tests = 0
    for label in results.labels:
        columns = list(results.query_columns(label).values())
        for first, second in ((0, 2), (1, 2)):
            differences = columns[first].values - columns[second].values
            drawn = differences[generator.integers(0, len(differences), (1500, len(differences)))]
            drawn *= generator.integers(0, 2, drawn.shape) * 2 - 1
            found = p_values(drawn, 2000, seed=int(generator.integers(1 << 31)))
            rejected, tests = rejected + int((found <= 0.05).sum()), tests + len(found)
    assert tests == 9000 and 0.04 <= rejected / tests <= 0.06


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_corrections_as_scipy_and_by_definition(p: list[float]) -> None:
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p), rel=1e-12)
    adjusted = holm(p)
    for alpha in (0.01, 0.05, 0.2):  # step down: reject while p(k) <= alpha / (m - k)
        rejected = set()
        for k, place in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
            if p[place] * (len(p) - k) > alpha:
                break
            rejected.add(place)
        assert {i for i, value in enumerate(adjusted) if value <= alpha} == rejected


def test_corrections_of_nothing_and_of_what_is_not_a_p_value() -> None:
    assert not len(holm([])) and not len(benjamini_hochberg([]))
    for wrong in ([0.5, 1.5], [float("nan")], [-0.1]):
        with pytest.raises(DataError):
            holm(wrong)


def test_statistics_of_a_pair_as_numpy_and_scipy_compute_them() -> None:
    first, second = scores_like_ndcg(2, 80, seed=4)
    found = pair_statistics([first, second], draws=20_000)
    differences = first - second
    assert found.difference[0] == pytest.approx(differences.mean())
    assert found.effect_size[0] == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert (found.wins[0], found.ties[0], found.losses[0]) == (
        (first > second).sum(), (first == second).sum(), (first < second).sum(),
    )  # fmt: skip
    reference = stats.bootstrap((differences,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(0))
    low, high = reference.confidence_interval
    width = high - low
    assert found.low[0] == pytest.approx(low, abs=0.03 * width) and found.high[0] == pytest.approx(
        high, abs=0.03 * width
    )
    above = (reference.bootstrap_distribution > 0).mean()
    assert found.probability[0] == pytest.approx(above, abs=0.02)


def test_statistics_of_constant_differences_have_no_effect_size() -> None:
    found = pair_statistics([np.full(30, 0.75), np.full(30, 0.5)])
    assert np.isnan(found.effect_size[0]) and (found.low[0], found.high[0]) == (0.25, 0.25)
    assert found.p_value[0] < 0.001 and found.detectable[0] == 0


@pytest.mark.parametrize("values", [[[0.5], [0.4]], [0.5, 0.4], [[0.5, float("nan")], [0.4, 0.2]]])
def test_statistics_refuse_one_query_and_nan(values: list[object]) -> None:
    with pytest.raises(DataError):
        pair_statistics(values)


def test_a_detectable_difference_is_found_with_the_promised_power() -> None:
    deviation, queries = 0.3, 60
    size = detectable_difference(deviation, queries)
    critical = stats.t.ppf(0.975, queries - 1)
    shift = size / (deviation / np.sqrt(queries))
    power = stats.nct.sf(critical, queries - 1, shift) + stats.nct.cdf(-critical, queries - 1, shift)
    assert power == pytest.approx(0.8, abs=0.01)
    assert np.isnan(detectable_difference(0.3, 1))


def test_group_p_value_is_that_of_the_weighted_queries() -> None:
    tasks = tuple(scores_like_ndcg(2, queries, seed=queries) for queries in (40, 90))
    group = GroupScores(("T/a", "T/b"), tasks)
    weighted = np.concatenate([(own[0] - own[1]) / own.shape[1] for own in tasks])
    assert group.pair_p_values()[0, 1] == pytest.approx(p_values(weighted)[0], abs=0.02)
    assert group.means == pytest.approx(np.mean([own.mean(axis=1) for own in tasks], axis=0))


def test_bootstrap_over_tasks_is_wider_and_has_the_variance_of_theory() -> None:
    generator = np.random.default_rng(0)
    shifts = generator.normal(0, 0.1, 40)
    tasks = tuple((0.5 + shift + generator.normal(0, 0.2, (1, 100))) for shift in shifts)
    group = GroupScores(tuple(f"T/{i}" for i in range(40)), tasks)
    fixed, drawn = (group.resampled_means(4000, over_tasks=over)[0] for over in (False, True))
    within = sum(values.var() / values.shape[1] for values in tasks) / 40**2
    between = np.var([values.mean() for values in tasks]) / 40
    assert fixed.std() == pytest.approx(np.sqrt(within), rel=0.06)
    assert drawn.std() == pytest.approx(np.sqrt(within + between), rel=0.06)


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_a_pair_has_the_difference_that_its_queries_detect(level: float) -> None:
    values = scores_like_ndcg(2, 80)
    found = pair_statistics(values, level=level)
    spread = float((values[0] - values[1]).std(ddof=1))
    assert found.detectable[0] == pytest.approx(detectable_difference(spread, 80, alpha=1 - level), rel=1e-12)
    assert found.level == level and found.queries == 80


def test_tasks_with_the_same_queries_are_resampled_independently() -> None:
    values = np.random.default_rng(3).random((1, 100))
    group = GroupScores(tuple(f"T/{i}" for i in range(50)), (values,) * 50)
    fixed, drawn = (group.resampled_means(4000, over_tasks=over)[0] for over in (False, True))
    expected = np.sqrt(values.var() / values.shape[1] / 50)
    assert fixed.std() == pytest.approx(expected, rel=0.06)
    assert drawn.std() == pytest.approx(expected, rel=0.06)  # tasks do not differ
    assert fixed.mean() == pytest.approx(values.mean(), abs=1e-12)
    assert drawn.mean() == pytest.approx(values.mean(), abs=expected / 10)


@pytest.mark.parametrize("queries", [7, 200, 421])
def test_sums_of_few_rows_are_those_of_many(queries: int) -> None:
    whole = np.random.default_rng(queries).integers(-(2**40), 2**40, (FEW + 3, queries)).astype(np.float64)
    many = flipped_sums(whole, 10_000, seed=5)
    assert (flipped_sums(whole[:2], 10_000, seed=5) == many[:2]).all()
    assert (np.abs(many) <= np.abs(whole).sum(axis=1)[:, None]).all() and many.std() > 0


@pytest.mark.parametrize("models", [2, 12])
def test_a_group_has_the_same_tests_with_and_without_those_of_its_tasks(models: int) -> None:
    tasks = {"T/a": scores_like_ndcg(models, 40), "T/b": scores_like_ndcg(models, 6, 1)}
    first, second = (GroupScores(tuple(tasks), tuple(tasks.values())) for _ in range(2))
    by_task = list(first.task_statistics([(1, 0)]))
    for (task, values), one in zip(tasks.items(), by_task, strict=True):
        assert one.p_value[0] == pair_p_values(values)[1, 0], task
    assert (first.pair_p_values() == second.pair_p_values()).all()
    assert (first.resampled_means() == second.resampled_means()).all()
    assert not (first.resampled_means() == first.resampled_means(over_tasks=False)).all()
    alone = GroupScores(("T/a",), (tasks["T/a"],))
    assert (alone.resampled_means() == alone.resampled_means(over_tasks=False)).all()


def test_tasks_in_several_windows_have_the_numbers_of_one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    names, sizes = tuple(f"T/{i}" for i in range(7)), (40, 40, 6, 40, 90, 6, 40)
    scores = tuple(scores_like_ndcg(3, size, seed) for seed, size in enumerate(sizes))
    pairs = [(1, 0), (2, 0)]
    whole, parted = GroupScores(names, scores), GroupScores(names, scores)
    expected = list(whole.task_statistics(pairs))
    monkeypatch.setattr(group_means, "WINDOW", 2 * 3 * 10_000)  # two tasks of three models
    for one, two in zip(expected, parted.task_statistics(pairs), strict=True):
        assert (one.p_value == two.p_value).all()
        assert one.low == pytest.approx(two.low, rel=1e-12) and one.high == pytest.approx(two.high, rel=1e-12)
    assert whole.pair_p_values() == pytest.approx(parted.pair_p_values(), abs=1e-12)
    for over_tasks in (False, True):
        means = whole.resampled_means(over_tasks=over_tasks), parted.resampled_means(over_tasks=over_tasks)
        assert means[0] == pytest.approx(means[1], rel=1e-12)


def test_every_resample_of_a_group_has_all_its_tasks() -> None:
    tasks = tuple(f"T/{i}" for i in range(5))
    group = GroupScores(tasks, tuple(np.full((2, size), 0.5) for size in (10, 10, 20, 30, 10)))
    for over_tasks in (False, True):
        assert group.resampled_means(over_tasks=over_tasks) == pytest.approx(0.5, abs=1e-12)
    assert (np.diag(group.pair_p_values()) == 1).all()


def is_share(p: float, of: int) -> bool:
    return abs(p * of - round(p * of)) < 1e-6


def test_all_sign_changes_are_enumerated_where_there_are_no_more_than_random_ones() -> None:
    eleven, fourteen, fifteen = (scores_like_ndcg(2, queries) for queries in (11, 14, 15))
    assert pair_p_values(eleven, flips=1024)[0, 1] == pair_p_values(eleven)[0, 1]
    assert pair_p_values(eleven, flips=1023)[0, 1] != pair_p_values(eleven)[0, 1]
    assert is_share(pair_p_values(eleven)[0, 1], 2**10)
    assert is_share(pair_p_values(fourteen)[0, 1], 2**13)
    assert is_share(pair_p_values(fifteen)[0, 1], 10_001)


def test_the_test_of_a_group_does_not_depend_on_the_order_of_its_tasks() -> None:
    generator = np.random.default_rng(4)
    both = GroupScores(("T/a", "T/b"), (generator.random((2, 40)), generator.random((2, 50))))
    swapped = GroupScores(("T/b", "T/a"), both.scores[::-1])
    assert both.pair_p_values() == pytest.approx(swapped.pair_p_values(), abs=1e-12)
    assert 0.01 < both.pair_p_values()[0, 1] < 1
    assert (both.pair_p_values() != GroupScores(both.tasks, both.scores, seed=1).pair_p_values()).any()


@pytest.mark.parametrize("sizes", [(3, 200, 9, 421), (421, 900, 421), (5,) * 40])
def test_sums_of_several_tasks_are_those_of_each(sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(len(sizes))
    tasks = [generator.integers(-(2**40), 2**40, (4, size)).astype(np.float64) for size in sizes]
    together = SignChanges(10_000, 5).sums(tasks)
    for values, sums in zip(tasks, together, strict=True):
        assert (sums == flipped_sums(values, 10_000, seed=5)).all()


def sums_of_group(tasks: int, queries: int, seed: int) -> tuple[np.ndarray, float]:
    """Sums of a group whose tasks all have the same scores, the worst case for sign changes that tasks share."""
    values = np.random.default_rng(seed).random((2, queries))
    group = GroupScores(tuple(f"T/{i}" for i in range(tasks)), (values,) * tasks, seed)
    group.pair_p_values()
    variance = float(np.square(values[0] - values[1]).sum() / queries**2 / tasks)
    return group._sums[10_000][0] / np.sqrt(variance), variance


def test_the_signs_of_a_group_are_independent_in_tasks_that_share_them() -> None:
    drawn = np.stack([sums_of_group(60, 20, seed)[0] for seed in range(30)])
    assert abs(drawn.mean()) < 4 / np.sqrt(drawn.size)
    assert drawn.var() == pytest.approx(1, abs=0.02)
    fourth = np.mean(drawn**4)  # 3 for a normal variable; sums of 1,200 independent signs have slightly less
    assert fourth == pytest.approx(3, abs=0.1)
    halves = drawn.reshape(30, 2, -1).mean(axis=2)  # a chance deviation that draws share would not average out
    assert halves.std() == pytest.approx(1 / np.sqrt(5_000), rel=0.35)


def test_p_values_of_groups_without_a_difference_are_uniform() -> None:
    generator, values = np.random.default_rng(8), []
    for seed in range(300):
        shared = generator.normal(
            size=(2, 30)
        )  # tasks are alike, so that their sums are under shared sign changes, too
        tasks = tuple(
            shared * generator.choice([-1, 1], (1, 30)) + 0.1 * generator.normal(size=(2, 30)) for _ in range(8)
        )
        values.append(float(GroupScores(tuple("abcdefgh"), tasks, seed).pair_p_values(1000)[0, 1]))
    assert stats.kstest(values, "uniform").pvalue > 0.001


def test_tasks_as_units_need_six_to_show_anything() -> None:
    five, six = (np.linspace(0.1, 0.5, n) for n in (5, 6))
    assert task_pair_p_values([five + 0.1, five])[0, 1] == 1 / 16
    assert task_pair_p_values([six + 0.1, six])[0, 1] == 1 / 32
    assert task_pair_p_values([six, six[::-1]])[0, 1] == 1  # the same mean


def test_group_of_models_that_differ_by_task_is_refused() -> None:
    with pytest.raises(DataError):
        GroupScores(("T/a", "T/b"), (np.zeros((2, 5)), np.zeros((3, 5))))
    with pytest.raises(DataError):
        GroupScores((), ())
