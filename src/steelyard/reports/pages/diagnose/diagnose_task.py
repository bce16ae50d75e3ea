"""Diagnose a task from its data and the lists of its profiles, and what separates found from missed queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.reports.pages.diagnose.counterfactuals import counterfactuals
from steelyard.reports.pages.diagnose.evidence import Bools, Evidence
from steelyard.reports.pages.diagnose.failure_classes import Ranking, failure_classes
from steelyard.reports.pages.diagnose.limits import complement, limits
from steelyard.reports.pages.diagnose.relations import relations
from steelyard.reports.pages.diagnose.snippets import snippets
from steelyard.reports.pages.measure.diagnosis_values import Diagnosis, Separator, UndeclaredLanguages
from steelyard.reports.pages.measure.part_values import Ceiling
from steelyard.reports.pages.measure.profile_scores import Measured
from steelyard.reports.pages.thresholds import FEW, SIGNIFICANT
from steelyard.stats.corrections import holm
from steelyard.stats.proportions import mann_whitney
from steelyard.text.pieces import UInt64
from steelyard.types import Float64

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
