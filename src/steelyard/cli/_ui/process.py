"""The process around a command: Ctrl-C and SIGTERM end it with one line, closed pipes do not end it at all."""

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


def run_process(command: Callable[[], int]) -> int:
    """Run the command as the only job of this process and return its exit code.

    SIGINT and SIGTERM raise KeyboardInterrupt. Output that no reader takes is dropped and the command continues; if
    standard output fails for another reason (a full disk), the error is printed and the exit code is not 0.
    """
    stdout, _ = _tolerant("stdout", 1), _tolerant("stderr", 2)
    _install_handlers()
    try:
        code = command()
        sys.stdout.flush()
    except (KeyboardInterrupt, ImportError):  # some packages turn an interrupt during their import into ImportError
        if not _received:
            raise
        _report_interrupt()
        return interrupt_code()
    finally:
        _end_at_once()
    if stdout.error is None or isinstance(stdout.error, BrokenPipeError):
        return code
    from steelyard.cli._ui.output import Output, system_error

    Output().error(system_error(stdout.error))
    return code or 1


def keep_offline() -> None:
    """Switch the hub's client and the libraries that import it later (`datasets`, `transformers`) to offline mode."""
    from huggingface_hub import constants

    constants.HF_HUB_OFFLINE = True


def silence_datasets() -> None:
    """Switch off the progress bars of `datasets`, which mteb loads tasks with: the command has its own."""
    import importlib

    importlib.import_module("datasets").disable_progress_bars()


class TolerantStream(io.RawIOBase):
    """A raw stream that keeps the first error in `error` and drops everything written after it."""

    def __init__(self, raw: io.RawIOBase) -> None:
        super().__init__()
        self._raw = raw
        self.error: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int | None:
        """Write the bytes, unless a write failed before."""
        if self.error is None:
            try:
                return self._raw.write(data)
            except OSError as error:
                self.error = error
        return memoryview(data).nbytes

    def writable(self) -> bool:
        """Return True."""
        return True

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._raw.isatty()

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._raw.fileno()


def _tolerant(name: str, number: int) -> TolerantStream:
    """Replace `sys.stdout` or `sys.stderr` by a stream over a `TolerantStream`.

    A stream that is closed at start is opened on the null device, so that the next opened file does not get its number.
    """
    stream: io.TextIOWrapper | None = getattr(sys, name)
    raw: io.RawIOBase
    if stream is None:
        null = os.open(os.devnull, os.O_WRONLY)
        if null != number:
            os.dup2(null, number)
            os.close(null)
        raw, encoding, line_buffering = io.FileIO(number, "w", closefd=False), "utf-8", False
    else:
        stream.flush()
        buffer: Any = stream.buffer
        raw, encoding = getattr(buffer, "raw", buffer), stream.encoding
        line_buffering = number == 2 or stream.line_buffering or stream.write_through
    tolerant = TolerantStream(raw)
    # Characters that the encoding of the terminal or pipe does not have are written as escapes.
    wrapped = io.TextIOWrapper(io.BufferedWriter(tolerant), encoding, "backslashreplace", line_buffering=line_buffering)
    setattr(sys, name, wrapped)
    return tolerant


def _install_handlers() -> None:
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


def _end_at_once() -> None:
    """Let a signal during Python's own shutdown end the process without a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) in (_interrupt, _terminate):
            signal.signal(number, _exit)


def _exit(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    _report_interrupt()
    os._exit(interrupt_code())


def _report_interrupt() -> None:
    with suppress(OSError):
        os.write(2, b"interrupted\n")
