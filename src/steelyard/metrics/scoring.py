"""From a run and its judgements to figures: every metric for every query, in one pass over the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from steelyard.errors import SteelyardError, UnknownName
from steelyard.metrics import nauc
from steelyard.metrics.definition import METRICS
from steelyard.metrics.names import Metric, parse_many
from steelyard.metrics.pooled import pooled_recall
from steelyard.metrics.ranking import Gain, Ranking, find_hits
from steelyard.types import Float64, Qrels, Run, Scores

Profile = Literal["steelyard", "mteb-2.26", "mteb-1.14"]
"""Whose conventions hold where they differ; see `score`."""

CUTOFFS = (1, 3, 5, 10, 20, 100, 1000)
"""Where mteb cuts, and so where everyone compares."""

DEFAULT_METRICS: tuple[Metric, ...] = (
    *(Metric(name, k) for name in ("ndcg", "map", "mrr", "recall", "precision", "hit_rate") for k in CUTOFFS),
    Metric("map"),
    Metric("mrr"),
    Metric("r_precision"),
    Metric("judged", 10),
)

NAUC_METRICS = ("ndcg", "map", "recall", "precision", "mrr")
"""The metrics that mteb gives an nAUC, where they have a cut-off."""


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
    """Every metric for every query of the run, and the figures that only exist for all of them together.

    Grades below the `level` are not relevant, though gains go by the grades themselves; relevant documents outside
    the corpus (rows of -1 in the qrels) can't be found but count. A query without a relevant document counts 0 in the
    means. Lists are taken as `Run` promises them: best first by float32 score, then by row, which is trec_eval's tie
    rule.

    `ignore` holds a row for each query (-1: none): the document that is the query itself, left out of its list.
    `profile` "mteb-2.26" and "mteb-1.14" order the MRR by the unrounded score, as mteb does; the latter does not
    average the ties of nAUC. `mrr_run` is the same lists in the order in which MRR is to read them: mteb 1.14 kept
    the order of a dictionary among equal scores (`dicts.run_from_dicts(..., ties="given")`).
    `documents` is the size of the collection, which `utility` asks for where documents left out have a worth.
    `whole` holds `pooled_recall_at_k` beside every `recall_at_k`, the nAUCs of what mteb gives one, and the metrics
    that are no mean of queries, such as `gm_map`.

    >>> run = Run.of([[0, 1, 2], [3, 4, 5]], [[0.9, 0.8, 0.7], [0.9, 0.8, 0.7]])
    >>> qrels = Qrels.of([0, 1, 1], [1, 3, 9], [1, 1, 1], queries=2)
    >>> scores = score(run, qrels, ["mrr", "recall@3"])
    >>> scores.per_query["mrr"].tolist(), scores["recall_at_3"], scores["pooled_recall_at_3"]
    ([0.5, 1.0], 0.75, 0.6666666666666666)
    """
    if profile not in get_args(Profile):
        raise UnknownName("profile", profile, get_args(Profile), hint=f"known: {', '.join(get_args(Profile))}")
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
    """One metric for every query; an error if a plug-in gives anything but one finite number for each."""
    values = np.asarray(metric.compute(ranking), dtype=np.float64)
    queries = len(ranking.run)
    if values.shape != (queries,) or not np.isfinite(values).all():
        finite = "all finite" if np.isfinite(values).all() else "not all finite"
        raise SteelyardError(
            f"the metric {metric} ({METRICS.origin(metric.name)}) gave an array of shape {values.shape}, {finite}",
            hint=f"it must give one finite number for each of the {queries:,} queries",
        )
    return values


def resolve(metrics: Iterable[Metric | str]) -> tuple[Metric, ...]:
    """Metrics from names or values, each once, in the order given."""
    found: dict[Metric, None] = {}
    for item in metrics:
        found.update(dict.fromkeys(parse_many(item) if isinstance(item, str) else (item,)))
    return tuple(found)


def abstention(
    run: Run, metrics: Sequence[Metric], per_query: dict[str, Float64], profile: Profile
) -> dict[str, float | None]:
    """`nauc_<metric>_<confidence>` for every metric that mteb gives one; None where undefined."""
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
    """The run without one row of each query (-1: nothing); what follows moves up.

    >>> leave_out(Run.of([[0, 1, 2]], [[0.9, 0.8, 0.7]]), [1]).rows.tolist()
    [[0, 2, -1]]
    """
    out = np.asarray(rows, dtype=np.int32).reshape(-1, 1)
    gone = (run.rows == out) & (out >= 0)
    touched = np.flatnonzero(gone.any(axis=1))
    order = np.argsort(gone[touched], axis=1, kind="stable")
    new_rows, new_scores = run.rows.copy(), run.scores.copy()
    new_rows[touched] = np.take_along_axis(np.where(gone, -1, run.rows)[touched], order, axis=1)
    new_scores[touched] = np.take_along_axis(np.where(gone, -np.inf, run.scores)[touched], order, axis=1)
    return Run(new_rows, new_scores)


def judged_only(run: Run, qrels: Qrels) -> Run:
    """The run without the documents that nobody judged (a grade below 0 is no judgement); what follows moves up.

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
    """The run in the order of its unrounded scores; only differs where float64 scores tie as float32.

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
