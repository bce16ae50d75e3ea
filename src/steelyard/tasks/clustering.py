"""Clustering: agreement of the clusters of k-means with the labels, by V-measure, and by adjusted mutual information
for sampled tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard import stats
from steelyard.errors import DataError
from steelyard.results import QueryScores
from steelyard.stats.intervals import DRAWS
from steelyard.tasks.confusion import label_codes
from steelyard.tasks.fitting import SEED, fitted_by, one_thread, sklearn
from steelyard.tasks.resampling import SEED as RESAMPLING_SEED
from steelyard.tasks.resampling import described, draws_for, interval_of
from steelyard.tasks.sample_scores import Profile, SampleScores, main_metric
from steelyard.types import Float32, Float64, Int64, Interval
from steelyard.types.samples import Bootstrap, ClusterTask, Label, Problem, distinct

WHOLE_BATCH, SAMPLE_BATCH = 500, 512
"""The batch sizes of k-means in mteb: for a whole problem, and for a sample."""


def cluster_texts(task: ClusterTask) -> list[str]:
    """Return the texts that are clustered: of a sampled task only the sample, of a problem with one label none."""
    return distinct(*(problem.texts for problem in _problems(task) if task.bootstrap or not _trivial(problem)))


def _problems(task: ClusterTask) -> list[Problem]:
    return [sampled(problem, task.bootstrap) for problem in task.problems] if task.bootstrap else list(task.problems)


def _trivial(problem: Problem) -> bool:
    return len({levels[:1] for levels in problem.labels}) <= 1


def score_clusters(
    task: ClusterTask, texts: Sequence[str], vectors: Float32, profile: Profile = "mteb-2.26"
) -> SampleScores:
    """Score every problem as a whole, or one problem in samples, as the task defines."""
    if not len(task):
        raise DataError("a clustering task must have texts", where=task.name, hint="add texts with labels")
    row_of = {text: row for row, text in enumerate(texts)}
    if task.bootstrap is None:
        return _whole(task, row_of, vectors)
    if len(task.problems) != 1:
        raise DataError.invalid(
            "the number of problems of a sampled task",
            expected="1",
            found=len(task.problems),
            where=task.name,
            hint="join their texts into one",
        )
    return _in_samples(task, task.bootstrap, row_of, vectors, profile)


def k_means(vectors: Float32, clusters: int, batch: int, seed: int | np.random.RandomState) -> Int64:
    """Return the cluster of each vector by scikit-learn's mini-batch k-means with one start."""
    sklearn()
    from sklearn.cluster import MiniBatchKMeans

    model = MiniBatchKMeans(n_clusters=clusters, batch_size=batch, init="k-means++", n_init=1, random_state=seed)
    with one_thread():
        return np.asarray(model.fit_predict(vectors), dtype=np.int64)


def v_measure(gold: npt.NDArray[Any], clusters: Int64) -> float:
    """Return the harmonic mean of homogeneity and completeness."""
    sklearn()
    from sklearn.metrics import v_measure_score

    return float(v_measure_score(gold, clusters))


def agreement(gold: Int64, clusters: Int64) -> tuple[float, float]:
    """Return V-measure and adjusted mutual information, to the last bit those of scikit-learn.

    Its two functions would each check and count the labels and compute the mutual information.
    """
    sklearn()
    from sklearn.metrics import adjusted_mutual_info_score, mutual_info_score
    from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

    sizes = [np.unique(labels, return_counts=True)[1].astype(np.float64) for labels in (gold, clusters)]
    if min(map(len, sizes)) < 2:  # without entropy: special values
        return v_measure(gold, clusters), float(adjusted_mutual_info_score(gold, clusters))
    table = contingency_matrix(gold, clusters, sparse=True)
    mutual = mutual_info_score(None, None, contingency=table)
    label_entropy, cluster_entropy = (
        float(-np.sum((size / len(gold)) * (np.log(size) - log(len(gold))))) for size in sizes
    )
    homogeneity, completeness = mutual / label_entropy, mutual / cluster_entropy
    v = 2 * homogeneity * completeness / (homogeneity + completeness) if mutual else 0.0
    expected = expected_mutual_information(table, len(gold))
    above, most = mutual - expected, (label_entropy + cluster_entropy) / 2 - expected
    smallest = float(
        np.finfo(np.float64).eps
    )  # at least this far from 0 on the same side: a perfect match is not 0 / 0
    above, most = (min(x, -smallest) if x < 0 else max(x, smallest) for x in (above, most))
    return float(v), float(above / most)


def _whole(task: ClusterTask, row_of: dict[str, int], vectors: Float32) -> SampleScores:
    values, parts, clusterings = [], [], []
    for problem in task.problems:
        gold = label_codes([levels[0] for levels in problem.labels])[0] if len(problem) else np.empty(0, np.int64)
        if _trivial(problem):  # one label is always matched
            values.append(1.0)
            parts.append((gold, np.zeros_like(gold)))
            continue
        points = vectors[[row_of[text] for text in problem.texts]]
        clusters = k_means(points, len(np.unique(gold)), WHOLE_BATCH, SEED)
        values.append(v_measure(gold, clusters))
        parts.append((gold, clusters))
        clusterings.append(clusters.tolist())
    metrics: dict[str, float | None] = {"v_measure": float(np.mean(values)), "v_measure_std": float(np.std(values))}
    main = main_metric(task.info, "v_measure", metrics)
    samples = QueryScores(tuple(map(str, range(len(values)))), None, {"v_measure": np.array(values)})
    mteb = {**metrics, "v_measures": values}
    if len(values) > 1:
        intervals = stats.intervals({"v_measure": values})
        over = _over("problems", len(values))
        return SampleScores(main, metrics, mteb, intervals, over, samples, fitted_by(), clusterings)
    interval = interval_of(resampled_v_measures(*parts[0]), values[0])
    intervals = {} if interval is None else {"v_measure": interval}
    over = described(len(task), "texts, as clustered")
    return SampleScores(main, metrics, mteb, intervals, over, samples, fitted_by(), clusterings)


def _over(items: str, count: int) -> dict[str, object]:
    return {"method": "bootstrap", "over": items, "items": count, "draws": DRAWS, "seed": 0}


def _in_samples(
    task: ClusterTask, bootstrap: Bootstrap, row_of: dict[str, int], vectors: Float32, profile: Profile
) -> SampleScores:
    problem = sampled(task.problems[0], bootstrap)
    points = vectors[[row_of[text] for text in problem.texts]]
    levels = levels_of(problem)
    picks = rounds_of(task.problems[0], bootstrap, [len(level.rows) for level in levels])
    by_level, clusterings = _levels(points, levels, picks, profile)
    scores = {name: {f"Level {i}": level[name] for i, level in enumerate(by_level)} for name in ("v_measure", "ami")}
    metrics: dict[str, float | None] = {}
    for name in scores:
        flat = [value for values in scores[name].values() for value in values]
        metrics |= {name: float(np.mean(flat)), f"{name}_std": float(np.std(flat))}
    mteb = _mteb(scores, metrics, profile)
    by_round = {name: np.mean(list(scores[name].values()), axis=0) for name in scores}
    notes: dict[str, Any] = {**fitted_by(), "texts_sampled": len(problem)}
    unlabelled = [level.unlabelled for level in levels]
    if any(unlabelled):
        notes["unlabelled_as_a_class"] = unlabelled
        labelled = [level.labelled() for level in levels]
        picks = rounds_of(task.problems[0], bootstrap, [len(level.rows) for level in labelled])
        # For mteb, texts without a label at some level are a class of their own; this is the score without them.
        values = [scored["v_measure"] for scored in _levels(points, labelled, picks, profile)[0]]
        metrics["v_measure_labelled"] = float(np.mean(values))
    return SampleScores(
        main_metric(task.info, "v_measure", metrics),
        metrics,
        mteb,
        _intervals(by_round),
        _over("rounds", bootstrap.rounds),
        QueryScores(tuple(map(str, range(bootstrap.rounds))), None, by_round),
        notes,
        {f"Level {i}": rounds for i, rounds in enumerate(clusterings)},
    )


def _intervals(by_round: dict[str, Float64]) -> dict[str, Interval]:
    return stats.intervals(by_round, bounds=(-1.0, 1.0))


def _levels(
    points: Float32, levels: Sequence[Level], picks: Sequence[Sequence[Int64]], profile: Profile
) -> tuple[list[dict[str, list[float]]], list[list[list[int]]]]:
    """Return the scores and the clusters of every level."""
    # mteb 1.14 did not seed k-means: all its fits share one stream of random numbers.
    seed = SEED if profile == "mteb-2.26" else np.random.RandomState(SEED)
    both = [_level(points, level, rounds, seed) for level, rounds in zip(levels, picks, strict=True)]
    return [scores for scores, _ in both], [clusters for _, clusters in both]


def _level(
    points: Float32, level: Level, rounds: Sequence[Int64], seed: int | np.random.RandomState
) -> tuple[dict[str, list[float]], list[list[int]]]:
    """Return V-measure and adjusted mutual information of every round, and its clusters."""
    scores: dict[str, list[float]] = {"v_measure": [], "ami": []}
    clusterings: list[list[int]] = []
    vectors, count = points[level.rows], len(np.unique(level.codes))
    for sample in rounds:
        gold = level.codes[sample]
        clusters = k_means(vectors[sample], count, SAMPLE_BATCH, seed)
        for name, value in zip(scores, agreement(gold, clusters), strict=True):
            scores[name].append(value)
        clusterings.append(clusters.tolist())
    return scores, clusterings


def _mteb(
    scores: dict[str, dict[str, list[float]]], metrics: dict[str, float | None], profile: Profile
) -> dict[str, Any]:
    first = {"v_measures": scores["v_measure"]} | {name: metrics[name] for name in ("v_measure", "v_measure_std")}
    if profile == "mteb-1.14":
        return first
    return {**first, "ami_scores": scores["ami"], "ami": metrics["ami"], "ami_std": metrics["ami_std"]}


def v_measures(tables: Float64) -> Float64:
    """Return the V-measure (beta 1) of tables of counts (..., labels, clusters).

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
    """Return the V-measures of resampled texts, which keep their clusters."""
    if not len(gold):
        return np.empty(0)
    table = np.zeros((int(gold.max()) + 1, int(clusters.max()) + 1))
    np.add.at(table, (gold, clusters), 1)
    generator = np.random.default_rng(RESAMPLING_SEED)
    drawn = generator.multinomial(len(gold), table.ravel() / len(gold), size=draws_for(len(gold)))
    return v_measures(drawn.reshape(-1, *table.shape).astype(np.float64))


MISSING = -1
"""The label of a text without a label at some level."""


@dataclass(frozen=True, eq=False)
class Level:
    """One level of labels: which texts are clustered by it, and their labels as numbers."""

    rows: Int64
    codes: Int64
    missing: npt.NDArray[np.bool_]
    """Texts without a label that are clustered, too."""

    @property
    def unlabelled(self) -> int:
        """Return the number of texts without a label."""
        return int(self.missing.sum())

    def labelled(self) -> Level:
        """Return the level without these texts."""
        labelled = ~self.missing
        return Level(self.rows[labelled], self.codes[labelled], self.missing[labelled])


def sampled(problem: Problem, bootstrap: Bootstrap) -> Problem:
    """Return the part of a problem that is encoded, in the order in which it was sampled."""
    rows = _stratified(problem, bootstrap.stratified)
    if (size := _size(bootstrap, len(rows))) is not None:
        rows = rows[Random(SEED).sample(range(len(rows)), k=size)]
    places = rows.tolist()
    return Problem(tuple(problem.texts[row] for row in places), tuple(problem.labels[row] for row in places))


def _size(bootstrap: Bootstrap, texts: int) -> int | None:
    share = bootstrap.documents
    if share is None:
        return None
    return min(texts, int(share * texts) if isinstance(share, float) else share)


def rounds_of(problem: Problem, bootstrap: Bootstrap, sizes: Sequence[int]) -> list[list[Int64]]:
    """Return for each level of so many texts the places sampled in each round, with replacement."""
    texts = len(_stratified(problem, bootstrap.stratified))
    generator = Random(SEED)
    if (size := _size(bootstrap, texts)) is not None:
        generator.sample(range(texts), k=size)  # the rounds continue the random numbers of the sample of texts
    return [
        [np.array(generator.choices(range(size), k=bootstrap.size)) for _ in range(bootstrap.rounds)] for size in sizes
    ]


def levels_of(problem: Problem) -> list[Level]:
    """Return the levels from the widest. As in mteb, a text without a label is left out if labels are numbers, and in
    a class of its own if labels are words.
    """
    levels = []
    for depth in range(problem.depth):
        labels: list[Label] = [own[depth] if len(own) > depth else MISSING for own in problem.labels]
        missing = np.array([len(own) <= depth for own in problem.labels])
        words = any(isinstance(label, str) for label in labels)
        rows = np.arange(len(labels)) if words else np.flatnonzero(np.array(labels) != MISSING)
        codes = label_codes([labels[row] for row in rows.tolist()])[0]
        levels.append(Level(rows, codes, missing[rows]))
    return levels


def _stratified(problem: Problem, size: int | None) -> Int64:
    """Return so many rows, stratified by the first-level label; all rows if there are not more."""
    if size is None or size >= len(problem):
        return np.arange(len(problem))
    labels = [str(own[0]) if own else "" for own in problem.labels]
    codes = label_codes(labels)[0]
    generator = np.random.default_rng(SEED)
    counts = np.bincount(codes)
    skipped = apportioned(counts, len(codes) - size, generator)
    taken = apportioned(counts - skipped, size, generator)
    by_label = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
    picked = []
    for rows, skip, take in zip(by_label, skipped.tolist(), taken.tolist(), strict=True):
        picked.append(rows[generator.permutation(len(rows))][skip : skip + take])
    generator.permutation(int(skipped.sum()))  # mteb shuffles the rest first, which consumes random numbers
    return np.asarray(generator.permutation(np.concatenate(picked)), dtype=np.int64)


def apportioned(counts: Int64, seats: int, generator: np.random.Generator) -> Int64:
    """Distribute seats by size with the largest-remainder method; equal remainders are drawn at random.

    >>> apportioned(np.array([50, 30, 20]), 11, np.random.default_rng(0)).tolist()
    [6, 3, 2]
    """
    exact = seats * counts / counts.sum()
    seated = np.floor(exact)
    left = int(seats - seated.sum())
    remainders = exact - seated
    for remainder in np.unique(remainders)[::-1]:
        if left <= 0:
            break
        equal = np.flatnonzero(remainders == remainder)
        chosen = generator.choice(equal, size=min(len(equal), left), replace=False)
        seated[chosen] += 1
        left -= len(chosen)
    return np.asarray(seated, dtype=np.int64)
