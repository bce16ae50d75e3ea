"""Ctrl-C at safe places only: a result is written and handed over, or it is not there at all."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

Handler = Callable[[int, FrameType | None], object]


class Interrupts:
    """While entered, an interrupt stops work that is `allowed` to be stopped; elsewhere it waits for such work.

    A second one does not wait. What an interrupt does is for whoever heeded it before, as a rule a KeyboardInterrupt.
    Does nothing outside the main thread, or where interrupts are ignored.
    """

    def __init__(self) -> None:
        self._working = self._waiting = False
        self._before: Handler | None = None

    def __enter__(self) -> Interrupts:
        before = signal.getsignal(signal.SIGINT)
        if callable(before) and threading.current_thread() is threading.main_thread():
            self._before = before
            signal.signal(signal.SIGINT, self._receive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if kind is None:
            self._pass_on(None)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._working or self._waiting:
            self._waiting = True
            self._pass_on(frame)
        else:
            self._waiting = True

    def _pass_on(self, frame: FrameType | None) -> None:
        """The interrupt that waits, to whoever heeds it."""
        if self._waiting and self._before is not None:
            self._waiting = False
            self._before(signal.SIGINT, frame)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """A block that may be stopped; one that came before stops it at once."""
        self._working = True
        try:
            self._pass_on(None)
            yield
        finally:
            self._working = False
