"""Score a TREC run file against a TREC qrels file: the Python call of `steelyard score`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from steelyard.datasets.formats.trec.qrels_runs import join, read_qrels, read_run
from steelyard.errors import DataError, UsageError
from steelyard.metrics import DEFAULT_METRICS, Metric, score
from steelyard.metrics.scoring import judged_only as keep_judged
from steelyard.types import Scores


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """The scores of a run file; `scores.per_query` is in the order of `queries`."""

    tag: str
    """The name in the last column of the run."""
    queries: tuple[str, ...]
    scores: Scores

    def __getitem__(self, metric: str) -> float | None:
        return self.scores[metric]


def score_run(
    qrels: str | Path,
    run: str | Path,
    metrics: Iterable[str | Metric] = (),
    *,
    all_judged: bool = False,
    judged_only: bool = False,
    top_k: int | None = None,
) -> ScoredRun:
    """Return the scores of a TREC run against TREC judgements, as trec_eval computes them.

    `metrics` are added to the default ones. Judged queries that the run lacks count as 0 with `all_judged` and are left
    out otherwise; `judged_only` removes documents without a judgement; `top_k` keeps the first documents of each list.
    """
    if top_k is not None and top_k < 1:
        raise UsageError.invalid("top_k", expected="at least 1", found=top_k, option="top_k")
    judgements, ranked = read_qrels(Path(qrels)), read_run(Path(run))
    queries, lists, grades = join(judgements, ranked, all_judged=all_judged)
    if not queries:
        raise DataError(f"no query of the run is in {qrels}", path=run, hint="use the same query ids in both files")
    if top_k is not None:
        lists = lists.top(top_k)
    if judged_only:
        lists = keep_judged(lists, grades)
    return ScoredRun(ranked.tag, tuple(queries), score(lists, grades, (*DEFAULT_METRICS, *metrics)))
