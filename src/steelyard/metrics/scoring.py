"""Score a run by its judgements: every metric for every query, in one pass over the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from steelyard.errors import SteelyardError, UnknownName
from steelyard.metrics import nauc
from steelyard.metrics.definition import METRICS
from steelyard.metrics.measures import pooled_recall
from steelyard.metrics.names import Metric, parse_many
from steelyard.metrics.ranking import Gain, Ranking, find_hits
from steelyard.types import Float64, Qrels, Run, Scores

Profile = Literal["steelyard", "mteb-2.26", "mteb-1.14"]
"""Whose conventions apply if they differ; see `score`."""

CUTOFFS = (1, 3, 5, 10, 20, 100, 1000)
"""The cutoffs of mteb, by which results are compared."""

DEFAULT_METRICS: tuple[Metric, ...] = (
    *(Metric(name, k) for name in ("ndcg", "map", "mrr", "recall", "precision", "hit_rate") for k in CUTOFFS),
    Metric("map"),
    Metric("mrr"),
    Metric("r_precision"),
    Metric("judged", 10),
)

NAUC_METRICS = ("ndcg", "map", "recall", "precision", "mrr")
"""The metrics for which mteb computes nAUC, if they have a cutoff."""


def score(
    run: Run,
    qrels: Qrels,
    metrics: Iterable[Metric | str] = DEFAULT_METRICS,
    *,
    gain: Gain = "linear",
    ignore: npt.ArrayLike | None = None,
    profile: Profile = "steelyard",
    mrr_run: Run | None = None,
    level: int = 1,
    documents: int = 0,
) -> Scores:
    """Return every metric for every query of the run, and the values that exist only for all queries together.

    Grades below the `level` are not relevant, but gains follow the grades. Relevant documents outside the corpus (rows
    of -1 in the qrels) cannot be retrieved but count. A query without a relevant document counts 0 in the means. Lists
    are best first by float32 score, then by row, which is trec_eval's rule for ties.

    `ignore` has a row for each query (-1: none): the document that is the query itself, left out of its list.
    `profile` "mteb-2.26" and "mteb-1.14" sort for MRR by the unrounded score, as mteb does; the latter does not average
    ties in nAUC. `mrr_run` has the same lists in the order for MRR: mteb 1.14 kept the order of a dictionary among
    equal scores (`dicts.run_from_dicts(..., ties="given")`). `documents` is the size of the collection, which `utility`
    needs if documents that were not retrieved have a value. `whole` has `pooled_recall_at_k` for every `recall_at_k`,
    the nAUCs that mteb computes, and the metrics that are not means over queries, such as `gm_map`.

    >>> run = Run.of([[0, 1, 2], [3, 4, 5]], [[0.9, 0.8, 0.7], [0.9, 0.8, 0.7]])
    >>> qrels = Qrels.of([0, 1, 1], [1, 3, 9], [1, 1, 1], queries=2)
    >>> scores = score(run, qrels, ["mrr", "recall@3"])
    >>> scores.per_query["mrr"].tolist(), scores["recall_at_3"], scores["pooled_recall_at_3"]
    ([0.5, 1.0], 0.75, 0.6666666666666666)
    """
    if profile not in get_args(Profile):
        hint = f"choose one of {', '.join(get_args(Profile))}"
        raise UnknownName("profile", profile, get_args(Profile), hint=hint, option="profile")
    if ignore is not None:
        run = leave_out(run, ignore)
        mrr_run = None if mrr_run is None else leave_out(mrr_run, ignore)
    ranking = for_mrr = Ranking(run, qrels, gain, level, documents)
    unrounded = order_by_double(run) if mrr_run is None else mrr_run
    if profile != "steelyard" and unrounded is not run:
        for_mrr = Ranking(unrounded, qrels, gain, level, documents)
    chosen = resolve(metrics)
    per_query: dict[str, Float64] = {}
    whole: dict[str, float | None] = {}
    for metric in chosen:
        if metric.definition.whole is not None:
            whole[str(metric)] = metric.definition.whole(ranking, metric.cutoff)
        else:
            per_query[str(metric)] = compute(metric, for_mrr if metric.name == "mrr" else ranking)
        if metric.name == "recall":
            whole[f"pooled_{metric}"] = pooled_recall(ranking, metric.cutoff)
    return Scores(per_query, whole | abstention(unrounded, chosen, per_query, profile))


def compute(metric: Metric, ranking: Ranking) -> Float64:
    """Return one metric for every query; a plug-in that does not return one finite number for each raises an error."""
    returned = np.asarray(metric.compute(ranking))
    queries = len(ranking.run)
    numbers = returned.dtype.kind in "bfiu"
    values = returned.astype(np.float64, copy=False) if numbers else np.zeros(returned.shape)
    if not numbers or values.shape != (queries,) or not np.isfinite(values).all():
        finite = f" of type {returned.dtype}" if not numbers else ""
        finite = finite if np.isfinite(values).all() else " with NaN or infinity"
        raise SteelyardError(
            f"the metric {metric} of {METRICS.origin(metric.name)} must return one finite number for each of "
            f"{queries:,} queries, got an array of shape {values.shape}{finite}",
            hint="correct the metric, or leave it out",
            expected=f"{queries} finite numbers",
            found=f"shape {values.shape}{finite}",
        )
    return values


def resolve(metrics: Iterable[Metric | str]) -> tuple[Metric, ...]:
    """Return metrics from names or values, each once, in their order."""
    resolved: dict[Metric, None] = {}
    for item in metrics:
        resolved.update(dict.fromkeys(parse_many(item) if isinstance(item, str) else (item,)))
    return tuple(resolved)


def abstention(
    run: Run, metrics: Sequence[Metric], per_query: dict[str, Float64], profile: Profile
) -> dict[str, float | None]:
    """Return `nauc_<metric>_<confidence>` for the metrics of which mteb computes it; None if undefined."""
    names = [str(m) for m in metrics if m.name in NAUC_METRICS and m.cutoff is not None]
    if not names or not len(run):
        return {}
    values = np.stack([per_query[name] for name in names])
    ties: nauc.Ties = "as-sorted" if profile == "mteb-1.14" else "averaged"
    table = nauc.nauc(nauc.confidence(run), values, ties=ties)
    return {
        f"nauc_{name}_{function}": None if np.isnan(value) else value
        for name, row in zip(names, table.tolist(), strict=True)
        for function, value in zip(nauc.CONFIDENCES, row, strict=True)
    }


def leave_out(run: Run, rows: npt.ArrayLike) -> Run:
    """Return the run without one row of each query (-1: none); the rows after it move up.

    >>> leave_out(Run.of([[0, 1, 2]], [[0.9, 0.8, 0.7]]), [1]).rows.tolist()
    [[0, 2, -1]]
    """
    out = np.asarray(rows, dtype=np.int32).reshape(-1, 1)
    removed = (run.rows == out) & (out >= 0)
    changed = np.flatnonzero(removed.any(axis=1))
    order = np.argsort(removed[changed], axis=1, kind="stable")
    new_rows, new_scores = run.rows.copy(), run.scores.copy()
    new_rows[changed] = np.take_along_axis(np.where(removed, -1, run.rows)[changed], order, axis=1)
    new_scores[changed] = np.take_along_axis(np.where(removed, -np.inf, run.scores)[changed], order, axis=1)
    return Run(new_rows, new_scores)


def judged_only(run: Run, qrels: Qrels) -> Run:
    """Return the run without unjudged documents (also those with a grade below 0); the rows after them move up.

    >>> qrels = Qrels.of([0, 0, 0], [0, 1, 2], [1, -1, 0], queries=1)
    >>> judged_only(Run.of([[0, 1, 2, 3]], [[0.7, 0.8, 0.6, 0.9]]), qrels).rows.tolist()
    [[0, 2]]
    """
    hits = find_hits(run.rows, qrels)
    hits = hits.where(hits.grade >= 0)
    shape = (len(run), int(hits.nth.max(initial=0)))
    rows, scores = np.full(shape, -1, dtype=np.int32), np.full(shape, -np.inf, dtype=run.scores.dtype)
    rows[hits.query, hits.nth - 1] = run.rows[hits.query, hits.rank]
    scores[hits.query, hits.nth - 1] = run.scores[hits.query, hits.rank]
    return Run(rows, scores)


def order_by_double(run: Run) -> Run:
    """Return the run in the order of its unrounded scores; it differs only if float64 scores tie as float32.

    >>> order_by_double(Run.of([[0, 1]], [[0.1, 0.1 + 1e-10]])).rows.tolist()
    [[1, 0]]
    """
    if run.scores.dtype != np.float64:
        return run
    rising = np.flatnonzero((run.scores[:, 1:] > run.scores[:, :-1]).any(axis=1))
    if not len(rising):
        return run
    rows, scores = run.rows.copy(), run.scores.copy()
    order = np.argsort(-scores[rising], axis=1, kind="stable")
    rows[rising] = np.take_along_axis(rows[rising], order, axis=1)
    scores[rising] = np.take_along_axis(scores[rising], order, axis=1)
    return Run(rows, scores)
