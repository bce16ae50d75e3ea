"""The map that newcomers are given is the territory: the path of one evaluation, and the list of packages."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import steelyard
from steelyard import errors
from steelyard.cli import main
from steelyard.metrics import score

ROOT = Path(__file__).parents[2]
SOURCE = Path(steelyard.__file__).parent


def test_an_evaluation_goes_from_the_command_line_to_the_number_through_the_files_that_the_docs_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Looked at where the judgements meet the run: every file of ours on the stack, from the verb inwards."""
    section = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8").partition("to the number\n\n")[2]
    told = re.findall(r"`(\w+/\w+\.py)`", section.partition("\n\n")[0])
    paths: list[list[str]] = []

    def watched(*given, **options):  # type: ignore[no-untyped-def]
        files = [Path(frame.filename) for frame in reversed(inspect.stack(context=0))]
        paths.append([file.relative_to(SOURCE).as_posix() for file in files if file.is_relative_to(SOURCE)])
        return score(*given, **options)

    monkeypatch.setattr("steelyard.engine.task.score", watched)
    assert main(["run", "bm25", "-t", "NanoAlmanac/en", "-o", str(tmp_path), "--no-report", "--quiet"]) == 0
    ((finds_the_verb, *path),) = [dict.fromkeys(path) for path in paths]
    path.append(Path(inspect.getfile(score)).relative_to(SOURCE).as_posix())
    assert finds_the_verb == "cli/__init__.py"
    assert path == told and len(told) == 4


def test_every_package_and_module_at_the_top_is_on_the_map() -> None:
    rows = re.findall(r"^\| `([\w/]+)(?:\.py)?` \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.M)
    there = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set(rows) == {name for name in there if not name.startswith("__")}


def test_every_error_says_what_to_do() -> None:
    """Also those that no other test provokes: wherever one of ours is made, it is given a hint."""
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type)} - {"UnknownName"}  # which guesses
    silent = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.IfExp)
        if kinds & {part.id for part in ast.walk(node.func) if isinstance(part, ast.Name)}
        if all(option.arg != "hint" for option in node.keywords)
    ]
    assert not silent


def test_every_page_of_the_docs_is_on_their_first_page() -> None:
    docs = ROOT / "docs"
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", (docs / "README.md").read_text(encoding="utf-8")))
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}
    assert linked == pages - {"README.md"}
