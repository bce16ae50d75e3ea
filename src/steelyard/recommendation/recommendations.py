"""Every choice, and the recommendation under constraints: as sentences and as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, log
from pathlib import Path
from typing import Any, Literal, get_args

from steelyard.errors import UsageError
from steelyard.files import write_output
from steelyard.recommendation.constraints import AXES, SMALLEST, Choice, Constraints, pareto
from steelyard.results import Results
from steelyard.results.display.text_table import text_table
from steelyard.types import Interval

Cheapest = Literal["balanced", "latency", "bytes", "price"]
CHEAPEST: tuple[Cheapest, ...] = get_args(Cheapest)


def check_rule(cheapest: str, max_loss: float | None) -> None:
    """Raise an error for a rule of choice that cannot be applied; before models are evaluated, which takes minutes."""
    if max_loss is not None and not 0 <= max_loss < 1:
        raise UsageError.invalid("max_loss", expected="at least 0 and below 1", found=max_loss, option="--max-loss")
    if cheapest not in CHEAPEST:
        raise UsageError.invalid("cheapest", expected=f"one of {', '.join(CHEAPEST)}", found=cheapest)


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
    max_loss: float | None = None
    """The most quality that the recommended choice may lose against the best, by the interval of the difference."""

    def __post_init__(self) -> None:
        check_rule(self.cheapest, self.max_loss)

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
    def differences(self) -> dict[str, Interval]:
        """The interval of the difference of each feasible choice to the best, where scores of queries are known."""
        if self.best is None:
            return {}
        intervals = {choice.model: choice.difference_to(self.best) for choice in self.feasible}
        return {model: interval for model, interval in intervals.items() if interval is not None}

    @cached_property
    def candidates(self) -> tuple[Choice, ...]:
        """The feasible choices that lose at most `max_loss`; without a limit, those tied with the best."""
        if self.max_loss is None:
            return self.tied
        limit = -self.max_loss
        return tuple(
            choice
            for choice in self.feasible
            if choice is self.best or (choice.model in self.differences and self.differences[choice.model].low >= limit)
        )

    @cached_property
    def recommended(self) -> Choice | None:
        """The cheapest of the candidates; of equal costs, the one with the higher quality."""
        if self.best is None:
            return None
        best = self.best
        return min(
            self.candidates, key=lambda choice: (self._relative_cost(choice, best), -choice.quality, choice.model)
        )

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
        return sentences(self)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the columns and rows of all choices."""
        return rows(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        return {
            "recommended": None if self.recommended is None else self.recommended.model,
            "best": None if self.best is None else self.best.model,
            "tied_with_best": [choice.model for choice in self.tied],
            "p_values": self.p_values,
            "differences": {
                model: {"low": interval.low, "high": interval.high, "level": interval.level}
                for model, interval in self.differences.items()
            },
            "max_loss": self.max_loss,
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
        from steelyard.recommendation.recommendation_page import page

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


COLUMNS = [
    "model",
    "quality",
    "interval",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "batch ms/query",
    "docs/s",
    "bytes/doc",
    "GB/million",
    "price/1,000",
    "",
]


def rows(recommendation: Recommendation) -> tuple[list[str], list[list[str]]]:
    """Return one row for each choice: its quality, its costs, and a mark.

    `*` is the recommended choice, `=` one that cannot be distinguished from the best, `x` one that breaks a constraint.
    """
    return COLUMNS, [_row(recommendation, choice) for choice in recommendation.choices]


def _row(recommendation: Recommendation, choice: Choice) -> list[str]:
    costs, size = choice.costs, choice.costs.bytes_per_document
    mark = "x" if choice not in recommendation.feasible else "=" if choice in recommendation.tied else ""
    mark = "*" if choice is recommendation.recommended else mark
    return [
        choice.model,
        f"{choice.quality:.4f}",
        f"[{choice.interval.low:.4f}, {choice.interval.high:.4f}]",
        *(milliseconds(value) for value in (costs.latency.p50, costs.latency.p95, costs.latency.p99)),
        milliseconds(costs.batch_latency.per_query),
        "-" if costs.documents_per_second is None else f"{costs.documents_per_second:,.0f}",
        "-" if size is None else f"{size:,.0f}",
        "-" if size is None else f"{size / 1e3:.3g}",
        "-" if costs.price_per_thousand_queries is None else f"{costs.price_per_thousand_queries:.4g}",
        mark,
    ]


def milliseconds(seconds: float) -> str:
    """Return a duration in milliseconds, three digits.

    >>> milliseconds(0.0123), milliseconds(1.5)
    ('12.3', '1,500')
    """
    value = seconds * 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def sentences(recommendation: Recommendation) -> list[str]:
    """Return what to ship, why, and what it gives up."""
    best, chosen = recommendation.best, recommendation.recommended
    if best is None or chosen is None:
        if not recommendation.choices:
            return ["No choice could be evaluated."]
        nearest = recommendation.choices[0]
        reasons = "; ".join(recommendation.constraints.broken_by(nearest.costs))
        return [f"No choice keeps the constraints. The one with the highest quality, {nearest.model}: {reasons}."]
    lines = [f"Ship {chosen.model}: {_described(chosen)}."]
    if chosen is best:
        others = [choice for choice in recommendation.candidates if choice is not best]
        lines.append("It has the highest quality" + (" and is the cheapest of those that qualify." if others else "."))
    else:
        tested = recommendation.p_values  # of equal qualities, any may be the one that the others were compared with
        p = tested.get(chosen.model, tested.get(best.model, 1.0))
        relation = "cannot be distinguished from" if chosen in recommendation.tied else "is worse than"
        lines.append(
            f"It {relation} the best, {best.model} (quality {best.quality:.4f}, p = {p:.3f} with "
            f"Holm's correction), {_comparison(chosen, best)}."
        )
        lines += _loss(recommendation, chosen, best)
    dropped = len(recommendation.choices) - len(recommendation.feasible)
    if dropped:
        lines.append(f"{dropped} of {len(recommendation.choices)} choices break a constraint.")
    return lines


NOTABLE_LOSS = 0.02
"""A possible loss of quality above this one is followed by the option that excludes it."""


def _loss(recommendation: Recommendation, chosen: Choice, best: Choice) -> list[str]:
    """Return what the choice may lose against the best, and how to exclude a large loss."""
    interval = recommendation.differences.get(chosen.model)
    if interval is None:
        return []
    difference = f"{chosen.quality - best.quality:+.4f} [{interval.low:+.4f}, {interval.high:+.4f}]"
    lines = [f"Difference of quality to the best, with its {interval.level:.0%} interval: {difference}."]
    if -interval.low > NOTABLE_LOSS and recommendation.max_loss is None:
        lines.append(
            f"These queries do not exclude a loss of {-interval.low:.2g}: use more queries, or require a smaller loss "
            f"with --max-loss {NOTABLE_LOSS}."
        )
    return lines


def _described(choice: Choice) -> str:
    costs = choice.costs
    parts = [
        f"quality {choice.quality:.4f} [{choice.interval.low:.4f}, {choice.interval.high:.4f}]",
        f"p95 {milliseconds(costs.latency.p95)} ms",
    ]
    if costs.bytes_per_document is not None:
        parts.append(f"{costs.bytes_per_document:,.0f} bytes per document")
    if costs.price_per_thousand_queries is not None:
        parts.append(f"price {costs.price_per_thousand_queries:.4g} for 1,000 queries")
    return ", ".join(parts)


def _comparison(chosen: Choice, best: Choice) -> str:
    pairs = [("the latency", chosen.costs.latency.p95, best.costs.latency.p95)]
    if chosen.costs.bytes_per_document and best.costs.bytes_per_document:
        pairs.append(("the index", chosen.costs.bytes_per_document, best.costs.bytes_per_document))
    if chosen.costs.price_per_thousand_queries is not None and best.costs.price_per_thousand_queries:
        pairs.append(("the price", chosen.costs.price_per_thousand_queries, best.costs.price_per_thousand_queries))
    return "which has " + " and ".join(f"{theirs / max(own, 1e-12):.2g} times {name}" for name, own, theirs in pairs)
