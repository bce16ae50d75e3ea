"""Rate limits: so many requests and so many tokens a minute, evenly spaced, for all threads together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Pace:
    """Hands out turns. A limit of None is no limit; `clock` gives seconds.

    >>> pace = Pace(requests_per_minute=60, tokens_per_minute=6000, clock=lambda: 100.0)
    >>> pace.turn(50), pace.turn(300), pace.turn(1)
    (0.0, 1.0, 4.0)
    >>> pace.settle(expected=300, found=500)
    >>> round(pace.turn(1), 3)
    6.01
    >>> pace.hold(7)
    >>> pace.held
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
        self._next_request = self._next_token = self._held_until = clock()

    def turn(self, tokens: int) -> float:
        """Take a turn for a request of about so many tokens; the seconds until it comes."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next_request, self._next_token)
            self._next_request = start + self._request_seconds
            self._next_token = start + tokens * self._token_seconds
            return start - now

    def settle(self, expected: int, found: int) -> None:
        """Correct the account when the service has said how many tokens it really read."""
        with self._lock:
            self._next_token += (found - expected) * self._token_seconds

    def hold(self, seconds: float) -> None:
        """Let nobody start for so long: the service asked for it."""
        with self._lock:
            self._held_until = max(self._held_until, self._clock() + seconds)

    @property
    def held(self) -> float:
        """Seconds for which everybody still has to wait, whatever their turn."""
        with self._lock:
            return max(0.0, self._held_until - self._clock())

    def wait(self, tokens: int, stop: threading.Event) -> float:
        """Take a turn and wait for it; the seconds waited. Returns at once when `stop` is set."""
        started = self._clock()
        delay = self.turn(tokens)
        while delay > 0 and not stop.wait(delay):
            delay = 0.0
        while (held := self.held) > 0 and not stop.is_set():
            stop.wait(held)
        return self._clock() - started
