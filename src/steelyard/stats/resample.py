"""Random resamples of queries, as matrices: a statistic of every resample is then one matrix product.

The same seed and sizes give the same matrices on every machine (numpy's PCG64).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from steelyard.types import Float64
from steelyard.vectors.threads import single_threaded_blas

BLOCK = 1 << 22
"""Entries of a matrix made at a time, so that memory stays small however many queries there are."""


def bootstrap_means(values: Float64, draws: int, seed: int) -> Float64:
    """Means of resamples with replacement, all columns resampled alike: (queries, columns) to (draws, columns).

    >>> bootstrap_means(np.ones((3, 2)), draws=2, seed=0).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    with single_threaded_blas():  # small ones, after which threads of BLAS would only be in the way
        return np.concatenate([weights @ values for weights in _weights(len(values), draws, seed)])


def _weights(count: int, draws: int, seed: int) -> Iterator[Float64]:
    """Blocks of (draws, queries): how often each query was drawn, over their number."""
    if count * draws <= BLOCK:
        yield _kept_weights(count, draws, seed)
        return
    generator = np.random.default_rng(seed)
    for size in _block_sizes(count, draws):
        yield _draw(generator, size, count)


@lru_cache(maxsize=4)
def _kept_weights(count: int, draws: int, seed: int) -> Float64:
    # A batch has many tasks of 200 queries: one matrix serves all of them.
    weights = _draw(np.random.default_rng(seed), draws, count)
    weights.flags.writeable = False
    return weights


def _draw(generator: np.random.Generator, size: int, count: int) -> Float64:
    picks = generator.integers(0, count, (size, count)) + np.arange(size)[:, None] * count
    return np.bincount(picks.ravel(), minlength=size * count).reshape(size, count) / count


def _block_sizes(count: int, draws: int) -> Iterator[int]:
    step = max(BLOCK // max(count, 1), 1)
    for start in range(0, draws, step):
        yield min(step, draws - start)
