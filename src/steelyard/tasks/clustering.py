"""Clustering: do the clusters that k-means finds among the vectors go with the labels? V-measure, and adjusted
mutual information for tasks that are sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard import stats
from steelyard.errors import DataError
from steelyard.results import QueryScores
from steelyard.stats.intervals import DRAWS
from steelyard.tasks.agreement import resampled_v_measures
from steelyard.tasks.cluster_samples import Level, levels_of, rounds_of, sampled
from steelyard.tasks.confusion import label_codes
from steelyard.tasks.fitting import SEED, fitted_by, sklearn
from steelyard.tasks.resampling import described, interval_of
from steelyard.tasks.scored import Profile, Weighed, main_metric
from steelyard.types import Float32, Float64, Int64, Interval
from steelyard.types.samples import Bootstrap, ClusterTask, Problem, distinct

WHOLE_BATCH, SAMPLE_BATCH = 500, 512
"""What k-means reads at a time, by mteb: of a problem that is clustered whole, and of a sample."""


def cluster_texts(task: ClusterTask) -> list[str]:
    """The texts that are clustered: of a sampled task, only the sample; none of a problem with one label."""
    return distinct(*(problem.texts for problem in _problems(task) if task.bootstrap or not _trivial(problem)))


def _problems(task: ClusterTask) -> list[Problem]:
    return [sampled(problem, task.bootstrap) for problem in task.problems] if task.bootstrap else list(task.problems)


def _trivial(problem: Problem) -> bool:
    return len({levels[:1] for levels in problem.labels}) <= 1


def weigh_clusters(
    task: ClusterTask, texts: Sequence[str], vectors: Float32, profile: Profile = "mteb-2.26"
) -> Weighed:
    """Every problem whole, or one in samples, as the task says."""
    if not len(task):
        raise DataError("no texts to cluster", where=task.name, hint="a clustering task needs some")
    row_of = {text: row for row, text in enumerate(texts)}
    if task.bootstrap is None:
        return _whole(task, row_of, vectors)
    if len(task.problems) != 1:
        raise DataError(
            f"has {len(task.problems)} problems to be sampled", where=task.name, hint="put their texts into one"
        )
    return _in_samples(task, task.bootstrap, row_of, vectors, profile)


def k_means(vectors: Float32, clusters: int, batch: int, seed: int | np.random.RandomState) -> Int64:
    """The cluster of each vector; scikit-learn's mini-batch k-means, started once."""
    sklearn()
    from sklearn.cluster import MiniBatchKMeans

    model = MiniBatchKMeans(n_clusters=clusters, batch_size=batch, init="k-means++", n_init=1, random_state=seed)
    return np.asarray(model.fit_predict(vectors), dtype=np.int64)


def v_measure(gold: npt.NDArray[Any], clusters: Int64) -> float:
    """The harmonic mean of homogeneity and completeness."""
    sklearn()
    from sklearn.metrics import v_measure_score

    return float(v_measure_score(gold, clusters))


def _whole(task: ClusterTask, row_of: dict[str, int], vectors: Float32) -> Weighed:
    values, parts = [], []
    for problem in task.problems:
        gold = label_codes([levels[0] for levels in problem.labels])[0] if len(problem) else np.empty(0, np.int64)
        if _trivial(problem):  # whatever is done, one label is met
            values.append(1.0)
            parts.append((gold, np.zeros_like(gold)))
            continue
        points = vectors[[row_of[text] for text in problem.texts]]
        clusters = k_means(points, len(np.unique(gold)), WHOLE_BATCH, SEED)
        values.append(v_measure(gold, clusters))
        parts.append((gold, clusters))
    found: dict[str, float | None] = {"v_measure": float(np.mean(values)), "v_measure_std": float(np.std(values))}
    main = main_metric(task.info, "v_measure", found)
    samples = QueryScores(tuple(map(str, range(len(values)))), None, {"v_measure": np.array(values)})
    mteb = {**found, "v_measures": values}
    if len(values) > 1:
        intervals = stats.intervals({"v_measure": values})
        return Weighed(main, found, mteb, intervals, _over("problems", len(values)), samples, fitted_by())
    alone = interval_of(resampled_v_measures(*parts[0]), values[0])
    intervals = {} if alone is None else {"v_measure": alone}
    return Weighed(main, found, mteb, intervals, described(len(task), "texts, as clustered"), samples, fitted_by())


def _over(what: str, count: int) -> dict[str, object]:
    return {"method": "bootstrap", "over": what, "items": count, "draws": DRAWS, "seed": 0}


def _in_samples(
    task: ClusterTask, bootstrap: Bootstrap, row_of: dict[str, int], vectors: Float32, profile: Profile
) -> Weighed:
    problem = sampled(task.problems[0], bootstrap)
    points = vectors[[row_of[text] for text in problem.texts]]
    levels = levels_of(problem)
    picks = rounds_of(task.problems[0], bootstrap, [len(level.rows) for level in levels])
    by_level = _levels(points, levels, picks, profile)
    scores = {name: {f"Level {i}": found[name] for i, found in enumerate(by_level)} for name in ("v_measure", "ami")}
    found: dict[str, float | None] = {}
    for name in scores:
        flat = [value for values in scores[name].values() for value in values]
        found |= {name: float(np.mean(flat)), f"{name}_std": float(np.std(flat))}
    mteb = _mteb(scores, found, profile)
    by_round = {name: np.mean(list(scores[name].values()), axis=0) for name in scores}
    notes: dict[str, Any] = {**fitted_by(), "texts_sampled": len(problem)}
    unlabelled = [level.unlabelled for level in levels]
    if any(unlabelled):
        notes["unlabelled_as_a_class"] = unlabelled
        kept = [level.labelled() for level in levels]
        picks = rounds_of(task.problems[0], bootstrap, [len(level.rows) for level in kept])
        # mteb takes texts without a label at some level for a class of their own; this is the figure without them.
        values = [found["v_measure"] for found in _levels(points, kept, picks, profile)]
        found["v_measure_labelled"] = float(np.mean(values))
    return Weighed(
        main_metric(task.info, "v_measure", found),
        found,
        mteb,
        _intervals(by_round),
        _over("rounds", bootstrap.rounds),
        QueryScores(tuple(map(str, range(bootstrap.rounds))), None, by_round),
        notes,
    )


def _intervals(by_round: dict[str, Float64]) -> dict[str, Interval]:
    return stats.intervals(by_round, bounds=(-1.0, 1.0))


def _levels(
    points: Float32, levels: Sequence[Level], picks: Sequence[Sequence[Int64]], profile: Profile
) -> list[dict[str, list[float]]]:
    # 1.14 gave k-means no seed of its own: all its fits read on in one stream of random numbers.
    seed = SEED if profile == "mteb-2.26" else np.random.RandomState(SEED)
    return [_level(points, level, rounds, seed) for level, rounds in zip(levels, picks, strict=True)]


def _level(
    points: Float32, level: Level, rounds: Sequence[Int64], seed: int | np.random.RandomState
) -> dict[str, list[float]]:
    """V-measure and adjusted mutual information of every round."""
    sklearn()
    from sklearn.metrics import adjusted_mutual_info_score

    found: dict[str, list[float]] = {"v_measure": [], "ami": []}
    mine, clusters = points[level.rows], len(np.unique(level.codes))
    for picked in rounds:
        gold = level.codes[picked]
        given = k_means(mine[picked], clusters, SAMPLE_BATCH, seed)
        found["v_measure"].append(v_measure(gold, given))
        found["ami"].append(float(adjusted_mutual_info_score(gold, given)))
    return found


def _mteb(
    scores: dict[str, dict[str, list[float]]], found: dict[str, float | None], profile: Profile
) -> dict[str, Any]:
    first = {"v_measures": scores["v_measure"]} | {name: found[name] for name in ("v_measure", "v_measure_std")}
    if profile == "mteb-1.14":
        return first
    return {**first, "ami_scores": scores["ami"], "ami": found["ami"], "ami_std": found["ami_std"]}
