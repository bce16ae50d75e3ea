"""Paired randomisation tests: under the null hypothesis, the sign of every query's difference is random.

All tests use the same random sign changes (`SignChanges`). So the sums of every model's scores serve every pair of
models (the sum of a pair is the difference of two rows), and the sums of several tasks are one matrix product. Scores
are rounded to a binary grid first, so that all sums are exact: the p-value does not depend on the CPU or on the order
of summation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from math import ceil, log2

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.types import Float64
from steelyard.vectors.threads import map_slices

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
    return pair_tests([np.asarray(values, dtype=np.float64)], SignChanges(flips, seed))[0][0]


def pair_tests(tasks: Sequence[Float64], changes: SignChanges) -> tuple[list[Float64], list[Float64]]:
    """Return the p-values of every pair of models on each task, and the sums of `difference_sums`, which they need."""
    grids = [_from_last(values) for values in tasks]
    sums = changes.sums([grid for grid, _ in grids])
    tests = []
    for (grid, unit), drawn in zip(grids, sums, strict=True):
        queries = grid.shape[1]
        totals = np.append(grid.sum(axis=1), 0.0)
        thresholds = np.abs(totals[:, None] - totals[None, :]) - 2 * queries
        exact = 2 ** (queries - 1) <= changes.flips
        tested = grid @ _all_signs(queries) if exact else drawn
        tests.append(_share(count_pairs(tested, thresholds), tested.shape[1], exact=exact))
        drawn *= unit
    return tests, sums


def difference_sums(tasks: Sequence[Float64], changes: SignChanges) -> list[Float64]:
    """Return the sums of the differences from the last model after the sign changes: (models - 1, flips) of each task.

    The last model's own would be 0. Pairs need no more: their sum is the difference of two rows.
    """
    grids = [_from_last(values) for values in tasks]
    sums = changes.sums([grid for grid, _ in grids])
    for (_, unit), drawn in zip(grids, sums, strict=True):
        drawn *= unit
    return sums


def _from_last(values: Float64) -> tuple[Float64, float]:
    """Return the differences of every other model from the last one, on the grid, and its unit."""
    grid, unit = on_grid(values)
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


class SignChanges:
    """Random sign changes, the same for the n-th query of every task.

    >>> changes = SignChanges(flips=1000, seed=0)
    >>> short, long = changes.sums([np.ones((1, 20)), np.ones((3, 50))])
    >>> short.shape, long.shape, bool(abs(long.mean()) < 1)
    ((1, 1000), (3, 1000), True)
    """

    def __init__(self, flips: int = FLIPS, seed: Seed = 0) -> None:
        self.flips, self.seed = flips, seed
        self._first = np.empty((0, flips))
        """Signs of the first queries: most tasks have no more, so they serve all calls."""

    def sums(self, values: Sequence[Float64]) -> list[Float64]:
        """Return the sums of every matrix of one task after each sign change: (rows, queries) to (rows, flips)."""
        order = sorted(range(len(values)), key=lambda place: -values[place].shape[1])
        longest = [values[place] for place in order]
        ends = np.cumsum([len(one) for one in longest]).tolist()
        sums = np.empty((ends[-1], self.flips))
        for start, octets in self._octets(longest[0].shape[1]):
            rest = [one[:, start : start + OCTET * len(octets)] for one in longest if one.shape[1] > start]
            part = np.zeros((ends[len(rest) - 1], rest[0].shape[1]))
            for end, one in zip(ends, rest, strict=False):
                part[end - len(one) : end, : one.shape[1]] = one
            if len(part) > FEW:
                _add_product(sums, part, self._signs(start, octets)[: part.shape[1]], first=start == 0)
            else:
                _add_looked_up(sums, part, octets, first=start == 0)
        split = dict(zip(order, np.split(sums, ends[:-1]), strict=True))
        return [split[place] for place in range(len(values))]

    def _octets(self, queries: int) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
        """Yield the first query of each block and the signs of its queries, eight in a byte: (bytes, flips)."""
        generator = np.random.default_rng(self.seed)
        step = max(BLOCK // (self.flips * OCTET), 1) * OCTET
        for start in range(0, queries, step):
            groups = -(-min(step, queries - start) // OCTET)
            drawn = generator.bytes(groups * self.flips)
            yield start, np.frombuffer(drawn, np.uint8).reshape(groups, self.flips)

    def _signs(self, start: int, octets: npt.NDArray[np.uint8]) -> Float64:
        if start:
            return _signs(octets)
        if len(self._first) < OCTET * len(octets):
            self._first = _signs(octets)
        return self._first


@lru_cache(maxsize=1)
def sign_changes(flips: int = FLIPS, seed: int = 0) -> SignChanges:
    """Return sign changes that several comparisons share, so that their signs are drawn once."""
    return SignChanges(flips, seed)


def flipped_sums(values: Float64, flips: int = FLIPS, seed: Seed = 0) -> Float64:
    """Return the sums of every row after each random sign change: (rows, queries) to (rows, flips)."""
    return SignChanges(flips, seed).sums([values])[0]


def _add_product(sums: Float64, part: Float64, signs: Float64, *, first: bool) -> None:
    """Add the sums of the next queries, or set those of the first; threads share the columns, for sums are exact."""

    def add(columns: slice) -> None:
        if first:
            np.matmul(part, signs[:, columns], out=sums[:, columns])
        else:
            sums[: len(part), columns] += part @ signs[:, columns]

    map_slices(add, sums.shape[1])


def _add_looked_up(sums: Float64, part: Float64, octets: npt.NDArray[np.uint8], *, first: bool) -> None:
    """The same for few rows: the sums of eight queries have 256 values, which are looked up by byte."""
    if first:
        sums.fill(0.0)
    looked_up = np.empty(sums.shape[1])
    for place, drawn in enumerate(octets):
        eight = part[:, place * OCTET : (place + 1) * OCTET]
        for table, total in zip(eight @ _byte_signs()[: eight.shape[1]], sums, strict=False):
            total += table.take(drawn, out=looked_up, mode="clip")


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
    if not np.isfinite(largest):
        raise DataError("every score must be a finite number, got NaN or infinity", hint="check the metric")
    bits = FINEST if largest == 0 else min(FINEST, 51 - ceil(log2(largest * values.shape[1])))
    return np.rint(np.ldexp(values, bits)), 2.0**-bits


def _all_signs(queries: int) -> Float64:
    """Return every sign change once, but for the mirrored ones: (queries, 2 ** (queries - 1))."""
    numbers = np.arange(2 ** (queries - 1))
    return (1 - 2 * ((numbers[None, :] >> np.arange(queries)[:, None]) & 1)).astype(np.float64)


def _share(counts: npt.NDArray[np.int64], flips: int, *, exact: bool) -> Float64:
    return np.asarray(counts / flips if exact else (counts + 1) / (flips + 1))
