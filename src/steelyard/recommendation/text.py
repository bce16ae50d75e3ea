"""A recommendation as sentences and as rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.recommendation.choice import Choice
    from steelyard.recommendation.table import Recommendation

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
        others = [choice for choice in recommendation.tied if choice is not best]
        lines.append(
            "It has the highest quality" + (" and is the cheapest of those that are as good." if others else ".")
        )
    else:
        p = recommendation.p_values.get(best.model, recommendation.p_values.get(chosen.model, 1.0))
        lines.append(
            f"It cannot be distinguished from the best, {best.model} (quality {best.quality:.4f}, p = {p:.3f}), "
            f"{_comparison(chosen, best)}."
        )
    dropped = len(recommendation.choices) - len(recommendation.feasible)
    if dropped:
        lines.append(f"{dropped} of {len(recommendation.choices)} choices break a constraint.")
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
