"""Diagnose a task: what separates found from missed queries, what limits the score, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard import stats
from steelyard.reports.pages.diagnose.counterfactuals import counterfactuals
from steelyard.reports.pages.diagnose.cross_language import relations
from steelyard.reports.pages.diagnose.evidence import Bools, Evidence
from steelyard.reports.pages.diagnose.failure_classes import Ranking, failure_classes
from steelyard.reports.pages.diagnose.snippets import snippets
from steelyard.reports.pages.measure.diagnosis_values import (
    Complement,
    Diagnosis,
    Limit,
    Separator,
    UndeclaredLanguages,
)
from steelyard.reports.pages.measure.page_inputs import SAFEGUARD_DEPTH, Kind
from steelyard.reports.pages.measure.part_values import Ceiling
from steelyard.reports.pages.measure.profile_scores import Measured, by_kind, perfect_ndcg
from steelyard.reports.pages.thresholds import FEW, FOUND, SIGNIFICANT
from steelyard.stats.corrections import holm
from steelyard.stats.proportions import mann_whitney
from steelyard.text.pieces import UInt64
from steelyard.types import Float64, Run, Task

SHARES = ("has_number", "has_name", "cross_language")
"""Properties that a query has or does not have."""


def diagnose(
    evidence: Evidence,
    measured: Sequence[Measured],
    ceiling: Ceiling,
    model: UndeclaredLanguages | None,
    affected: Bools,
) -> Diagnosis:
    """Return why queries fail, what limits the score, and what would change it.

    `affected` are the queries in languages that the dense model does not declare: nothing is concluded from them.
    """
    shared: dict[int, UInt64] = {}
    rankings = [
        Ranking(evidence, one, evidence.asked if one.kind == "bm25" else evidence.asked & ~affected, shared)
        for one in measured
    ]
    pairs, pair_p_values = relations(evidence, rankings)
    return Diagnosis(
        undeclared=model,
        classes=failure_classes(rankings, affected),
        separators=separators(evidence, rankings),
        limits=limits(measured, ceiling),
        complement=complement(evidence.task, measured),
        counterfactuals=counterfactuals(evidence, rankings),
        relations=pairs,
        relation_p_values=pair_p_values,
        snippets=snippets(evidence, evidence.reading.policy),
    )


def properties(evidence: Evidence) -> dict[str, Float64]:
    """Return the value of each property for every query; NaN where it is not defined."""
    values = {
        "overlap": evidence.reading.overlap,
        "rarest_term": evidence.rarity,
        "query_words": evidence.query_words.astype(float),
        "relevant_words": evidence.shortest_positive,
        "relevant_documents": evidence.task.qrels.positives.astype(float),
        "has_number": np.array([bool(numbers) for numbers in evidence.numbers], dtype=float),
        "has_name": np.array([bool(names) for names in evidence.names], dtype=float),
        "cross_language": evidence.cross_language.astype(float),
    }
    return {name: one for name, one in values.items() if len(np.unique(one[~np.isnan(one)])) > 1}


def separators(evidence: Evidence, rankings: Sequence[Ranking]) -> tuple[Separator, ...]:
    """Return the properties by profile, clearest first, with tests and Holm's correction."""
    rows = []
    for ranking in rankings:
        for label, values in properties(evidence).items():
            known = ranking.judged & ~np.isnan(values)
            found, missed = values[known & ranking.found], values[known & ~ranking.found]
            test = mann_whitney(found, missed) if min(len(found), len(missed)) >= FEW else None
            if test is not None:
                middle = np.mean if label in SHARES else np.median
                rows.append((label, ranking.kind, float(middle(found)), float(middle(missed)), test))
    adjusted = holm([test.p_value for *_, test in rows]).tolist()
    parts = [
        Separator(label, kind, found, missed, test.auc, p, p < SIGNIFICANT, label in SHARES)
        for (label, kind, found, missed, test), p in zip(rows, adjusted, strict=True)
    ]
    return tuple(sorted(parts, key=lambda one: (one.profile, -abs(one.auc - 0.5), one.property)))


def limits(measured: Sequence[Measured], ceiling: Ceiling) -> tuple[Limit, ...]:
    """Return the losses of every profile; with its score they add up to 1."""
    rows = []
    for profile in measured:
        perfect = profile.values.perfect_rerank_ndcg_at_10
        if perfect is not None:
            score = profile.values.ndcg_at_10
            # A corpus ceiling below that of the pool would be an error of rounding.
            pool = max(ceiling.ndcg_at_10 - perfect, 0.0)
            rows.append(Limit(profile.kind, score, perfect - score, pool, 1 - ceiling.ndcg_at_10))
    return tuple(rows)


def complement(task: Task, measured: Sequence[Measured]) -> Complement | None:
    """Return how BM25 and the dense profile complement each other; None without both."""
    profiles = by_kind(measured)
    if "bm25" not in profiles or "dense" not in profiles:
        return None
    bm25, dense = profiles["bm25"], profiles["dense"]
    judged = task.qrels.positives > 0
    sparse, semantic = ((one.ranks > 0) & (one.ranks <= FOUND) & judged for one in (bm25, dense))
    best: Kind = "bm25" if bm25.values.ndcg_at_10 >= dense.values.ndcg_at_10 else "dense"
    choice = np.maximum(bm25.ndcg, dense.ndcg)
    gain = choice - profiles[best].ndcg
    hybrid = profiles.get("hybrid")
    return Complement(
        both=int((sparse & semantic).sum()),
        only_bm25=int((sparse & ~semantic).sum()),
        only_dense=int((~sparse & semantic).sum()),
        neither=int((judged & ~sparse & ~semantic).sum()),
        best_single=best,
        best_single_ndcg_at_10=profiles[best].values.ndcg_at_10,
        choice_ndcg_at_10=float(choice.mean()),
        choice_gain=float(gain.mean()),
        choice_interval=stats.intervals({"gain": gain})["gain"],
        pool_ndcg_at_10=perfect_ndcg(task, _union(bm25.profile.run, dense.profile.run)),
        hybrid_ndcg_at_10=hybrid.values.ndcg_at_10 if hybrid else None,
    )


def _union(one: Run, other: Run) -> Run:
    """Return the first 100 documents of both runs, each once."""
    rows = np.concatenate([one.top(SAFEGUARD_DEPTH).rows, other.top(SAFEGUARD_DEPTH).rows], axis=1)
    rows = np.sort(rows, axis=1)
    rows[:, 1:] = np.where(rows[:, 1:] == rows[:, :-1], -1, rows[:, 1:])
    return Run.of(rows, np.zeros(rows.shape))
