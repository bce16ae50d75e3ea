"""NanoStdlib: the standard library of the running Python; its docstrings and the code that they describe."""

from __future__ import annotations

import ast
import os
import platform
import re
import sys
import textwrap
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.datasets.builtin.sampling import FULL, BuiltinSet, assemble, fold, shuffled
from steelyard.errors import MissingPart
from steelyard.types import TaskInfo

if TYPE_CHECKING:
    from steelyard.types import Task

WORDS = range(6, 81)
"""The length of a description in words: shorter ones contain too little, longer ones are manuals."""

CODE = range(120, 3_001)
"""The length of the code in characters."""

STATEMENTS = 2
"""A function with fewer statements only passes on its arguments."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Function:
    """A function: its qualified name, the first paragraph of its docstring (empty without one), and its code."""

    name: str
    summary: str
    code: str

    @property
    def bare_name(self) -> str:
        """Return the name without module and class."""
        return self.name.rpartition(".")[2]


def functions_in(path: Path, module: str) -> Iterator[Function]:
    """Yield the functions and methods of a file that have no docstring, or one that is a good query.

    The function's own name stays in its code; a description that repeats it as a call (`dump(obj, file) -> None`) is a
    signature and excluded, and so is one that the code quotes.
    """
    try:
        with tokenize.open(path) as file:
            source = file.read()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in the sources
            tree = ast.parse(source)
    except (SyntaxError, UnicodeDecodeError):
        return  # templates and deliberate mistakes, of which the library has a few
    lines = source.splitlines()
    seen: set[str] = set()
    for name, node in _definitions(tree, module):
        function = _read(name, node, lines)
        # A name that is defined repeatedly (properties, platform branches) is used once: ids are unique.
        if function and name not in seen:
            seen.add(name)
            yield function


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements directly inside a statement; expressions, most of a tree, are skipped."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        yield from getattr(node, block, ())


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for child in _statements(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
            yield from _definitions(child, name)
        else:
            yield from _definitions(child, prefix)


def _count(node: ast.AST) -> int:
    return sum(1 + _count(child) for child in _statements(node))


def _read(name: str, node: Definition, lines: list[str]) -> Function | None:
    """Return the function; None if its description or its code is not suitable."""
    docstring = ast.get_docstring(node)
    if _count(node) - (docstring is not None) < STATEMENTS:
        return None
    code = _code(node, lines, described=docstring is not None)
    if len(code) not in CODE:
        return None
    if docstring is None:
        return Function(name, "", code)
    summary = " ".join(docstring.split("\n\n")[0].split())
    prose = len(re.findall(r"[^\W\d_]{2,}", summary)) in WORDS and ">>>" not in summary and "->" not in summary
    signature = re.search(rf"\b{re.escape(node.name)}\s*\(", summary)
    quoted = fold(summary).rstrip(".") in fold(code)
    return None if signature or quoted or not prose else Function(name, summary, code)


def _code(node: Definition, lines: list[str], *, described: bool) -> str:
    """Return the source of a definition from its first decorator, without its docstring, dedented."""
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    code_lines = lines[start - 1 : node.end_lineno]
    if described:
        first, last = node.body[0].lineno, node.body[0].end_lineno or 0
        if first == node.lineno:
            return ""  # all on one line: nothing is left without it
        code_lines = lines[start - 1 : first - 1]
        after = lines[last : node.end_lineno]
        code_lines += after[next((n for n, line in enumerate(after) if line.strip()), 0) :]
    return textwrap.dedent("\n".join(line.rstrip() for line in code_lines)).strip("\n")


EDITION = 1
"""Increased when the builder changes the data."""

LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idlelib", "idle_test", "lib2to3", "turtledemo"}
LEFT_OUT |= {"ensurepip", "__pycache__", "__phello__", "pydoc_data"}
"""Folders that are not the library proper: other packages, tests, demos, generated text."""

DEMO = (1_200, 200)
WHOLE = (10_000, 1_000)
"""The most functions, and the most queries."""

DESCRIPTIONS = {
    "docstring-to-code": "What a function of the Python standard library does, in the first paragraph of its "
    "docstring; sought is its source code, the docstring removed, among that of other functions. One positive.",
    "code-to-docstring": "The source code of a function of the Python standard library, its docstring removed; "
    "sought is the first paragraph of the docstring. One positive.",
}


def infos() -> tuple[TaskInfo, ...]:
    """Return the tasks of NanoStdlib."""
    return tuple(
        TaskInfo(
            f"NanoStdlib/{task}{size}",
            language="en",
            languages=("en",),
            category="code",
            source=f"{platform.python_implementation()} {platform.python_version()} standard library",
            revision=key(),
            description=description,
            licence="PSF-2.0",
        )
        for task, description in DESCRIPTIONS.items()
        for size in ("", FULL)
    )


@cache
def key() -> str:
    """Return the version of the running Python, whose library this is, and the version of this builder."""
    return f"{sys.implementation.name}{platform.python_version()}-e{EDITION}"


def functions() -> tuple[list[Function], list[Function]]:
    """Return the described functions of the library, each once, and the undescribed ones as distractors.

    If two share a description or their code, neither is used; nor is an undescribed function with the name of a
    described one (often a method that overrides it): each could be a right answer that is not judged.
    """
    every = [function for path, module in _modules() for function in functions_in(path, module)]
    summaries = Counter(fold(function.summary) for function in every)
    bodies = Counter(_body(function) for function in every)
    alone = [function for function in every if bodies[_body(function)] == 1]
    names = {function.bare_name for function in every if function.summary}
    described = [function for function in alone if function.summary and summaries[fold(function.summary)] == 1]
    return described, [function for function in alone if not function.summary and function.bare_name not in names]


def _body(function: Function) -> str:
    """Return the code below the first line, so that two names for one body count as the same."""
    return fold(function.code.partition("\n")[2])


def _modules() -> Iterator[tuple[Path, str]]:
    """Return (file, module name) of the library's sources, ordered by name."""
    import sysconfig

    root = Path(sysconfig.get_path("stdlib"))
    modules = []
    for folder, subfolders, files in os.walk(root):
        # `config-3.11-x86_64-linux-gnu` and `_sysconfigdata…` describe one build of Python, not Python.
        subfolders[:] = [name for name in subfolders if name not in LEFT_OUT and not name.startswith("config-")]
        for name in files:
            if name.endswith(".py") and not name.startswith("_sysconfigdata"):
                path = Path(folder, name)
                parts = path.relative_to(root).with_suffix("").parts
                modules.append((path, ".".join(part for part in parts if part != "__init__")))
    if not modules:
        raise MissingPart(
            f"the sources of Python's standard library are not in {root}",
            hint="use a Python that is installed with its library as files",
        )
    return iter(sorted(modules, key=lambda item: item[1]))


def build() -> Iterator[Task]:
    """Yield the tasks of NanoStdlib, in the order of `infos`."""
    described, others = (shuffled(group, "functions", key=_name) for group in functions())
    for info in infos():
        to_code = info.task.startswith("docstring")
        documents, queries = WHOLE if info.task.endswith(FULL) else DEMO
        chosen = described[:documents]
        summaries = {function.name: function.summary for function in chosen}
        codes = {function.name: function.code for function in chosen}
        asked = [function.name for function in shuffled(chosen, "queries", key=_name)[:queries]]
        texts, questions = (codes, summaries) if to_code else (summaries, codes)
        if to_code:
            texts = texts | {function.name: function.code for function in others[: documents - len(texts)]}
        yield assemble(info, texts, {name: questions[name] for name in asked}, {name: [name] for name in asked})


def _name(function: Function) -> str:
    return function.name


SET = BuiltinSet("NanoStdlib", infos, key, build)
