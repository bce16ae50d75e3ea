"""The retrieval scores of mteb, every key, from our own run: so that result files can stand side by side."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from steelyard.metrics.names import Metric
from steelyard.metrics.scoring import CUTOFFS, score
from steelyard.types import Qrels, Run, Scores

MtebProfile = Literal["mteb-2.26", "mteb-1.14"]

ROUNDED = ("ndcg", "map", "recall", "precision", "hit_rate")
"""What mteb rounds to five decimals; MRR and nAUC it leaves as they are."""


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
    """The scores of one subset as mteb has them: 149 keys for 2.26, 141 for 1.14, in its order, None for its NaN.

    mteb drops queries without any judgement; so does this. Two things are better here than there: an nAUC of a
    metric that is the same for all queries is None, where mteb may print rounding noise; and 1.14's MRR, which
    followed the order of a dictionary among equal scores, follows the document ids, unless `mrr_run` says otherwise.
    `ignore` and `mrr_run` are those of `score`. `scores` are what `score` gave for the same run and judgements, if it
    was asked before: they are taken where they cannot differ from mteb's.

    >>> run = Run.of([[0, 1], [1, 2]], [[0.9, 0.8], [0.7, 0.6]])
    >>> scores = mteb_scores(run, Qrels.of([0, 1], [1, 1], [1, 1], queries=2))
    >>> len(scores), scores["ndcg_at_10"], scores["main_score"]
    (149, 0.81546, 0.81546)
    """
    kept = np.flatnonzero(qrels.counts)
    if ignore is not None or mrr_run is not None or len(kept) < len(run) or not _serves(scores, run, profile):
        scores = None
    if len(kept) < len(run):
        run, qrels, mrr_run = _lists(run, kept), _judgements(qrels, kept), mrr_run and _lists(mrr_run, kept)
        ignore = None if ignore is None else np.asarray(ignore)[kept]
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


def _serves(scores: Scores | None, run: Run, profile: MtebProfile) -> bool:
    """Whether our own scores are mteb's: every metric is there, ties are averaged as since 2.26, and no score is a
    double, which mteb's MRR would not round.
    """
    if scores is None or profile != "mteb-2.26" or run.scores.dtype != np.float32:
        return False
    return all(str(metric) in scores.per_query for metric in _metrics(profile))


def _metrics(profile: MtebProfile) -> list[Metric]:
    """In the order of mteb's nAUC keys."""
    names = ["ndcg", "map", "recall", "precision", "mrr"] + (["hit_rate"] if profile == "mteb-2.26" else [])
    return [Metric(name, cutoff) for name in names for cutoff in CUTOFFS]


def _means(scores: Scores, name: str) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for cutoff in CUTOFFS:
        values = scores.per_query[f"{name}_at_{cutoff}"]
        # Summed one by one and rounded by Python, as mteb does: a fifth decimal can show the last bit.
        mean = float(values.cumsum()[-1]) / len(values) if len(values) else 0.0
        means[f"{name}_at_{cutoff}"] = round(mean, 5) if name in ROUNDED else mean
    return means


def _lists(run: Run, queries: npt.NDArray[np.intp]) -> Run:
    return Run(run.rows[queries], run.scores[queries])


def _judgements(qrels: Qrels, queries: npt.NDArray[np.intp]) -> Qrels:
    offsets = np.concatenate(([0], np.cumsum(qrels.counts[queries])))
    keep = np.repeat(np.isin(np.arange(len(qrels)), queries), qrels.counts)
    return Qrels(offsets, qrels.rows[keep], qrels.grades[keep])
