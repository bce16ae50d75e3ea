"""Ctrl-C at safe places only: a result is written and handed over, or it is not there at all."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType


class Interrupts:
    """While entered, an interrupt stops work that is `allowed` to be stopped; elsewhere it waits for such work.

    A second one does not wait. Does nothing outside the main thread, or where interrupts are ignored or handled by
    somebody else.
    """

    def __init__(self) -> None:
        self._working = self._waiting = self._ours = False

    def __enter__(self) -> Interrupts:
        main = threading.current_thread() is threading.main_thread()
        self._ours = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._ours:
            signal.signal(signal.SIGINT, self._receive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._waiting and kind is None:
            raise KeyboardInterrupt

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._working or self._waiting:
            raise KeyboardInterrupt
        self._waiting = True

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """A block that may be stopped; one that came before stops it at once."""
        self._working = True
        try:
            if self._waiting:
                raise KeyboardInterrupt
            yield
        finally:
            self._working = False
