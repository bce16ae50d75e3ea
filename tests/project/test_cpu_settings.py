"""The tests of `make cpus`: a file that was moved would end every setting before its first test."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("cpu_settings", ROOT / "tests" / "cpu_settings.py")
assert SPEC is not None and SPEC.loader is not None
cpu_settings = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(cpu_settings)


def test_files_and_folders_of_the_tests_exist() -> None:
    assert [name for name in cpu_settings.TESTS if not (ROOT / "tests" / name).exists()] == []
