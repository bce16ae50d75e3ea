"""Measurements of the source tree; `python tests/support/source_tree.py [-v]` prints them."""

from __future__ import annotations

import ast
import gc
import sys
from collections import Counter, defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "steelyard"
SMALL = 60
"""Files with fewer lines are small."""


@cache
def modules(source: Path = SOURCE) -> dict[str, Path]:
    """Return the files by the names of their modules."""
    return {
        ".".join(path.relative_to(source.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(source.rglob("*.py"))
    }


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax trees by the paths of the files in the package: `cli/run.py`."""
    gc.disable()  # 600,000 new objects, none of them garbage: collecting would take two thirds of the time
    try:
        return {
            path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
            for path in modules().values()
        }
    finally:
        gc.enable()


@cache
def nodes() -> dict[str, list[ast.AST]]:
    """Return all nodes of the syntax trees by the paths of the files."""
    return {path: list(ast.walk(tree)) for path, tree in trees().items()}


def imports(node: ast.AST) -> list[str]:
    """Return what a syntax tree imports from this package, also inside functions, except for type checking."""
    names: list[str] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.Import):
            names += [alias.name for alias in child.names]
        elif isinstance(child, ast.ImportFrom) and child.module:
            names += [f"{child.module}.{alias.name}" for alias in child.names]
        names += imports(child)
    return [name for name in names if name.startswith("steelyard")]


def _module(name: str) -> str:
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return name


@cache
def graph() -> dict[str, set[str]]:
    """Return the modules that each module imports, lazy imports included."""
    return {
        module: {_module(name) for name in imports(trees()[path.relative_to(SOURCE).as_posix()])} - {module, ""}
        for module, path in modules().items()
    }


def cycle() -> list[str]:
    """Return the modules of one import cycle; none is an empty list."""
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def importers() -> dict[str, set[str]]:
    """Return the modules that import each module."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, imported in graph().items():
        for name in imported:
            found[name].add(module)
    return found


def lines() -> dict[str, int]:
    """Return the number of lines of each module."""
    return {module: path.read_text(encoding="utf-8").count("\n") for module, path in modules().items()}


def folders() -> Counter[str]:
    """Return the number of files in each folder, `__init__.py` included."""
    return Counter(path.parent.relative_to(SOURCE).as_posix() for path in modules().values())


def single_importers() -> dict[str, str]:
    """Return the modules with exactly one importer that are not packages, with that importer."""
    packages = {module for module, path in modules().items() if path.name == "__init__.py"}
    return {
        module: next(iter(users))
        for module, users in sorted(importers().items())
        if len(users) == 1 and module not in packages
    }


def main(verbose: bool) -> None:
    """Print the measurements; verbose: also each module with exactly one importer, with the lines of both."""
    length, single, sizes = lines(), single_importers(), folders()
    small = [module for module, count in length.items() if count < SMALL]
    packages = [module for module in small if modules()[module].name == "__init__.py"]
    folder, most = sizes.most_common(1)[0]
    print(f"files                                  {len(length)}")
    print(f"folders                                {len(sizes)}")
    print(f"largest folder (files)                 {folder} ({most})")
    print(f"lines                                  {sum(length.values())}")
    print(f"longest file (lines)                   {max(length.values())}")
    print(f"files under {SMALL} lines                   {len(small)}, of which {len(packages)} are __init__.py")
    print(f"modules with exactly one importer      {len(single)}")
    print(f"  of these under {SMALL} lines              {sum(length[module] < SMALL for module in single)}")
    print(f"import cycles                          {'no' if not cycle() else ' -> '.join(cycle())}")
    if verbose:
        for module, user in single.items():
            print(f"{length[module]:4} + {length[user]:4}  {module}  ->  {user}")


if __name__ == "__main__":
    main("-v" in sys.argv)
