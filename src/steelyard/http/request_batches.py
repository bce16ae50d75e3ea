"""Several requests in flight at a time, with batches that shrink to what the service accepts."""

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
    """The most texts in one request; it shrinks when the service refuses a request as too large."""

    def __init__(self, size: int) -> None:
        self.size = size

    def refused(self, size: int) -> None:
        """Halve the limit after a request of `size` was refused."""
        self.size = max(1, min(self.size, size // 2))


def in_batches(
    service: Service,
    spans: Sequence[Span],
    send: Callable[[Span, threading.Event], T | Refused],
    too_large: Callable[[Span, Refused], Exception],
    batch: BatchSize,
) -> Generator[tuple[Span, T], None, None]:
    """Yield the responses to the parts of all spans, in the order in which they arrive.

    `send` runs in a thread with one part and must stop when the event is set. A refused part is halved and sent again;
    a single item that is refused ends the work with the error of `too_large`. When a part fails, the requests in
    flight are completed and yielded before the error is raised: they are paid for. When the caller closes the
    generator, they are aborted.
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
                failure = future.exception()
                outcome = None if failure is not None else future.result()
                if isinstance(outcome, Refused):
                    if len(part) > 1:
                        batch.refused(len(part))
                        waiting.appendleft(part)
                        continue
                    failure = too_large(part, outcome)
                if failure is None:
                    yield part, outcome  # type: ignore[misc]  # neither an error nor a refusal: a response
                elif error is None or isinstance(error, Abandoned):
                    error = failure
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
    """Take the next part of at most `size` items; the rest of its span stays first."""
    span = waiting.popleft()
    if len(span) > size:
        waiting.appendleft(span[size:])
    return span[:size]
