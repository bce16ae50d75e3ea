"""How child processes are started and end: without the caller's script and interrupts, and never after their parent."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def blocked_interrupts() -> Iterator[None]:
    """Block Ctrl-C while a process is started, because it inherits the mask."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    importlib.import_module("multiprocessing.resource_tracker").ensure_running()  # its start would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def without_main_module() -> Iterator[None]:
    """Hide the main module, so that a new process does not run the script again."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def exit_with_parent() -> None:
    """Wait until the parent process ends, however that happens, and end this one."""
    parent = importlib.import_module("multiprocessing").parent_process()
    parent.join()
    os._exit(1)
