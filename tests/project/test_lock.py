"""The lock file of CI: every package that the tests need has an exact version there, and no host is named."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LINES = [line for line in (ROOT / ".ci/constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def lock() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lock", ROOT / ".ci/lock.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pinned() -> dict[str, str]:
    requirements = [Requirement(line) for line in LINES]
    assert all(len(requirement.specifier) == 1 and not requirement.url for requirement in requirements)
    return {canonicalize_name(one.name): next(iter(one.specifier)).version for one in requirements}


def test_every_line_is_an_exact_version_for_one_python() -> None:
    for line in LINES:
        assert re.fullmatch(r'[a-z0-9-]+==[0-9][0-9a-z.]* ; python_version == "3\.11"', line), line
    assert pinned()["torch"] == "2.13.0"
    assert [line.partition("==")[0] for line in LINES] == sorted({line.partition("==")[0] for line in LINES})


def test_every_requirement_of_the_tests_is_locked_within_its_bounds(lock: ModuleType) -> None:
    versions = pinned()
    wanted = [Requirement(text) for text in lock.wanted(PROJECT)]
    assert {"ruff", "pytest", "torch", "ray", "mkdocs-material", "numpy", "fugashi"} <= {one.name for one in wanted}
    for requirement in wanted:
        name = canonicalize_name(requirement.name)
        assert name in versions, f"{requirement}: run `make lock`"
        assert requirement.specifier.contains(versions[name], prereleases=True), f"{requirement}: run `make lock`"


def test_what_they_need_in_turn_is_locked(lock: ModuleType) -> None:
    packages = {
        "a": ("1.0+cpu", ["b[x]>=1", "w; sys_platform == 'nowhere'"]),
        "b": ("2", ["c; extra == 'x'", "d; extra == 'y'"]),
    }
    packages |= {"c": ("3", ["a"]), "d": ("4", [])}
    assert lock.closure(["A"], packages.get) == {"a": "1.0", "b": "2", "c": "3"}
    with pytest.raises(SystemExit):
        lock.closure(["missing"], packages.get)


def test_tests_and_docs_are_installed_by_the_lock_and_the_demo_is_not() -> None:
    rules = (ROOT / "Makefile").read_text("utf-8").split("\n\n")
    using = [rule.partition(":")[0] for rule in rules if "--constraint .ci/constraints.txt" in rule]
    assert using == [".venv/dev", ".venv/docs"]
