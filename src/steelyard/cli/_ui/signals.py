"""SIGINT (Ctrl-C) and SIGTERM: both raise KeyboardInterrupt, and the exit code depends on which one it was."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from types import FrameType

INTERRUPTED = 130
"""The exit code of a command that SIGINT (Ctrl-C) ended, as shells report it."""
TERMINATED = 143
"""The exit code of a command that SIGTERM ended."""

_received: list[int] = []
"""The signals that asked this process to end, in order."""


def interrupt_code() -> int:
    """Return the exit code of an interrupted command: 143 after SIGTERM, otherwise 130."""
    return TERMINATED if _received and _received[0] == signal.SIGTERM else INTERRUPTED


def was_interrupted() -> bool:
    """Return whether SIGINT or SIGTERM asked this process to end."""
    return bool(_received)


def install_handlers() -> None:
    """Make SIGINT and SIGTERM raise KeyboardInterrupt; SIGINT stays ignored where it is (nohup)."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt


def _terminate(number: int, frame: FrameType | None) -> None:
    """End like SIGINT: through the handler that is installed now, which may wait for a safe place."""
    _received.append(number)
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt


def end_at_once() -> None:
    """Let a signal during Python's own shutdown end the process without a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) in (_interrupt, _terminate):
            signal.signal(number, _exit)


def _exit(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    report_interrupt()
    os._exit(interrupt_code())


def report_interrupt() -> None:
    with suppress(OSError):
        os.write(2, b"interrupted\n")
