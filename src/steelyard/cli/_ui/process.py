"""The process around a command: interrupts that come at any moment, readers that go away."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

INTERRUPTED = 130
"""The exit code of a command that someone interrupted, as shells have it."""
AGAIN = 0.005
"""Seconds after which an interrupt that came at a bad moment is tried again."""
IMPORT = "<frozen importlib._bootstrap>"


def as_process(command: Callable[[], int]) -> int:
    """The exit code of the command, run as all that this process does.

    An interrupt is a KeyboardInterrupt where Python code can take one, and ends the process at once when the command
    is done. What nobody reads any more is not printed, and the command goes on; only where data could not be written
    for another reason (a full disk) that is told, and the code is not 0.
    """
    readers = [_forgiving("stdout", 1), _forgiving("stderr", 2)]
    code = INTERRUPTED
    try:
        try:
            _heed_interrupts()
            code = command()
            sys.stdout.flush()
        finally:
            _done_with_interrupts()
    except KeyboardInterrupt:  # on the doorstep
        _done_with_interrupts()
        return INTERRUPTED
    lost = readers[0].lost
    if lost is None or isinstance(lost, BrokenPipeError):
        return code
    from steelyard.cli._ui.output import Output, told

    Output().error(told(lost))
    return code or 1


def keep_offline() -> None:
    """Switch the hub's client and the libraries that import it later (`datasets`, `transformers`) to offline mode."""
    from huggingface_hub import constants

    constants.HF_HUB_OFFLINE = True


def silence_datasets() -> None:
    """Switch off the progress bars of `datasets`, which mteb loads tasks with: the command has its own."""
    import importlib

    importlib.import_module("datasets").disable_progress_bars()


class Reader(io.RawIOBase):
    """Whoever reads what is printed. Once that fails nothing more is written, and `lost` says why."""

    def __init__(self, raw: io.RawIOBase) -> None:
        super().__init__()
        self._raw = raw
        self.lost: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int | None:
        """As a file does; but an error is kept, not raised."""
        if self.lost is None:
            try:
                return self._raw.write(data)
            except OSError as error:
                self.lost = error
        return memoryview(data).nbytes

    def writable(self) -> bool:
        """Always."""
        return True

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._raw.isatty()

    def fileno(self) -> int:
        """The number that the system knows it by."""
        return self._raw.fileno()


def _forgiving(name: str, number: int) -> Reader:
    """The stream of `sys` by that name with a `Reader` behind it; one that is closed goes nowhere.

    Its number is taken then, lest the next file that is opened has it, and takes in what others print.
    """
    stream: io.TextIOWrapper | None = getattr(sys, name)
    raw: io.RawIOBase
    if stream is None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
        raw, encoding, at_once = io.FileIO(number, "w", closefd=False), "utf-8", False
    else:
        stream.flush()
        below: Any = stream.buffer
        raw, encoding = getattr(below, "raw", below), stream.encoding
        at_once = number == 2 or stream.line_buffering or stream.write_through
    reader = Reader(raw)
    # A character that the terminal, or the code page of a pipe, does not have is written as its number.
    wrapped = io.TextIOWrapper(io.BufferedWriter(reader), encoding, "backslashreplace", line_buffering=at_once)
    setattr(sys, name, wrapped)
    return reader


def _heed_interrupts() -> None:
    """Let an interrupt be a KeyboardInterrupt, but not in the middle of an import, nor where nobody can catch it.

    Packages that are half imported tell of other errors than of the interrupt; and what a destructor or a callback of C
    raises is printed by Python and forgotten.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # ignored, as behind nohup
    others = sys.unraisablehook

    def unraisable(told: sys.UnraisableHookArgs, /) -> None:
        if issubclass(told.exc_type, KeyboardInterrupt):
            _try_again()
        else:
            others(told)

    sys.unraisablehook = unraisable
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, lambda number, frame: _current()(signal.SIGINT, frame))
        signal.signal(signal.SIGINT, _receive)


def _receive(number: int, frame: FrameType | None) -> None:
    if _importing(frame):
        _try_again()
    else:
        raise KeyboardInterrupt


def _current() -> Callable[[int, FrameType | None], object]:
    """Whoever heeds interrupts now: a batch at work puts them off to safe places."""
    found = signal.getsignal(signal.SIGINT)
    return found if callable(found) else _receive


def _try_again() -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, AGAIN)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != IMPORT:
        frame = frame.f_back
    return frame is not None


def _done_with_interrupts() -> None:
    """From here on an interrupt ends the process; so does one that waits for the end of an import still."""
    if hasattr(signal, "setitimer") and signal.setitimer(signal.ITIMER_REAL, 0)[0]:
        _leave(signal.SIGINT, None)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    """All is done and flushed, Python is clearing up: there is nobody left to catch an exception."""
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
