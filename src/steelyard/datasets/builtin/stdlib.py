"""NanoStdlib: the standard library of the running Python; its docstrings and the code that they describe."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.datasets.builtin.sampling import FULL, BuiltinSet, assemble, fold, shuffled
from steelyard.errors import MissingPart
from steelyard.types import TaskInfo

if TYPE_CHECKING:
    from steelyard.datasets.builtin.functions import Function
    from steelyard.types import Task

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
    from steelyard.datasets.builtin.functions import functions_in

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
    found = []
    for folder, subfolders, files in os.walk(root):
        # `config-3.11-x86_64-linux-gnu` and `_sysconfigdata…` describe one build of Python, not Python.
        subfolders[:] = [name for name in subfolders if name not in LEFT_OUT and not name.startswith("config-")]
        for name in files:
            if name.endswith(".py") and not name.startswith("_sysconfigdata"):
                path = Path(folder, name)
                parts = path.relative_to(root).with_suffix("").parts
                found.append((path, ".".join(part for part in parts if part != "__init__")))
    if not found:
        raise MissingPart(
            f"the sources of Python's standard library are not in {root}",
            hint="use a Python that is installed with its library as files",
        )
    return iter(sorted(found, key=lambda item: item[1]))


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
