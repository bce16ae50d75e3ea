"""How far the pages are, for people: shown only where it takes longer than they like to wait without a word."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from steelyard.cli._ui.output import CLEAR
from steelyard.cli._ui.progress import REDRAW, STILL_ALIVE, bar

PATIENCE = 2.0
"""Seconds before anything is shown."""


class PageProgress:
    r"""A bar over all steps of all tasks on a terminal; elsewhere a line now and then.

    >>> import io
    >>> ticks = iter([0.0, 1.0, 3.0])
    >>> shown = io.StringIO()
    >>> progress = PageProgress(shown, tasks=2, steps=4, terminal=True, clock=lambda: next(ticks))
    >>> progress.at("NanoX/a", "reading"), progress.at("NanoX/a", "languages")
    (None, None)
    >>> shown.getvalue()
    '\r\x1b[K[###.....................] 1/2  NanoX/a: languages'
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        tasks: int,
        steps: int,
        terminal: bool,
        silent: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream, self._terminal, self._silent, self._clock = stream, terminal, silent, clock
        self._tasks, self._steps = tasks, steps
        self._task = self._step = 0
        self._name = ""
        self._next = clock() + (PATIENCE if terminal else STILL_ALIVE)
        self._shown = False

    def at(self, name: str, step: str) -> None:
        """A step of a task begins."""
        if name != self._name:
            self._name, self._step = name, 0
            self._task += 1
        else:
            self._step += 1
        now = self._clock()
        if self._silent or now < self._next:
            return
        place = f"{self._task:,}/{self._tasks:,}  {name}: {step}"
        if self._terminal:
            share = (self._task - 1 + min(self._step / self._steps, 1.0)) / max(self._tasks, 1)
            self._write(CLEAR + bar(share, place))
        else:
            self._write(f"{place}\n")
        self._next = now + (REDRAW if self._terminal else STILL_ALIVE)

    def close(self) -> None:
        """Take the bar away."""
        if self._shown and self._terminal:
            self._write(CLEAR)

    def _write(self, text: str) -> None:
        self._shown = True
        self._stream.write(text)
        self._stream.flush()
