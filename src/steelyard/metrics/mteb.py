"""Scores as mteb computes them, key by key, so that result files can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from steelyard.metrics import nauc
from steelyard.metrics.names import Metric
from steelyard.metrics.ranking import find_hits
from steelyard.metrics.scoring import CUTOFFS, score
from steelyard.types import Float64, Qrels, Run, Scores

MtebProfile = Literal["mteb-2.26", "mteb-1.14"]

ROUNDED = ("ndcg", "map", "recall", "precision", "hit_rate")
"""What mteb rounds to five decimals; it does not round MRR and nAUC."""


def mteb_scores(
    run: Run,
    qrels: Qrels,
    *,
    profile: MtebProfile = "mteb-2.26",
    main: str = "ndcg_at_10",
    ignore: npt.ArrayLike | None = None,
    mrr_run: Run | None = None,
    scores: Scores | None = None,
) -> dict[str, float | None]:
    """Return the scores of one subset as mteb has them: 149 keys for 2.26, 141 for 1.14, in its order, None for NaN.

    Queries without any judgement are dropped, as in mteb. Two things differ: the nAUC of a metric that is the same for
    all queries is None, where mteb may return rounding errors; and 1.14's MRR, which followed the order of a dictionary
    among equal scores, follows the document ids, unless `mrr_run` has another order. `ignore` and `mrr_run` are as in
    `score`. `scores` is the result of `score` for the same run and judgements; it is reused if it cannot differ from
    mteb's.

    >>> run = Run.of([[0, 1], [1, 2]], [[0.9, 0.8], [0.7, 0.6]])
    >>> scores = mteb_scores(run, Qrels.of([0, 1], [1, 1], [1, 1], queries=2))
    >>> len(scores), scores["ndcg_at_10"], scores["main_score"]
    (149, 0.81546, 0.81546)
    """
    judged = np.flatnonzero(qrels.counts)
    if ignore is not None or mrr_run is not None or len(judged) < len(run) or not _is_reusable(scores, run, profile):
        scores = None
    if len(judged) < len(run):
        run, qrels, mrr_run = _lists(run, judged), _judgements(qrels, judged), mrr_run and _lists(mrr_run, judged)
        ignore = None if ignore is None else np.asarray(ignore)[judged]
    if scores is None:
        scores = score(run, qrels, _metrics(profile), ignore=ignore, profile=profile, mrr_run=mrr_run)
    out: dict[str, float | None] = {}
    for name in ("ndcg", "map", "recall"):
        out |= _means(scores, name)
    if profile == "mteb-2.26":
        out["accuracy"] = out["recall_at_1"]
    out |= _means(scores, "precision") | _means(scores, "mrr")
    out |= {name: value for name, value in scores.whole.items() if name.startswith("nauc_")}
    if profile == "mteb-2.26":
        out |= _means(scores, "hit_rate")
    out["main_score"] = out[main]
    return out


def _is_reusable(scores: Scores | None, run: Run, profile: MtebProfile) -> bool:
    """Return whether our scores are those of mteb: all metrics exist, ties are averaged as since 2.26, and scores are
    float32 (mteb's MRR does not round doubles).
    """
    if scores is None or profile != "mteb-2.26" or run.scores.dtype != np.float32:
        return False
    return all(str(metric) in scores.per_query for metric in _metrics(profile))


def _metrics(profile: MtebProfile) -> list[Metric]:
    """Return the metrics in the order of mteb's nAUC keys."""
    names = ["ndcg", "map", "recall", "precision", "mrr"] + (["hit_rate"] if profile == "mteb-2.26" else [])
    return [Metric(name, cutoff) for name in names for cutoff in CUTOFFS]


def _means(scores: Scores, name: str) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for cutoff in CUTOFFS:
        values = scores.per_query[f"{name}_at_{cutoff}"]
        # Summed one by one and rounded by Python, as mteb does: the last bit can change the fifth decimal.
        mean = float(values.cumsum()[-1]) / len(values) if len(values) else 0.0
        means[f"{name}_at_{cutoff}"] = round(mean, 5) if name in ROUNDED else mean
    return means


def _lists(run: Run, queries: npt.NDArray[np.intp]) -> Run:
    return Run(run.rows[queries], run.scores[queries])


def _judgements(qrels: Qrels, queries: npt.NDArray[np.intp]) -> Qrels:
    offsets = np.concatenate(([0], np.cumsum(qrels.counts[queries])))
    keep = np.repeat(np.isin(np.arange(len(qrels)), queries), qrels.counts)
    return Qrels(offsets, qrels.rows[keep], qrels.grades[keep])


LEGACY_DEPTH = 10
"""The cutoff of the reciprocal rank in mteb 1.14's reranking."""


@dataclass(frozen=True, eq=False)
class LegacyReranking:
    """Average precision and reciprocal rank of each query with a relevant and an irrelevant candidate."""

    queries: npt.NDArray[np.intp]
    """These queries; mteb 1.14 drops the others."""
    average_precision: Float64
    reciprocal_rank: Float64
    confidence: Float64

    @property
    def scores(self) -> dict[str, float | None]:
        """Return `map`, `mrr` and six nAUCs, whose names start with `nAUC_`."""
        columns = {"map": self.average_precision, "mrr": self.reciprocal_rank}
        scores: dict[str, float | None] = {
            name: float(values.mean()) if len(values) else 0.0 for name, values in columns.items()
        }
        table = nauc.nauc(self.confidence, np.stack(list(columns.values())), ties="as-sorted")
        for name, row in zip(columns, table.tolist(), strict=True):
            for function, value in zip(nauc.CONFIDENCES, row, strict=True):
                scores[f"nAUC_{name}_{function}"] = None if np.isnan(value) else value
        return scores


def legacy_reranking(run: Run, qrels: Qrels) -> LegacyReranking:
    """Score the lists of a reranking task as mteb 1.14 did, before reranking became retrieval among candidates.

    Equal scores count together in the average precision (scikit-learn's), and in favour of the model in the reciprocal
    rank: 1.14 put the relevant candidates first and kept that order among equal scores.

    >>> run = Run.of([[0, 1, 2]], [[0.9, 0.8, 0.8]])
    >>> scored = legacy_reranking(run, Qrels.of([0, 0, 0], [0, 1, 2], [0, 0, 1], queries=1))
    >>> scored.average_precision.tolist(), scored.reciprocal_rank.tolist()
    ([0.3333333333333333], [0.5])
    """
    hits = find_hits(run.rows, qrels)
    relevant = np.zeros(run.rows.shape, dtype=bool)
    relevant[hits.query[hits.grade > 0], hits.rank[hits.grade > 0]] = True
    listed = run.rows >= 0
    queries = np.flatnonzero(relevant.any(axis=1) & (listed & ~relevant).any(axis=1))
    precision, reciprocal = np.zeros(len(queries)), np.zeros(len(queries))
    for place, query in enumerate(queries.tolist()):
        scores, positive = run.scores[query][listed[query]].astype(np.float64), relevant[query][listed[query]]
        precision[place] = _average_precision(scores, positive)
        rank = 1 + int((scores[~positive] > scores[positive].max()).sum())
        reciprocal[place] = 1 / rank if rank <= LEGACY_DEPTH else 0.0
    confidence = nauc.confidence(Run(run.rows[queries], run.scores[queries]))
    return LegacyReranking(queries, precision, reciprocal, confidence)


def _average_precision(scores: Float64, relevant: npt.NDArray[np.bool_]) -> float:
    """Return the average precision of descending scores; equal scores count together."""
    ends = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
    hits = np.cumsum(relevant)[ends]
    precision, recall = hits / (ends + 1), hits / hits[-1]
    return float(-np.sum(np.diff(np.append(recall[::-1], 0.0)) * precision[::-1]))
