"""Paired randomisation tests: under the null hypothesis, the sign of every query's difference is random.

The sums of every model's scores under the same sign changes serve every pair of models: the sum of a pair is the
difference of two rows. Scores are rounded to a binary grid first, so that all sums are exact: the p-value does not
depend on the CPU or on the order of summation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil, log2

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.types import Float64

FLIPS = 10_000
"""Random sign changes of a test."""
OCTET = 8
"""Queries whose signs are the bits of one random byte."""
FEW = 8
"""Rows up to which sums are looked up by byte; a product with a matrix of signs is faster for more."""
BLOCK = 1 << 22
"""Entries of a sign matrix that are in memory at a time."""
FINEST = 40
"""Scores are rounded to multiples of 2 ** -FINEST, or coarser where sums would not be exact."""

Seed = int | Sequence[int]
"""What numpy's generators accept; a sequence gives independent streams for several tasks under one seed."""


def p_values(differences: npt.ArrayLike, flips: int = FLIPS, seed: Seed = 0) -> Float64:
    """Return the two-sided p-value of every row of per-query differences (rows, queries).

    With b of n random sign changes at least as far from 0 as the observed sum, p = (b + 1) / (n + 1). If all
    2 ** (queries - 1) distinct sign changes are at most n, they are enumerated and p = b / 2 ** (queries - 1) is exact.

    >>> p_values([[0.2, 0.1, 0.3, 0.2, 0.1, 0.4], [0.2, -0.1, 0.3, -0.2, 0.1, -0.4]]).tolist()
    [0.03125, 1.0]
    """
    grid, _ = on_grid(np.atleast_2d(np.asarray(differences, dtype=np.float64)))
    queries = grid.shape[1]
    exact = 2 ** (queries - 1) <= flips
    sums = grid @ _all_signs(queries) if exact else flipped_sums(grid, flips, seed)
    threshold = np.abs(grid.sum(axis=1)) - 2 * queries
    counts = np.count_nonzero(np.abs(sums) >= threshold[:, None], axis=1)
    return _share(counts, sums.shape[1], exact=exact)


def pair_p_values(values: npt.ArrayLike, flips: int = FLIPS, seed: Seed = 0) -> Float64:
    """Return the p-value of every pair of models from their per-query scores (models, queries).

    The result is a symmetric (models, models) matrix with ones on its diagonal; see `p_values`.

    >>> pair_p_values([[0.9, 0.8, 0.7, 0.9, 1.0, 0.8], [0.5, 0.7, 0.6, 0.4, 0.7, 0.7]]).tolist()
    [[1.0, 0.03125], [0.03125, 1.0]]
    """
    return pair_tests(values, flips, seed)[0]


def pair_tests(values: npt.ArrayLike, flips: int = FLIPS, seed: Seed = 0) -> tuple[Float64, Float64]:
    """Return the p-value of every pair of models, and the sums of `difference_sums`, which the tests need."""
    grid, unit = _from_last(values)
    queries = grid.shape[1]
    sums = flipped_sums(grid, flips, seed)
    totals = np.append(grid.sum(axis=1), 0.0)
    thresholds = np.abs(totals[:, None] - totals[None, :]) - 2 * queries
    exact = 2 ** (queries - 1) <= flips
    tested = grid @ _all_signs(queries) if exact else sums
    tests = _share(count_pairs(tested, thresholds), tested.shape[1], exact=exact)
    return tests, np.multiply(sums, unit, out=sums)


def difference_sums(values: npt.ArrayLike, flips: int = FLIPS, seed: Seed = 0) -> Float64:
    """Return the sums of the differences from the last model after random sign changes: (models - 1, flips).

    The last model's own would be 0. Pairs need no more: their sum is the difference of two rows.
    """
    grid, unit = _from_last(values)
    return np.asarray(flipped_sums(grid, flips, seed) * unit)


def _from_last(values: npt.ArrayLike) -> tuple[Float64, float]:
    """Return the differences of every other model from the last one, on the grid, and its unit."""
    grid, unit = on_grid(np.asarray(values, dtype=np.float64))
    return grid[:-1] - grid[-1], unit


def count_pairs(sums: Float64, thresholds: Float64) -> npt.NDArray[np.int64]:
    """Return in how many columns each pair of models differs by its threshold or more: (models, models).

    The sums are those of all models but the last, whose sums are 0.
    """
    others, flips = sums.shape
    counts = np.full((others + 1, others + 1), flips, dtype=np.int64)
    gap, far = np.empty(flips), np.empty(flips, dtype=bool)
    for i in range(others):  # one pair at a time: its few vectors stay in the cache of the CPU
        for j in range(i + 1, others + 1):
            if j < others:
                np.subtract(sums[i], sums[j], out=gap)
                np.abs(gap, out=gap)
            else:
                np.abs(sums[i], out=gap)
            np.greater_equal(gap, thresholds[i, j], out=far)
            counts[i, j] = counts[j, i] = np.count_nonzero(far)
    return counts


def flipped_sums(values: Float64, flips: int = FLIPS, seed: Seed = 0) -> Float64:
    """Return the sums of every row after each random sign change: (rows, queries) to (rows, flips)."""
    generator = np.random.default_rng(seed)
    rows, queries = values.shape
    sums, looked_up = np.zeros((rows, flips)), np.empty(flips)
    step = max(BLOCK // (flips * OCTET), 1) * OCTET
    for start in range(0, queries, step):
        part = values[:, start : start + step]
        count = part.shape[1]
        octets = np.frombuffer(generator.bytes(-(-count // OCTET) * flips), np.uint8).reshape(-1, flips)
        if rows > FEW:
            sums += part @ _signs(octets)[:count]
            continue
        for place, drawn in enumerate(octets):
            eight = part[:, place * OCTET : (place + 1) * OCTET]
            for table, total in zip(eight @ _byte_signs()[: eight.shape[1]], sums, strict=True):
                total += table.take(drawn, out=looked_up, mode="clip")
    return sums


@cache
def _byte_signs() -> Float64:
    """Return the signs of each byte: (8, 256)."""
    return _signs(np.arange(256, dtype=np.uint8)[None, :])


def _signs(octets: npt.NDArray[np.uint8]) -> Float64:
    """Return the bits of bytes (groups, flips) as signs: (8 * groups, flips)."""
    bits = np.unpackbits(octets[:, None, :], axis=1).reshape(-1, octets.shape[1]).astype(np.float64)
    bits *= 2.0
    bits -= 1.0
    return bits


def on_grid(values: Float64) -> tuple[Float64, float]:
    """Return the values as whole numbers whose sums and differences a double holds exactly, and their unit."""
    if values.ndim != 2 or not values.shape[1]:
        raise DataError(
            f"scores must be a (models, queries) matrix with at least one query, got shape {values.shape}",
            hint="compare results that have per-query scores",
        )
    largest = float(np.abs(values).max(initial=0.0))
    if not np.isfinite(largest) or np.isnan(values).any():
        raise DataError("every score must be a finite number, got NaN or infinity", hint="check the metric")
    bits = FINEST if largest == 0 else min(FINEST, 51 - ceil(log2(largest * values.shape[1])))
    return np.rint(np.ldexp(values, bits)), 2.0**-bits


def _all_signs(queries: int) -> Float64:
    """Return every sign change once, but for the mirrored ones: (queries, 2 ** (queries - 1))."""
    numbers = np.arange(2 ** (queries - 1))
    return (1 - 2 * ((numbers[None, :] >> np.arange(queries)[:, None]) & 1)).astype(np.float64)


def _share(counts: npt.NDArray[np.int64], flips: int, *, exact: bool) -> Float64:
    return np.asarray(counts / flips if exact else (counts + 1) / (flips + 1))
