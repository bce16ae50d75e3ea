"""Tests and doctests use a cache folder of their own, never the user's, and handle signals however they are started."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "src"


def pytest_configure() -> None:
    """Handle SIGINT also where the suite was started with it ignored (`nohup make test &`, many CI runners)."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Do not import modules without doctests: one of them brings torch."""
    if collection_path.suffix == ".py" and collection_path.is_relative_to(SOURCE):
        return None if ">>>" in collection_path.read_text(encoding="utf-8") else True
    return None


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One STEELYARD_HOME for the whole session, so that built-in sets are built once; no results in the project."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("STEELYARD_RESULTS", str(tmp_path_factory.mktemp("results")))
        yield
