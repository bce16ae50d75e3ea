"""The map in docs/architecture.md is true: the path of one evaluation, the list of packages, no import cycles."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
from source_tree import SOURCE, cycle, folders, lines, nodes

from steelyard import errors
from steelyard.cli import main
from steelyard.metrics import score

ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_one_evaluation_passes_through_the_files_that_the_docs_list(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Compare the call stack at the point where judgements meet the run with the documented path."""
    section = ARCHITECTURE.partition("## The path of one evaluation\n\n")[2]
    documented = re.findall(r"`(\w+/\w+\.py)`", section.partition("\n\n")[0])
    stacks: list[list[str]] = []

    def watched(*arguments, **options):  # type: ignore[no-untyped-def]
        files = [Path(frame.filename) for frame in reversed(inspect.stack(context=0))]
        stacks.append([file.relative_to(SOURCE).as_posix() for file in files if file.is_relative_to(SOURCE)])
        return score(*arguments, **options)

    monkeypatch.setattr("steelyard.engine.task_evaluator.score", watched)
    assert main(["run", "bm25", "-t", "NanoAlmanac/en", "-o", str(tmp_path), "--no-report", "--quiet"]) == 0
    ((entry, *path),) = [dict.fromkeys(stack) for stack in stacks]
    path.append(Path(inspect.getfile(score)).relative_to(SOURCE).as_posix())
    assert entry == "cli/__init__.py"
    assert path == documented
    assert len(documented) == 4


def test_every_top_level_package_is_on_the_map() -> None:
    diagram = ARCHITECTURE.partition("```text\n")[2].partition("```")[0]
    names = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    missing = {name for name in names if not name.startswith("_") and not re.search(rf"\b{name}\b", diagram)}
    assert not missing


def test_no_import_cycles_even_inside_functions() -> None:
    assert not cycle()


OTHER_TESTS = {"benchmarks", "examples", "faults", "project"}
"""Folders of tests that are not about one package."""


def test_every_test_is_in_the_folder_of_what_it_tests_and_has_its_name() -> None:
    """`tests/cli/test_run.py` is about `cli/run.py`; `test_score_trec_eval.py` about a part of `cli/score`."""
    misplaced = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        folder = path.parent.relative_to(ROOT / "tests")
        if folder.parts and folder.parts[0] in OTHER_TESTS:
            continue
        tested = {entry.stem for entry in (SOURCE / folder).glob("*") if not entry.name.startswith("__")} | {
            folder.name
        }
        if not any(re.fullmatch(rf"test_{name}(_\w+)?", path.stem) for name in tested if name):
            misplaced.append(path.relative_to(ROOT).as_posix())
    assert not misplaced


def test_no_folder_has_more_than_fifteen_modules() -> None:
    assert not {folder: size for folder, size in folders().items() if size > 16}  # fifteen and __init__


def test_no_file_has_more_than_400_lines_and_no_function_more_than_60() -> None:
    long: list[str] = []
    for path, all_nodes in nodes().items():
        for node in all_nodes:
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno > 60:
                long.append(f"{path}:{node.lineno} {node.name}")
    assert not [module for module, count in lines().items() if count > 400] + long


ENVIRONMENT_WRITERS = {"update", "pop", "setdefault", "clear", "popitem"}


def test_nothing_writes_to_the_environment() -> None:
    """`os.environ` is never changed; one place restores what new processes inherit, after keeping secrets from one."""
    writers = set()
    for path, all_nodes in nodes().items():
        for node in all_nodes:
            stored = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load) and _is_environ(node.value)
            called = isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT_WRITERS and _is_environ(node.value)
            named = isinstance(node, ast.Attribute) and node.attr in ("putenv", "unsetenv")
            if stored or called or named:
                writers.add(path)
    assert writers == {"encoders/devices/child_process.py"}


def _is_environ(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "environ"


def test_every_error_has_a_hint_or_reports_what_was_expected() -> None:
    """Also those that no other test provokes: every call that creates one of our errors passes one of the two."""
    ours = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.SteelyardError)
    ]
    kinds = {kind.__name__ for kind in ours} - {"UnknownName"}  # it guesses
    silent = [
        f"{path}:{node.lineno}"
        for path, all_nodes in nodes().items()
        for node in all_nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.IfExp)
        if kinds & {part.id for part in ast.walk(node.func) if isinstance(part, ast.Name)}
        if all(option.arg not in ("hint", "expected", None) for option in node.keywords)
    ]
    assert not silent


def test_every_page_of_the_docs_is_linked_from_their_index_and_is_in_the_navigation() -> None:
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} - {"README.md"}
    pages = {page for page in pages if not page.startswith("verbs/notes/")}
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", (docs / "README.md").read_text(encoding="utf-8")))
    assert linked == pages
    navigation = set(re.findall(r"- (?:[\w ]+: )?([\w/-]+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert navigation - {"README.md"} == pages
