"""A comparison of two or more models on the same queries, in every form that it can be printed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.comparison.compute import Method
from steelyard.comparison.model import (
    Difference,
    Flag,
    Overall,
    QueryChange,
    SliceDifference,
    TaskComparison,
    TaskScores,
    plain,
)
from steelyard.errors import UsageError
from steelyard.results.ranking import RankedModel
from steelyard.stats.rank_overlap import RankAgreement

VERSION = 1
"""The form of `Comparison.to_dict`."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The differences between models, with the evidence for each; it prints as a table."""

    models: tuple[str, ...]
    tasks: tuple[TaskComparison, ...]
    overall: Overall | None
    """The means over the tasks with per-query scores; None if there is no such task."""
    ranking: tuple[RankedModel, ...] = ()
    queries: tuple[QueryChange, ...] = ()
    slices: tuple[SliceDifference, ...] = ()
    agreement: RankAgreement | None = None
    """With the ranking by another metric or on other tasks, if it was asked for."""
    flags: tuple[Flag, ...] = ()
    method: Method = field(default_factory=Method)
    scores: Mapping[str, TaskScores] = field(default_factory=dict)
    """Per-query scores by task; the rows are in the order of `models`."""

    def between(self, model: str, baseline: str) -> Difference:
        """Return the overall difference of two models: the first minus the second."""
        for one in self.overall.differences if self.overall else ():
            if (one.model, one.baseline) == (model, baseline):
                return one
        raise UsageError(
            f"model and baseline must be a pair of this comparison, got {model} and {baseline}",
            hint=f"choose two of {', '.join(self.models)}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the per-query scores as JSON-ready values."""
        tasks = [
            {**plain(task), "differences": [self._with_verdict(one) for one in task.differences]} for task in self.tasks
        ]
        overall = plain(self.overall)
        if self.overall is not None:
            overall["differences"] = [self._with_verdict(one) for one in self.overall.differences]
        return {
            "version": VERSION,
            "models": list(self.models),
            "method": plain(self.method),
            "tasks": tasks,
            "overall": overall,
            "ranking": plain(self.ranking),
            "queries": [{**plain(one), "difference": one.difference} for one in self.queries],
            "slices": [
                {**plain(one), "conclusive": one.conclusive, "difference": self._with_verdict(one.difference)}
                for one in self.slices
            ],
            "agreement": plain(self.agreement),
            "flags": plain(self.flags),
        }

    def _with_verdict(self, one: Difference) -> dict[str, Any]:
        return {**plain(one), "verdict": one.verdict(self.method.alpha)}

    def to_markdown(self) -> str:
        """Return the comparison as Markdown: tables of differences, ranks, slices and changed queries."""
        from steelyard.comparison.text import markdown

        return markdown(self)

    def to_latex(self) -> str:
        """Return the differences as LaTeX tables (booktabs) with significance marks."""
        from steelyard.comparison.text import latex

        return latex(self)

    def to_html(self) -> str:
        """Return one self-contained HTML page with a forest plot and per-query scatter plots."""
        from steelyard.comparison.comparison_page import page

        return page(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the tables."""
        from steelyard.comparison.text import sections
        from steelyard.results.export import html_table

        return "".join(f"<h4>{title}</h4>{html_table(head, rows)}" for title, head, rows in sections(self))

    def __str__(self) -> str:
        from steelyard.comparison.text import plain_text

        return plain_text(self)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.models)} on {len(self.tasks)} task{'s'[: len(self.tasks) != 1]})"
