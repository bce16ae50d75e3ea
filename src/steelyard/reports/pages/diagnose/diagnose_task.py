"""Diagnose a task from its data and the lists of its profiles."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.reports.pages.diagnose.counterfactuals import counterfactuals
from steelyard.reports.pages.diagnose.evidence import Bools, Evidence
from steelyard.reports.pages.diagnose.failure_classes import Ranking, failure_classes
from steelyard.reports.pages.diagnose.limits import complement, limits
from steelyard.reports.pages.diagnose.relations import relations
from steelyard.reports.pages.diagnose.separation import separators
from steelyard.reports.pages.diagnose.snippets import snippets
from steelyard.reports.pages.measure.diagnosis_values import Diagnosis, UndeclaredLanguages
from steelyard.reports.pages.measure.part_values import Ceiling
from steelyard.reports.pages.measure.profile_scores import Measured
from steelyard.text.pieces import UInt64


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
