"""What several files of tests need: a home of their own, a small real task, a tiny transformer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from steelyard.types import Task

settings.register_profile("unhurried", deadline=None)  # how long an example takes says nothing on a busy machine
settings.load_profile("unhurried")


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for one test, which no other sees."""
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home for all tests of a file: what one encodes, the next ones find."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_HOME", str(home))
        yield home


@pytest.fixture(scope="module")
def almanac(shared_home: Path) -> Task:
    """English passages of the built-in almanac, with a dozen of its queries."""
    from search_servers import few_queries

    from steelyard import load_task

    return few_queries(load_task("NanoAlmanac/en"))


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny BERT; to be read, not changed."""
    from torch_models import save_bert

    return save_bert(tmp_path_factory.mktemp("bert"))
