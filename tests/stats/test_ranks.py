"""Ranks with their uncertainty, tie groups, Borda counts, and the agreement of two rankings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from steelyard.errors import DataError, UsageError
from steelyard.stats.group_means import GroupScores
from steelyard.stats.rank_overlap import rank_agreement, rank_biased_overlap
from steelyard.stats.ranks import borda, mean_ranks, rank_models, tie_groups, win_probability

values = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), min_size=2, max_size=8)


@given(values)
def test_ranks_as_scipy(scores: list[float]) -> None:
    assert mean_ranks(scores).tolist() == stats.rankdata([-score for score in scores]).tolist()


def test_borda_counts_models_below_and_half_of_the_ties() -> None:
    table = np.random.default_rng(0).integers(0, 4, (6, 9)) / 4
    expected = [
        sum((table[m] > table[o]).sum() + (table[m] == table[o]).sum() / 2 for o in range(6) if o != m)
        for m in range(6)
    ]
    assert borda(table).tolist() == expected


def group(gaps: list[float], queries: int = 200, seed: int = 0) -> GroupScores:
    generator = np.random.default_rng(seed)
    difficulty = generator.normal(0.5, 0.2, queries)
    tasks = tuple(np.stack([difficulty + gap + generator.normal(0, 0.1, queries) for gap in gaps]) for _ in range(3))
    return GroupScores(("T/a", "T/b", "T/c"), tasks)


def test_clear_differences_have_ranks_without_doubt_and_equal_models_share_a_group() -> None:
    ranking = rank_models(group([0.0, 0.2, 0.2001, 0.4]))
    assert ranking.ranks[[0, 3]].tolist() == [4, 1] and ranking.groups.tolist() == [3, 2, 2, 1]
    assert (ranking.low[0], ranking.high[0]) == (4, 4) and (ranking.low[3], ranking.high[3]) == (1, 1)
    assert ranking.low[1] == 2 and ranking.high[1] == 3
    assert ranking.win_probability[3, 0] == 1.0 and ranking.win_probability[0, 3] == 0.0
    assert ranking.win_probability + ranking.win_probability.T == pytest.approx(np.ones((4, 4)))


@pytest.mark.slow
def test_rank_interval_holds_the_true_rank_about_as_often_as_it_says() -> None:
    held = 0
    for seed in range(60):
        ranking = rank_models(group([0.0, 0.01, 0.02, 0.03], queries=60, seed=seed), draws=400, over_tasks=False)
        held += sum(ranking.low[m] <= 4 - m <= ranking.high[m] for m in range(4))
    assert held / 240 >= 0.93


def test_tie_groups_follow_their_leader() -> None:
    p = np.array([[1, 0.2, 0.01], [0.2, 1, 0.2], [0.01, 0.2, 1]])
    assert tie_groups([0.9, 0.8, 0.7], p).tolist() == [1, 1, 2]
    with pytest.raises(DataError):
        tie_groups([0.9, 0.8], p)


def test_win_probability_counts_ties_half() -> None:
    assert win_probability([[0.5, 0.5], [0.5, 0.4]]).tolist() == [[0.5, 0.75], [0.25, 0.5]]


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.sampled_from([0.2, 0.4, 0.8])), min_size=3, max_size=12
    )
)
def test_correlations_as_scipy(pairs: list[tuple[float, float]]) -> None:
    first, second = zip(*pairs, strict=True)
    if len(set(first)) == 1 or len(set(second)) == 1:
        return
    found = rank_agreement(first, second)
    assert found.kendall == pytest.approx(stats.kendalltau(first, second).statistic, abs=1e-9)
    assert found.spearman == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-9)


def test_rank_biased_overlap_by_its_definition() -> None:
    generator, p = np.random.default_rng(0), 0.8
    for _ in range(20):
        first, second = generator.permutation(9).tolist(), generator.permutation(9).tolist()
        shared = [len(set(first[:d]) & set(second[:d])) for d in range(1, 10)]
        total = sum(x / d * p**d for d, x in enumerate(shared, 1)) * (1 - p) / p
        assert rank_biased_overlap(first, second, persistence=p) == pytest.approx(total + shared[-1] / 9 * p**9)
    assert rank_biased_overlap("abc", "abc") == pytest.approx(1) and rank_biased_overlap("ab", "cd") == 0
    assert rank_biased_overlap("abcdef", "abc") == pytest.approx(1)  # a prefix agrees as far as it goes
    assert rank_biased_overlap("abc", "bac") < rank_biased_overlap("abc", "acb")  # the top counts most


def test_agreement_of_resampled_rankings_has_intervals() -> None:
    one, other = group([0.0, 0.02, 0.04, 0.3]), group([0.0, 0.02, 0.04, 0.3], seed=1)
    found = rank_agreement(one.means, other.means, resampled=(one.resampled_means(300), other.resampled_means(300)))
    for name in ("spearman", "kendall", "rbo"):
        interval = found.intervals[name]
        assert interval.low <= getattr(found, name) <= interval.high and interval.low < interval.high


def test_agreement_of_other_models_or_a_wrong_persistence_is_refused() -> None:
    with pytest.raises(DataError):
        rank_agreement([0.1, 0.2], [0.1, 0.2, 0.3])
    with pytest.raises(UsageError):
        rank_biased_overlap("ab", "ab", persistence=1.0)
    with pytest.raises(DataError):
        rank_biased_overlap("", "")
