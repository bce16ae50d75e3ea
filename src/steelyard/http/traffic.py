"""How fast a service is called: limits of requests in flight and per minute, timeouts, retries and prices."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Traffic:
    """How a service is called; nothing here changes a score."""

    batch_size: int = 64
    """Most texts in one request; halved if the service refuses a request as too large."""
    concurrency: int = 4
    """Requests in flight at a time."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float = 60.0
    """Seconds for one request, from sending to the last byte of the response."""
    max_retries: int = 8
    """How often a request is repeated after an error that may be temporary."""
    max_wait: float = 300.0
    """Seconds that one request may wait between its attempts in total."""
    backoff: float = 0.5
    """Seconds before the first repetition, if the service asks for no other time; doubled each time."""
    price_per_million_tokens: float | None = None
    price_per_thousand_searches: float | None = None

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the options."""
        return tuple(field.name for field in fields(cls))


class RateLimiter:
    """Spaces requests evenly for all threads together. None: no limit; `clock` returns seconds.

    >>> limiter = RateLimiter(requests_per_minute=60, tokens_per_minute=6000, clock=lambda: 100.0)
    >>> limiter.reserve(50), limiter.reserve(300), limiter.reserve(1)
    (0.0, 1.0, 4.0)
    >>> limiter.correct(expected=300, actual=500)
    >>> round(limiter.reserve(1), 3)
    6.01
    >>> limiter.pause(7)
    >>> limiter.paused
    7.0
    """

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._request_seconds = 60 / requests_per_minute if requests_per_minute else 0.0
        self._token_seconds = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._clock = clock
        self._lock = threading.Lock()
        self._next_request = self._next_token = self._paused_until = clock()

    def reserve(self, tokens: int) -> float:
        """Reserve the next slot for a request of about so many tokens; return the seconds until it starts."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next_request, self._next_token)
            self._next_request = start + self._request_seconds
            self._next_token = start + tokens * self._token_seconds
            return start - now

    def correct(self, expected: int, actual: int) -> None:
        """Correct the reservation by the number of tokens that the service counted."""
        with self._lock:
            self._next_token += (actual - expected) * self._token_seconds

    def pause(self, seconds: float) -> None:
        """Start no request for so many seconds, because the service asked for it."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    @property
    def paused(self) -> float:
        """Return the seconds until the pause ends."""
        with self._lock:
            return max(0.0, self._paused_until - self._clock())

    def wait(self, tokens: int, stop: threading.Event) -> float:
        """Reserve a slot and wait for it; return the seconds waited. Returns at once when `stop` is set."""
        started = self._clock()
        delay = self.reserve(tokens)
        while delay > 0 and not stop.wait(delay):
            delay = 0.0
        while (paused := self.paused) > 0 and not stop.is_set():
            stop.wait(paused)
        return self._clock() - started
