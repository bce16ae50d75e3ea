"""Several requests under way at a time, each answer handed on as it arrives, and batches that fit the service."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from steelyard.http.service import Abandoned, Refused, Service

T = TypeVar("T")
Span = Sequence[int]


class BatchSize:
    """How many texts go into a request: as many as asked for, fewer once the service has refused that many."""

    def __init__(self, size: int) -> None:
        self.size = size

    def refused(self, size: int) -> None:
        """A request of `size` was too large: half of it is the most from now on."""
        self.size = max(1, min(self.size, size // 2))


def in_batches(
    service: Service,
    spans: Sequence[Span],
    send: Callable[[Span, threading.Event], T | Refused],
    too_large: Callable[[Span, Refused], Exception],
    batch: BatchSize,
) -> Generator[tuple[Span, T], None, None]:
    """The answers to the parts of all spans, in the order in which they arrive.

    `send` runs in a thread with one part, and is to give up when the event is set. A part that is refused is halved
    and sent again; one item that is refused alone ends the work with the error of `too_large`. When a part fails,
    those under way are waited for and handed on before the error is raised: what a service has been paid for is not
    lost. When the caller stops listening, they are cut off.
    """
    waiting = deque(span for span in spans if len(span))
    running: dict[Future[T | Refused], Span] = {}
    error: BaseException | None = None
    stop = threading.Event()
    pool = ThreadPoolExecutor(service.traffic.concurrency, thread_name_prefix="service")
    try:
        while running or (waiting and error is None):
            while waiting and error is None and len(running) < service.traffic.concurrency:
                part = _next(waiting, batch.size)
                running[pool.submit(send, part, stop)] = part
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                part = running.pop(future)
                failed = future.exception()
                outcome = None if failed is not None else future.result()
                if isinstance(outcome, Refused):
                    if len(part) > 1:
                        batch.refused(len(part))
                        waiting.appendleft(part)
                        continue
                    failed = too_large(part, outcome)
                if failed is None:
                    yield part, outcome  # type: ignore[misc]  # neither an error nor a refusal: an answer
                elif error is None or isinstance(error, Abandoned):
                    error = failed
                    stop.set()
        if error is not None:
            raise error
    finally:
        stop.set()
        if running:
            service.abort()
        pool.shutdown(wait=True, cancel_futures=True)
        service.close()


def _next(waiting: deque[Span], size: int) -> Span:
    """The next part, at most `size` long; the rest of its span stays in front."""
    span = waiting.popleft()
    if len(span) > size:
        waiting.appendleft(span[size:])
    return span[:size]
