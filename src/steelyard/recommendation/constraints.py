"""One choice with its quality and costs, the Pareto front of several, and the limits on latency, size and price."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from steelyard.config import parse_bytes
from steelyard.errors import UsageError
from steelyard.recommendation.costs import Costs
from steelyard.types import Float64, Interval


@dataclass(frozen=True)
class Choice:
    """One model with its quality and its costs."""

    model: str
    quality: float
    interval: Interval
    costs: Costs
    resampled: Float64 | None = field(default=None, repr=False, compare=False)
    """Bootstrap values of the quality; all choices have the same resamples of queries."""

    def difference_to(self, other: Choice) -> Interval | None:
        """Return the interval of the difference to the quality of another choice; None without resamples."""
        if self.resampled is None or other.resampled is None:
            return None
        level = self.interval.level
        low, high = np.quantile(self.resampled - other.resampled, [(1 - level) / 2, (1 + level) / 2])
        return Interval(float(low), float(high), level)

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


UNITS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def parse_seconds(text: str | float) -> float:
    """Return the seconds of a duration such as `50ms`; a bare number is in milliseconds.

    >>> parse_seconds("50ms"), parse_seconds("0.2 s"), parse_seconds(5)
    (0.05, 0.2, 0.005)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s|)\s*", str(text))
    if match is None or isinstance(text, bool) or float(match[1]) <= 0:
        raise UsageError.invalid("the latency", expected="a duration such as 50ms or 0.2s", found=text)
    return float(match[1]) * UNITS[match[2] or "ms"]


@dataclass(frozen=True)
class Constraints:
    """The most that a choice may cost; None: no limit."""

    latency: float | None = None
    """Seconds of the 95th percentile, one query at a time."""
    bytes_per_document: float | None = None
    price: float | None = None
    """For a thousand queries."""
    memory: float | None = None
    """Bytes of an index of a million documents."""

    @classmethod
    def of(
        cls,
        *,
        max_latency: str | float | None = None,
        max_bytes_per_doc: str | float | None = None,
        max_price: float | None = None,
        max_memory: str | float | None = None,
    ) -> Constraints:
        """Return the limits from texts such as `50ms` and `2KB`.

        >>> Constraints.of(max_latency="50ms", max_bytes_per_doc="1KB")
        Constraints(latency=0.05, bytes_per_document=1000, price=None, memory=None)
        """
        if max_price is not None and not max_price >= 0:
            raise UsageError.invalid("--max-price", expected="a number of at least 0", found=max_price)
        return cls(
            None if max_latency is None else parse_seconds(max_latency),
            None if max_bytes_per_doc is None else _size("--max-bytes-per-doc", max_bytes_per_doc),
            max_price,
            None if max_memory is None else _size("--max-memory", max_memory),
        )

    def broken_by(self, costs: Costs) -> list[str]:
        """Return one line for each limit that these costs exceed; a cost that is not known keeps no limit.

        A price that is not known is 0: the model does not run behind a priced service.
        """
        known: dict[str, tuple[float | None, float | None, str]] = {
            "latency": (self.latency, costs.latency.p95, "p95 latency {:.4g} s is above {:.4g} s"),
            "bytes": (self.bytes_per_document, costs.bytes_per_document, "{:,.0f} bytes/document exceed {:,.0f}"),
            "price": (self.price, costs.price_per_thousand_queries or 0.0, "price {:.4g} exceeds {:.4g}"),
            "memory": (self.memory, _million(costs.bytes_per_document), "{:,.0f} bytes for a million exceed {:,.0f}"),
        }
        lines = []
        for name, (limit, value, line) in known.items():
            if limit is None:
                continue
            if value is None:
                lines.append(f"{name} is not known")
            elif value > limit:
                lines.append(line.format(value, limit))
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the limits that are set."""
        return {own.name: value for own in fields(self) if (value := getattr(self, own.name)) is not None}


def _million(value: float | None) -> float | None:
    return None if value is None else value * 1e6


def _size(option: str, value: str | float) -> int:
    try:
        return parse_bytes(str(value))
    except UsageError as error:
        raise UsageError.invalid(
            option, expected="a number of bytes such as 512 or 2KB", found=value, option=option
        ) from error
