"""Usage counts of a service: requests, retries, tokens, seconds, cost."""

from __future__ import annotations

import math
import threading
from collections import Counter
from typing import Any


class Usage:
    """Counts of one service from several threads; `take` returns them as JSON-ready notes.

    >>> usage = Usage(price_per_million_tokens=0.02)
    >>> usage.request(0.5); usage.tokens(250_000); usage.fault("429", retried=True)
    >>> notes = usage.take()
    >>> notes["requests"], notes["retries"], notes["tokens"], notes["cost"], notes["faults"]
    (1, 1, 250000, 0.005, {'429': 1})
    >>> usage.take()
    {}
    """

    def __init__(
        self, price_per_million_tokens: float | None = None, price_per_thousand_searches: float | None = None
    ) -> None:
        self._token_price = price_per_million_tokens
        self._search_price = price_per_thousand_searches
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._counts: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._seconds = self._waited = 0.0

    def request(self, seconds: float) -> None:
        """Count a request that took so many seconds, failed or not."""
        with self._lock:
            self._counts["requests"] += 1
            self._seconds += seconds

    def waited(self, seconds: float) -> None:
        """Count seconds spent waiting for a rate limit or before a retry."""
        with self._lock:
            self._waited += seconds

    def fault(self, kind: str, *, retried: bool) -> None:
        """Count a failed request; `kind` is its status or the kind of connection error."""
        with self._lock:
            self._faults[kind] += 1
            self._counts["retries"] += retried

    def tokens(self, tokens: int | None, searches: int | None = None) -> None:
        """Count the tokens and searches that a response reports; None if it reports none."""
        with self._lock:
            self._counts["answers"] += 1
            for name, count in (("tokens", tokens), ("searches", searches)):
                if count is not None:
                    self._counts[name] += count
                    self._counts[f"answers with {name}"] += 1

    def take(self) -> dict[str, Any]:
        """Return the counts since the last call and reset them; empty if there was no request."""
        with self._lock:
            counts, faults, seconds, waited = self._counts, self._faults, self._seconds, self._waited
            self._clear()
        if not counts["requests"]:
            return {}
        notes: dict[str, Any] = {
            "requests": counts["requests"],
            "retries": counts["retries"],
            "tokens": counts["tokens"] if counts["answers with tokens"] else None,
            "request_seconds": round(seconds, 3),
            "waited_seconds": round(waited, 3),
        }
        unreported = counts["answers"] - counts["answers with tokens"]
        if unreported and counts["answers with tokens"]:
            notes["answers_without_tokens"] = unreported
        if counts["answers with searches"]:
            notes["searches"] = counts["searches"]
        cost = self._cost(counts)
        if cost is not None:
            notes["cost"] = cost
        if faults:
            notes["faults"] = dict(sorted(faults.items()))
        return notes

    def _cost(self, counts: Counter[str]) -> float | None:
        """Return None if there is no price, or the service reported no usage."""
        parts = []
        if self._token_price is not None and counts["answers with tokens"]:
            parts.append(counts["tokens"] * self._token_price / 1e6)
        if self._search_price is not None and counts["answers with searches"]:
            parts.append(counts["searches"] * self._search_price / 1e3)
        return round(sum(parts), 9) if parts else None


def billed(answer: Any) -> tuple[int | None, int | None]:
    """Return the tokens and searches that a response reports.

    >>> billed({"usage": {"prompt_tokens": 5, "total_tokens": 7}}), billed({"usage": None}), billed([])
    ((7, None), (None, None), (None, None))
    >>> billed({"meta": {"billed_units": {"search_units": 1}, "tokens": {"input_tokens": 90}}})
    (90, 1)
    """
    usage, meta = _part(answer, "usage"), _part(answer, "meta")
    units, tokens = _part(meta, "billed_units"), _part(meta, "tokens")
    candidates = [usage.get("total_tokens"), usage.get("prompt_tokens"), units.get("input_tokens")]
    candidates += [units.get("total_tokens"), tokens.get("input_tokens")]
    counts = (count for value in candidates if (count := _whole(value)) is not None)
    return next(counts, None), _whole(units.get("search_units"))


def _part(value: Any, name: str) -> dict[str, Any]:
    part = value.get(name) if isinstance(value, dict) else None
    return part if isinstance(part, dict) else {}


def _whole(value: Any) -> int | None:
    is_count = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
    return int(value) if is_count else None
