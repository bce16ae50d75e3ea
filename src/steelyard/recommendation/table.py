"""Every choice, and the recommendation under constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, log
from pathlib import Path
from typing import Any, Literal, get_args

from steelyard.errors import UsageError
from steelyard.files import write_output
from steelyard.recommendation.choice import AXES, Choice, pareto
from steelyard.recommendation.constraints import Constraints
from steelyard.results import Results
from steelyard.results.display.text_table import text_table

Cheapest = Literal["balanced", "latency", "bytes", "price"]
CHEAPEST: tuple[Cheapest, ...] = get_args(Cheapest)
SMALLEST = 1e-9


@dataclass(frozen=True, eq=False)
class Recommendation:
    """Every choice, and which one to ship."""

    choices: tuple[Choice, ...]
    """The highest quality first."""
    results: Results
    constraints: Constraints = field(default_factory=Constraints)
    cheapest: Cheapest = "balanced"
    metric: str | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    """Models that could not be evaluated or measured, and why."""

    def __post_init__(self) -> None:
        if self.cheapest not in CHEAPEST:
            raise UsageError.invalid("cheapest", expected=f"one of {', '.join(CHEAPEST)}", found=self.cheapest)

    @cached_property
    def feasible(self) -> tuple[Choice, ...]:
        """The choices that keep every constraint."""
        return tuple(choice for choice in self.choices if not self.constraints.broken_by(choice.costs))

    @property
    def best(self) -> Choice | None:
        """The feasible choice with the highest quality; None if no choice keeps the constraints."""
        return self.feasible[0] if self.feasible else None

    @cached_property
    def p_values(self) -> dict[str, float]:
        """The p-value of every other feasible choice against the best, corrected by Holm's method."""
        if self.best is None or len(self.feasible) < 2:
            return {}
        leaders = self.results.select(models=[_literal(c.model) for c in self.feasible]).overall_leaders(self.metric)
        return dict(leaders.p_values) if leaders is not None else {}

    @cached_property
    def tied(self) -> tuple[Choice, ...]:
        """The best feasible choice and all that cannot be distinguished from it (p >= 0.05)."""
        if self.best is None:
            return ()
        return tuple(
            choice
            for choice in self.feasible
            if choice is self.best
            or choice.quality == self.best.quality
            or self.p_values.get(choice.model, 0.0) >= ALPHA
        )

    @cached_property
    def recommended(self) -> Choice | None:
        """The cheapest of the tied choices; of equal costs, the one with the higher quality."""
        if self.best is None:
            return None
        best = self.best
        return min(self.tied, key=lambda choice: (self._relative_cost(choice, best), -choice.quality, choice.model))

    def _relative_cost(self, choice: Choice, base: Choice) -> float:
        """Return the geometric mean of the costs that count, each divided by that of the base."""
        names = ("latency", "bytes", "price") if self.cheapest == "balanced" else (self.cheapest,)
        logs = []
        for name in names:
            value, reference = AXES[name][1](choice.costs), AXES[name][1](base.costs)
            if value is None and reference is None:
                continue
            logs.append(log(max(value or 0.0, SMALLEST)) - log(max(reference or 0.0, SMALLEST)))
        return exp(sum(logs) / len(logs)) if logs else 1.0

    @cached_property
    def fronts(self) -> dict[str, list[Choice]]:
        """The Pareto front of quality against each cost that is known."""
        fronts = {name: pareto(self.choices, cost) for name, (_, cost) in AXES.items()}
        return {name: front for name, front in fronts.items() if front}

    def sentences(self) -> list[str]:
        """Return the recommendation in a few sentences."""
        from steelyard.recommendation.text import sentences

        return sentences(self)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the columns and rows of all choices."""
        from steelyard.recommendation.text import rows

        return rows(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        return {
            "recommended": None if self.recommended is None else self.recommended.model,
            "best": None if self.best is None else self.best.model,
            "tied_with_best": [choice.model for choice in self.tied],
            "p_values": self.p_values,
            "constraints": self.constraints.to_dict(),
            "cheapest_by": self.cheapest,
            "fronts": {name: [choice.model for choice in front] for name, front in self.fronts.items()},
            "choices": [
                {**choice.to_dict(), "breaks": self.constraints.broken_by(choice.costs)} for choice in self.choices
            ],
            "failed": dict(self.failed),
            "sentences": self.sentences(),
        }

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a self-contained page with the fronts drawn; written to `path` if one is given."""
        from steelyard.recommendation.html_page import page

        text = page(self)
        if path is not None:
            write_output(Path(path), text.encode(errors="backslashreplace"))
        return text

    def __str__(self) -> str:
        return "\n".join([text_table(*self.table()), "", *self.sentences()])


ALPHA = 0.05


def _literal(name: str) -> str:
    """Return a pattern that matches exactly this name, which may have brackets and question marks."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
