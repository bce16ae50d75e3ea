"""Tests and doctests use a cache folder of their own, never the user's, and handle signals however they are started."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest


def pytest_configure() -> None:
    """Handle SIGINT also where the suite was started with it ignored (`nohup make test &`, many CI runners)."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One STEELYARD_HOME for the whole session, so that built-in sets are built once; no results in the project."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("STEELYARD_RESULTS", str(tmp_path_factory.mktemp("results")))
        yield
