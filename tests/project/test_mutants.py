"""The mutation sample of `make mutants`: its modules exist, and it changes what it says."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("mutants", ROOT / "tests" / "mutants.py")
assert SPEC is not None and SPEC.loader is not None
mutants = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mutants)


@pytest.mark.parametrize("module", mutants.CORE)
def test_modules_of_the_sample_exist_and_have_tests(module: str) -> None:
    assert (mutants.SOURCE / module).is_file()
    assert mutants.tests_of(module)
    assert [file for file in mutants.tests_of(module) if not (ROOT / file).is_file()] == []


def test_equivalent_mutants_are_lines_of_their_modules() -> None:
    for module, line, _ in mutants.EQUIVALENT:
        lines = (mutants.SOURCE / module).read_text("utf-8").splitlines()
        assert line in [one.strip() for one in lines], line


def test_a_mutant_is_one_change() -> None:
    tree = ast.parse("def f(a):\n    return a + 1 if a < 2 else 0\n")
    found = {
        (line, change, ast.unparse(mutant).splitlines()[1].strip()) for line, change, mutant in mutants.mutations(tree)
    }
    assert (2, "Lt -> LtE", "return a + 1 if a <= 2 else 0") in found
    assert (2, "Add -> Sub", "return a - 1 if a < 2 else 0") in found
    assert (2, "returns None", "return None") in found
    assert len(found) == 7
