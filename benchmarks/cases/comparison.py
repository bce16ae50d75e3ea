"""Row 9: is the difference real? All pairs of 55 models, and one pair."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.case import Case, Contestant


def make(models: int, queries: int) -> np.ndarray:
    """Return scores with the shape of nDCG@10: (models, queries)."""
    rng = np.random.default_rng(0)
    quality = np.linspace(-0.5, 0.5, models)[:, None]
    rank = np.floor(np.exp(rng.normal(1.0, 1.0, (models, queries)) - quality - rng.normal(0, 1.2, queries)[None, :]))
    return np.where(rank < 10, 1 / np.log2(rank.clip(0) + 2), 0.0)


def ours(scores: np.ndarray) -> Callable[[], dict[str, float]]:
    from steelyard.stats.randomisation import pair_p_values

    pair_p_values(scores[:2, :20])
    return lambda: {"p": float(pair_p_values(scores)[0, 1])}


def with_scipy(scores: np.ndarray) -> Callable[[], dict[str, float]]:
    from scipy import stats

    def test(first: np.ndarray, second: np.ndarray) -> float:
        result = stats.permutation_test(
            (first, second),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=10_000,
            rng=np.random.default_rng(0),
        )
        return float(result.pvalue)

    def work() -> dict[str, float]:
        values = [test(scores[i], scores[j]) for i in range(len(scores)) for j in range(i + 1, len(scores))]
        return {"p": values[0]}

    return work


def with_ranx(scores: np.ndarray) -> Callable[[], dict[str, float]]:
    """ranx: Fisher's randomisation test of all pairs, compiled."""
    from ranx.statistical_tests import fisher_randomization_test

    def work() -> dict[str, float]:
        values = [
            fisher_randomization_test(scores[i], scores[j], n_permutations=10_000, max_p=1.0, random_seed=0)[0]
            for i in range(len(scores))
            for j in range(i + 1, len(scores))
        ]
        return {"p": float(values[0])}

    fisher_randomization_test(scores[0, :20], scores[1, :20], n_permutations=10)
    return work


CASES = [
    Case(
        9,
        "compare-5-models",
        "Paired randomisation tests of all pairs of 5 models, 200 queries, 10,000 sign changes",
        (
            Contestant("steelyard", "ours"),
            Contestant("scipy", "with_scipy", "statistics"),
            Contestant("ranx", "with_ranx", "metrics"),
        ),
        {"models": 5, "queries": 200},
        rounds=5,
        target=10,
        tolerance=0.03,  # Monte Carlo error of 10,000 draws
    ),
    Case(
        9,
        "compare-55-models",
        "The same of all 1,485 pairs of 55 models (scipy: one pair in 5 s of 10,000 draws is not run 1,485 times)",
        (Contestant("steelyard", "ours"), Contestant("ranx", "with_ranx", "metrics")),
        {"models": 55, "queries": 200},
        rounds=1,
        target=50,
        tolerance=0.03,
        quick=False,
    ),
]
