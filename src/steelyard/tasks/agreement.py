"""The V-measure of many resamples at once, from how often each label met each cluster."""

from __future__ import annotations

import numpy as np

from steelyard.tasks.resampling import SEED, draws_for
from steelyard.types import Float64, Int64


def v_measures(tables: Float64) -> Float64:
    """V-measure (beta 1) of tables of counts (..., labels, clusters).

    >>> v_measures(np.array([[[2.0, 0.0], [0.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]]])).tolist()
    [1.0, 0.0]
    """
    total = tables.sum(axis=(-2, -1))
    label, cluster = tables.sum(axis=-1), tables.sum(axis=-2)
    labels, clusters, joint = _entropy(label, total), _entropy(cluster, total), _entropy(tables, total)
    # Mutual information over the mean of the two entropies is the harmonic mean of homogeneity and completeness.
    mutual = np.maximum(labels + clusters - joint, 0.0)
    span = labels + clusters
    return np.where(span > 0, 2 * mutual / np.where(span > 0, span, 1), 1.0)


def _entropy(counts: Float64, total: Float64) -> Float64:
    counts = counts.reshape(*total.shape, -1)
    share = counts / total[..., None]
    return np.asarray(-(share * np.log(np.where(share > 0, share, 1))).sum(axis=-1))


def resampled_v_measures(gold: Int64, clusters: Int64) -> Float64:
    """V-measures of resamples of texts that keep the clusters they were put into."""
    if not len(gold):
        return np.empty(0)
    table = np.zeros((int(gold.max()) + 1, int(clusters.max()) + 1))
    np.add.at(table, (gold, clusters), 1)
    generator = np.random.default_rng(SEED)
    drawn = generator.multinomial(len(gold), table.ravel() / len(gold), size=draws_for(len(gold)))
    return v_measures(drawn.reshape(-1, *table.shape).astype(np.float64))
