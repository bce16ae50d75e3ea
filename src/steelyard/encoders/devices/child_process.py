"""How child processes are started and end.

They start without the caller's script, interrupts and secrets, and never outlive their parent.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import ModuleType

from steelyard.http.secrets import secret_variables

_ENVIRONMENT = threading.Lock()


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
def without_secrets(needed: Collection[str] = ()) -> Iterator[None]:
    """Keep environment variables that hold secrets from processes that are started meanwhile, except those `needed`.

    `os.environ` is not changed, so that other threads can read their keys: only what a new process inherits is.
    """
    with _ENVIRONMENT:
        names = secret_variables(os.environ, needed)
        for name in names:
            os.unsetenv(name)
        try:
            yield
        finally:
            for name in names:
                if (value := os.environ.get(name)) is not None:
                    os.putenv(name, value)


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
