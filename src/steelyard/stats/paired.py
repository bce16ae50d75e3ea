"""Is one model better than another on the same queries, or could the difference be chance?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.stats.intervals import BOUNDS, DRAWS, Bounds, bounds_of, intervals, stack
from steelyard.stats.randomisation import FLIPS, p_values
from steelyard.types import Interval


@dataclass(frozen=True)
class PairedTest:
    """The difference between two models on the same queries, first minus second."""

    difference: float
    """Mean of the first minus mean of the second."""
    interval: Interval
    """An interval of the true difference (BCa bootstrap)."""
    p_value: float
    """How often chance alone gives a difference at least as large, in either direction."""
    effect_size: float | None
    """The difference in standard deviations of the per-query differences; None if those are all alike."""
    wins: int
    ties: int
    losses: int

    def significant(self, alpha: float = 0.05) -> bool:
        """Whether the difference is too large for chance at the given risk."""
        return self.p_value < alpha


def paired_test(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    level: float = 0.95,
    permutations: int = FLIPS,
    draws: int = DRAWS,
    seed: int = 0,
) -> PairedTest:
    """Fisher's randomisation test of two models' values for the same queries; two-sided.

    Under the null hypothesis the sign of each query's difference is random. With k of n random sign changes giving a
    mean at least as far from 0, p = (k + 1) / (n + 1): never 0, and the same for the same seed. For up to 14 queries
    all sign changes are enumerated and p is exact.

    >>> test = paired_test([0.9, 0.8, 0.7, 0.9, 1.0, 0.8], [0.5, 0.8, 0.6, 0.4, 0.7, 0.9])
    >>> round(test.difference, 4), test.wins, test.ties, test.losses, test.significant()
    (0.2, 4, 1, 1, False)
    """
    name = "values"
    tests = paired_tests({name: first}, {name: second}, level=level, permutations=permutations, draws=draws, seed=seed)
    return tests[name]


def paired_tests(
    first: Mapping[str, npt.ArrayLike],
    second: Mapping[str, npt.ArrayLike],
    *,
    level: float = 0.95,
    permutations: int = FLIPS,
    draws: int = DRAWS,
    seed: int = 0,
    bounds: Bounds | Mapping[str, Bounds] = BOUNDS,
) -> dict[str, PairedTest]:
    """A `paired_test` of every metric that both models have, over the same sign changes.

    Within the `bounds` of a metric, as `intervals` takes them, no difference is larger than their distance. One query
    gives no information: the interval of its difference is all that the bounds allow.
    """
    names = [name for name in first if name in second]
    if not names:
        return {}
    ours, theirs = stack({name: first[name] for name in names}), stack({name: second[name] for name in names})
    if ours.shape != theirs.shape:
        raise DataError(
            f"both models must have the same queries, got {len(ours):,} and {len(theirs):,}",
            hint="compare results of the same task",
            found=(len(ours), len(theirs)),
        )
    if not len(ours):
        raise DataError("a paired test needs at least 1 query, got 0", hint="use a task that has queries")
    differences = ours - theirs
    means = differences.mean(axis=0)
    p = p_values(differences.T, permutations, seed)
    least, most = bounds_of(names, bounds)
    widest = {name: (-width, width) for name, width in zip(names, (most - least).tolist(), strict=True)}
    ranges = intervals(dict(zip(names, differences.T, strict=True)), level, draws=draws, seed=seed, bounds=widest)
    spread = differences.std(axis=0, ddof=1) if len(differences) > 1 else np.zeros(len(names))
    return {
        name: PairedTest(
            difference=float(means[i]),
            interval=ranges.get(name, Interval(-inf, inf, level)),
            p_value=float(p[i]),
            effect_size=float(means[i] / spread[i]) if spread[i] > 1e-15 else None,
            wins=int((differences[:, i] > 0).sum()),
            ties=int((differences[:, i] == 0).sum()),
            losses=int((differences[:, i] < 0).sum()),
        )
        for i, name in enumerate(names)
    }
