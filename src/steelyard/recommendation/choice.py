"""One choice with its quality and costs, and the Pareto front of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.recommendation.costs import Costs
from steelyard.types import Interval


@dataclass(frozen=True)
class Choice:
    """One model with its quality and its costs."""

    model: str
    quality: float
    interval: Interval
    costs: Costs

    def to_dict(self) -> dict[str, Any]:
        """Return quality and costs, JSON-ready."""
        interval = {"low": self.interval.low, "high": self.interval.high, "level": self.interval.level}
        return {"model": self.model, "quality": self.quality, "interval": interval, **self.costs.to_dict()}


AXES: Mapping[str, tuple[str, Callable[[Costs], float | None]]] = {
    "latency": ("p95 latency, ms", lambda costs: costs.latency.p95 * 1e3),
    "bytes": ("bytes per document", lambda costs: costs.bytes_per_document),
    "price": ("price of 1,000 queries", lambda costs: costs.price_per_thousand_queries),
}
"""The costs that fronts are drawn against."""

SMALLEST = 1e-9
"""A cost of nothing, where logarithms of costs are compared."""


def pareto(choices: Sequence[Choice], cost: Callable[[Costs], float | None]) -> list[Choice]:
    """Return the choices that no other beats in both quality and cost, the cheapest first; unknown costs are left out.

    Of choices that are equal in both, all are returned.
    """
    known = [(value, choice) for choice in choices if (value := cost(choice.costs)) is not None]
    front = [
        (value, choice)
        for value, choice in known
        if not any(
            other.quality >= choice.quality and less <= value and (other.quality > choice.quality or less < value)
            for less, other in known
        )
    ]
    return [choice for _, choice in sorted(front, key=lambda pair: (pair[0], -pair[1].quality, pair[1].model))]
