"""Functions read from Python sources, without running them: their descriptions and their code."""

from __future__ import annotations

import ast
import re
import textwrap
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.datasets.builtin.sampling import fold

WORDS = range(6, 81)
"""The length of a description in words: shorter ones say too little, longer ones are manuals."""

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
    kept = lines[start - 1 : node.end_lineno]
    if described:
        first, last = node.body[0].lineno, node.body[0].end_lineno or 0
        if first == node.lineno:
            return ""  # all on one line: nothing is left without it
        kept = lines[start - 1 : first - 1]
        after = lines[last : node.end_lineno]
        kept += after[next((n for n, line in enumerate(after) if line.strip()), 0) :]
    return textwrap.dedent("\n".join(line.rstrip() for line in kept)).strip("\n")
