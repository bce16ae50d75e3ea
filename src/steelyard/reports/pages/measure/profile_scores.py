"""The scores of each profile, and tests of their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from steelyard import stats
from steelyard.metrics import score
from steelyard.reports.pages.measure.page_inputs import SAFEGUARD_DEPTH, Kind, Profile
from steelyard.reports.pages.measure.part_values import Ceiling, Comparison, ProfileValues
from steelyard.reports.pages.thresholds import SIGNIFICANT
from steelyard.stats.corrections import holm
from steelyard.types import Float64, Int32, Int64, Interval, Run, Scores, Task

METRICS = ("ndcg_at_10", "hit_rate_at_10", "recall_at_100")
RANKS = {"1": 1, "2-3": 3, "4-10": 10, "11-100": 100, "over 100": None}
"""Classes of ranks by their last rank; `not found` is an additional class."""
NOT_FOUND = "not found"


@dataclass(frozen=True, eq=False)
class Measured:
    """A profile with the scores of every query."""

    profile: Profile
    scores: Scores
    ranks: Int64
    """The rank of the first relevant document, from 1; 0 if none is in the list."""
    values: ProfileValues

    @property
    def kind(self) -> Kind:
        """The kind of profile."""
        return self.profile.kind

    @property
    def ndcg(self) -> Float64:
        """nDCG@10 of every query."""
        return self.scores.per_query["ndcg_at_10"]


def measure_all(task: Task, profiles: Sequence[Profile]) -> list[Measured]:
    """Score the lists of all profiles; their intervals use the same bootstrap samples of queries."""
    scores = [score(profile.run, task.qrels, [*METRICS, "mrr"]) for profile in profiles]
    names = [f"{i} {metric}" for i in range(len(profiles)) for metric in METRICS]
    values = [one.per_query[metric] for one in scores for metric in METRICS]
    intervals = list(stats.intervals(dict(zip(names, values, strict=True))).values())
    width = len(METRICS)
    ranges = [dict(zip(METRICS, intervals[i * width : (i + 1) * width], strict=True)) for i in range(len(profiles))]
    return [_measured(task, *one) for one in zip(profiles, scores, ranges, strict=True)]


def _measured(task: Task, profile: Profile, scores: Scores, intervals: Mapping[str, Interval]) -> Measured:
    reciprocal = scores.per_query["mrr"]
    ranks = np.where(reciprocal > 0, np.rint(1 / np.maximum(reciprocal, 1e-9)), 0).astype(np.int64)
    lengths = profile.run.lengths
    deepest = int(lengths.max(initial=0))
    figures = ProfileValues(
        kind=profile.kind,
        config=profile.config,
        ndcg_at_10=scores.means["ndcg_at_10"],
        hit_rate_at_10=scores.means["hit_rate_at_10"],
        recall_at_100=scores.means["recall_at_100"],
        pooled_recall_at_100=scores.whole["pooled_recall_at_100"],
        candidates=_depth(profile, deepest, int(lengths.min(initial=deepest))),
        stored=profile.stored,
        intervals=intervals,
        candidates_min=int(lengths.min(initial=deepest)),
        candidates_max=deepest,
        candidates_mean=float(lengths.mean()) if len(lengths) else 0.0,
        safeguard_rows=profile.safeguards,
        perfect_rerank_ndcg_at_10=perfect_ndcg(task, profile.run.top(SAFEGUARD_DEPTH)),
        first_positive=rank_classes(ranks),
    )
    return Measured(profile, scores, ranks, figures)


def _depth(profile: Profile, deepest: int, least: int) -> str:
    """Return `top-500` for lists of that length; a search that returned fewer for some queries has no such name."""
    depth = deepest - bool(profile.safeguards)
    return f"top-{depth:,}" if profile.stored or least == deepest else f"up to {depth:,}"


def rank_classes(ranks: Int64) -> dict[str, int]:
    """Return the number of queries with their first relevant document in each class of ranks.

    >>> rank_classes(np.array([1, 2, 0, 50]))
    {'1': 1, '2-3': 1, '4-10': 0, '11-100': 1, 'over 100': 0, 'not found': 1}
    """
    hits = ranks[ranks > 0]
    limits = [limit if limit is not None else np.inf for limit in RANKS.values()]
    counts = np.bincount(np.searchsorted(limits, hits), minlength=len(RANKS))
    return {**dict(zip(RANKS, counts.tolist(), strict=True)), NOT_FOUND: int((ranks == 0).sum())}


def perfect_ndcg(task: Task, run: Run) -> float:
    """Return the nDCG@10 of the same documents in the best possible order."""
    best = Run.of(run.rows, _grades(task, run.rows))
    return score(best, task.qrels, ["ndcg_at_10"]).means["ndcg_at_10"]


def _grades(task: Task, rows: Int32) -> Float64:
    """Return the grade of every document in the lists, 0 without a judgement."""
    width = len(task.corpus)
    qrels = task.qrels
    inside = qrels.rows >= 0
    owner = np.repeat(np.arange(len(qrels)), qrels.counts)[inside]
    keys, grades = owner * width + qrels.rows[inside], qrels.grades[inside]  # ascending: rows ascend within a query
    if not len(keys):
        return np.zeros(rows.shape)
    wanted = np.arange(len(rows))[:, None] * width + rows
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((rows >= 0) & (keys[place] == wanted), grades[place], 0).astype(np.float64)


def ceiling(task: Task) -> Ceiling:
    """Return the scores of a perfect ranking of the corpus: below 1 if relevant documents are missing or too many."""
    qrels = task.qrels
    depth = int(qrels.counts.max(initial=1))
    rows = np.full((len(qrels), depth), -1, dtype=np.int32)
    rows[np.arange(depth) < qrels.counts[:, None]] = qrels.rows
    run = Run.of(rows, _grades(task, rows))
    means = score(run, qrels, ["ndcg_at_10", "recall_at_100"]).means
    chance = min(SAFEGUARD_DEPTH / max(len(task.corpus), 1), 1.0)
    return Ceiling(means["ndcg_at_10"], means["recall_at_100"], chance)


def compare_values(values: Mapping[Kind, Float64]) -> tuple[Comparison, ...]:
    """Test every two profiles on the same queries (or tasks), with Holm's correction."""
    couples = [
        (first, second) if values[first].mean() >= values[second].mean() else (second, first)
        for first, second in combinations(values, 2)
    ]
    tests = stats.paired_tests({f"{a} {b}": values[a] for a, b in couples}, {f"{a} {b}": values[b] for a, b in couples})
    pairs = [(a, b, tests[f"{a} {b}"]) for a, b in couples]
    adjusted = holm([test.p_value for _, _, test in pairs]).tolist()
    return tuple(
        Comparison(
            better=a,
            worse=b,
            difference=test.difference,
            interval=test.interval,
            p_value=p,
            wins=test.wins,
            ties=test.ties,
            losses=test.losses,
            significant=p < SIGNIFICANT,
        )
        for (a, b, test), p in zip(pairs, adjusted, strict=True)
    )


def by_kind(measured: Sequence[Measured]) -> Mapping[Kind, Measured]:
    """Return the measured profiles by kind."""
    return {one.kind: one for one in measured}
