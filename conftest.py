"""Tests and doctests keep to themselves: a cache folder of their own, never the user's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One STEELYARD_HOME for the whole session, so that built-in sets are cut once; no results in the project."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("STEELYARD_RESULTS", str(tmp_path_factory.mktemp("results")))
        yield
