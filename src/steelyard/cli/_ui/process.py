"""The process around a command: Ctrl-C and SIGTERM end it with one line, closed pipes do not end it at all."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.signals import end_at_once, install_handlers, interrupt_code, report_interrupt, was_interrupted

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def run_process(command: Callable[[], int]) -> int:
    """Run the command as the only job of this process and return its exit code.

    SIGINT and SIGTERM raise KeyboardInterrupt. Output that no reader takes is dropped and the command continues; if
    standard output fails for another reason (a full disk), the error is printed and the exit code is not 0.
    """
    stdout, _ = _tolerant("stdout", 1), _tolerant("stderr", 2)
    install_handlers()
    try:
        code = command()
        sys.stdout.flush()
    except (KeyboardInterrupt, ImportError):  # some packages turn an interrupt during their import into ImportError
        if not was_interrupted():
            raise
        report_interrupt()
        return interrupt_code()
    finally:
        end_at_once()
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
