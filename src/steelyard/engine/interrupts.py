"""Signals at safe places only: a result is written and yielded completely, or it is not written at all."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

Handler = Callable[[int, FrameType | None], object]

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C, and the polite kill of job schedulers and containers."""


class Interrupts:
    """While entered, a signal stops only work that is `allowed` to be stopped; elsewhere it waits for such work.

    A second signal does not wait. The handler that was installed before is then called: as a rule it raises a
    KeyboardInterrupt. Does nothing outside the main thread, or for a signal that is ignored or has no Python handler.
    """

    def __init__(self) -> None:
        self._working = False
        self._waiting: int | None = None
        self._handlers: dict[int, Handler] = {}
        self._stopped: KeyboardInterrupt | None = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    signal.signal(number, self._receive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if kind is None:
            self._deliver(None)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        at_once = self._working or self._waiting is not None
        self._waiting = number
        if at_once:
            self._deliver(frame)

    def _deliver(self, frame: FrameType | None) -> None:
        """Call the earlier handler of the signal that waits."""
        number, self._waiting = self._waiting, None
        if number is not None and number in self._handlers:
            try:
                self._handlers[number](number, frame)
            except KeyboardInterrupt as error:
                self._stopped = error
                raise

    @classmethod
    def raised(cls, error: BaseException) -> bool:
        """Return whether the handler of a signal raised the error, and not the work that it stopped."""
        return any(frame.f_code is cls._deliver.__code__ for frame, _ in traceback.walk_tb(error.__traceback__))

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Enter a block that may be stopped; a signal that waits stops it at once.

        Some packages turn the KeyboardInterrupt into an error of their own, which looks like a failure of a model or a
        task: then it is raised again at the end of the block.
        """
        self._working = True
        try:
            self._deliver(None)
            yield
        finally:
            self._working = False
        if self._stopped is not None:
            raise self._stopped
