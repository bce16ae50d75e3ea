"""Rates with intervals, and what they mean: one verdict for each task, by thresholds that are written down here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.stats.proportions import wilson
from steelyard.types import Interval

SEVERE_PAIRS = 0.01
SEVERE_QUERIES = 0.10
CONTAMINATED_QUERIES = 0.01

VERDICTS = {
    "clean": "no text that counts was found",
    "minor": "documents were found, or less than 1% of the queries: scores are hardly affected",
    "contaminated": "at least 1% of the queries (or samples) were found, or a query together with its own positive",
    "severe": "at least 1% of the pairs of a query and its positive, or 10% of the queries: do not compare scores",
}
"""From the best to the worst."""


@dataclass(frozen=True)
class Rate:
    """How many of how many, with Wilson's interval."""

    count: int
    total: int

    @property
    def share(self) -> float | None:
        """The rate; None where there is nothing to count."""
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> Interval | None:
        """Where the rate of a larger sample of such items would lie."""
        return wilson(self.count, self.total) if self.total else None

    def to_dict(self) -> dict[str, Any]:
        """Return count, total, rate and interval."""
        low, high = (self.interval.low, self.interval.high) if self.interval else (None, None)
        return {"count": self.count, "total": self.total, "rate": self.share, "low": low, "high": high}

    def __str__(self) -> str:
        if self.interval is None:
            return "0 of 0"
        return (
            f"{self.count:,} of {self.total:,} ({self.share:.1%} [{self.interval.low:.1%}, {self.interval.high:.1%}])"
        )


def verdict(queries: Rate, documents: Rate, pairs: Rate) -> tuple[str, str]:
    """Return the verdict and the reason for it. `queries` are the queries of a task, or its samples.

    >>> verdict(Rate(0, 200), Rate(3, 400), Rate(0, 400))[0], verdict(Rate(3, 200), Rate(3, 400), Rate(3, 400))[0]
    ('minor', 'contaminated')
    """
    if pairs.count and pairs.count >= SEVERE_PAIRS * pairs.total:
        return "severe", f"{pairs} of the pairs are together in one training row, the answer next to the question"
    if queries.count and queries.count >= SEVERE_QUERIES * queries.total:
        return "severe", f"{queries} of the queries or samples are in the training data"
    if pairs.count:
        return "contaminated", f"{pairs} of the pairs are together in one training row"
    if queries.count and queries.count >= CONTAMINATED_QUERIES * queries.total:
        return "contaminated", f"{queries} of the queries or samples are in the training data"
    if queries.count or documents.count:
        counts = {"queries or samples": queries, "documents": documents}
        return "minor", " and ".join(f"{rate} of the {name}" for name, rate in counts.items() if rate.total)
    return "clean", "nothing that counts was found"
