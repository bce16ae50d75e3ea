"""Fixtures that several test files share: a home folder, a small real task, a tiny transformer; and markers."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from steelyard.types import Task

settings.register_profile("unhurried", deadline=None)  # how long an example takes says nothing on a busy machine
settings.load_profile("unhurried")


HEAVY = "torch|transformers|sentence_transformers|onnxruntime|mteb|mteb_parts|torch_models|onnx_export|cross_encoders"
"""Packages and modules of tests that need torch or take seconds to import."""
MARKERS = {
    "slow": re.compile(r"^pytestmark = .*\bslow\b", re.MULTILINE),
    # An import at the top of a file, not the word: a string with the name of the package takes no time.
    "torch": re.compile(
        rf"^pytestmark = .*\btorch\b|^(import|from) ({HEAVY})\b|\b(mteb_parts|torch_models|save_bert|bert)\b",
        re.MULTILINE,
    ),
    "browser": re.compile(r"chromium|playwright"),
    "server": re.compile(r"\b(loopback|hub_server|modelscope_server|api_server|search_servers|postgres)\b"),
}
"""Markers that all tests of a file get from what its text uses; single tests are marked `slow` or `torch` by hand."""


@cache
def _markers(path: Path) -> tuple[str, ...]:
    text = path.read_text(encoding="utf-8")
    return tuple(name for name, pattern in MARKERS.items() if pattern.search(text))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files of which `-m "not torch and not server"` deselects every test, nor modules without tests."""
    if collection_path.suffix != ".py" or collection_path == Path(__file__):
        return None
    if not collection_path.name.startswith("test_"):
        return True
    terms = config.getoption("markexpr").split(" and ")
    excluded = {term.removeprefix("not ") for term in terms if re.fullmatch(r"not \w+", term)}
    return True if excluded.intersection(_markers(collection_path)) else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for doctests in `src` only."""
    collectors = yield
    return [collector for collector in collectors if isinstance(collector, pytest.Module)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of a file that uses torch, a browser or a server, so that `make check` can leave it out."""
    for item in items:
        if item.path.name.startswith("test_"):
            for name in _markers(item.path):
                item.add_marker(name)


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder for one test."""
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a home folder for all tests of a file: vectors that one test stores are there for the next."""
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
