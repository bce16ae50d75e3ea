"""Mutate a sample of the core modules and report which mutants the tests kill: `make mutants`.

A mutant is one small change of a module: a comparison, an arithmetic operator, a constant, a condition, a returned
value. The tests that import the module, and its doctests, run against a copy of the package with that change. A mutant
that no test notices is a hole in the tests, unless the change cannot alter any answer ("equivalent": list it in
EQUIVALENT with the reason).

    python tests/mutants.py --mutants 15 --seed 1 metrics/graded.py stats/paired.py

`tests/support/mutant_modules.py` lists the core modules and their tests.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import sysconfig
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).parent / folder) for folder in ("support", "faults")]

from mutant_modules import CORE, EQUIVALENT  # noqa: E402
from page import MUTANTS as RECORD  # noqa: E402
from page import load_record, write_page  # noqa: E402

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "steelyard"
IMPORTED = "imported.txt"
"""File with the modules that the tests of the last module have imported."""
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def mutations(tree: ast.Module) -> Iterator[tuple[int, str, ast.Module]]:
    """Yield line, description and syntax tree of every mutant."""
    spared = {id(node) for node in _spared(tree)}
    named = {id(node.value): f"{node.arg}=" for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    for index, node in enumerate(ast.walk(tree)):
        for description in () if id(node) in spared else _changes(node):
            mutant = copy.deepcopy(tree)
            _apply(next(islice(ast.walk(mutant), index, None)), description)
            yield getattr(node, "lineno", 0), named.get(id(node), "") + description, mutant


def _spared(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what is not mutated: arguments of decorators (`frozen=True`) and `strict=` of zip, an assertion."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            for decorator in node.decorator_list:
                yield from ast.walk(decorator)
        if isinstance(node, ast.keyword) and node.arg == "strict":
            yield node.value


def _changes(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        return [f"{type(node.ops[0]).__name__} -> {SWAPS[type(node.ops[0])].__name__}"]
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS:
        return [f"{type(node.op).__name__} -> {SWAPS[type(node.op)].__name__}"]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, str):
        return [f"{node.value!r} -> {_other(node.value)!r}"]
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        return ["condition negated"]
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        return ["returns None"]
    return []


def _other(value: float) -> float | bool:
    return (not value) if isinstance(value, bool) else value + 1


def _apply(node: ast.AST, description: str) -> None:
    if isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()  # type: ignore[assignment]
    elif isinstance(node, ast.BinOp | ast.BoolOp):
        node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Constant):
        node.value = _other(node.value)  # type: ignore[arg-type]
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Return):
        node.value = ast.Constant(None)


def tests_of(module: str) -> list[str]:
    """Return the test files of a core module; of any other module, those that name it or are in its folder."""
    if module in CORE:
        return [f"tests/{file}" for file in CORE[module]]
    name = "steelyard." + module.removesuffix(".py").replace("/", ".")
    package = name.rpartition(".")[0]
    files = [file for file in sorted((ROOT / "tests").rglob("test_*.py")) if not file.stem.endswith("_docs")]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    direct = [file for file in files if name in texts[file]]
    near = [file for file in files if package in texts[file] and file not in direct]
    folder = ROOT / "tests" / module.partition("/")[0]
    chosen = direct + [file for file in near if folder in file.parents]
    return [str(file.relative_to(ROOT)) for file in chosen]


def killed(module: str, text: str, copy_of_source: Path, seconds: int) -> bool:
    """Return whether the tests notice the mutant, or run longer than that; they run in a copy of this process."""
    target = copy_of_source / "steelyard" / module
    original = target.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    child = os.fork()
    if child == 0:
        os.setsid()
        status = 3
        try:
            status = _run_tests(module, target, copy_of_source, seconds)
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    target.write_text(original, encoding="utf-8")
    if os.waitstatus_to_exitcode(status) not in (0, 1, 2, -signal.SIGPROF, -signal.SIGALRM):
        raise SystemExit(f"the tests of {module} ended with {os.waitstatus_to_exitcode(status)}")
    return status != 0


def _run_tests(module: str, target: Path, copy_of_source: Path, seconds: int) -> int:
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.environ["PYTHONPATH"] = str(copy_of_source)  # of processes that tests start
    sys.path.insert(0, str(copy_of_source))
    sys.dont_write_bytecode = True  # two mutants of one second would share a file
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # CPU time: the machine may be busy
    signal.alarm(10 * seconds)  # a mutant that only waits
    words = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    words += ["-c", str(ROOT / "pyproject.toml"), "-m", "not slow and not torch and not browser and not server"]
    # One file after the other: most mutants are dead before the last ones are even imported.
    for file in [*tests_of(module), str(target)]:
        code = int(pytest.main([*words, file]))
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return code
    (copy_of_source / IMPORTED).write_text("\n".join(foreign_modules()), encoding="utf-8")
    return 0


def warm_up(names: Sequence[str]) -> None:
    """Import what the tests need and no mutant changes, so that a copy of this process starts at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    assert "steelyard" not in sys.modules


def foreign_modules() -> list[str]:
    """Return the modules of other packages that were imported in this process and can be imported in another."""
    packages = (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"))
    files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    return [name for name, file in files.items() if file and file.startswith(packages) and "steelyard" not in name]


def sample(module: str, count: int, seed: int) -> list[tuple[int, str, str, ast.Module]]:
    """Return line number, line, description and syntax tree of some mutants of a module."""
    text = (SOURCE / module).read_text(encoding="utf-8")
    every = list(mutations(ast.parse(text)))
    chosen = random.Random(f"{seed}:{module}").sample(every, min(count, len(every)))
    return [(line, text.splitlines()[line - 1].strip(), change, tree) for line, change, tree in chosen]


def run(module: str, copy_of_source: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run the sample of one module; return the counts and the mutants that survived."""
    original = (SOURCE / module).read_text(encoding="utf-8")
    if killed(module, original, copy_of_source, options.timeout):
        raise SystemExit(f"the tests of {module} fail without a mutant")
    warm_up((copy_of_source / IMPORTED).read_text(encoding="utf-8").split())
    row: dict[str, Any] = {"seed": options.seed, "mutants": 0, "killed": 0, "equivalent": 0, "survived": []}
    for number, line, change, tree in sample(module, options.mutants, options.seed):
        row["mutants"] += 1
        if (module, line, change) in EQUIVALENT:
            row["equivalent"] += 1
        elif killed(module, ast.unparse(tree), copy_of_source, options.timeout):
            row["killed"] += 1
        else:
            row["survived"].append(f"{change} in {line}")
            print(f"survived  {module}:{number}  {change}  in  {line}", flush=True)
    print(f"{module}: {row['killed']} of {row['mutants'] - row['equivalent']} killed", flush=True)
    return row | {"source": hashlib.sha256(original.encode()).hexdigest()[:16]}


def main() -> int:
    """Run the sample, print a line per surviving mutant, then the score; with --record, store the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "modules", nargs="*", default=list(CORE), help="Modules below src/steelyard (default: the core)"
    )
    parser.add_argument("--mutants", type=int, default=15, help="Mutants per module (default: 15)")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the sample (default: 1)")
    parser.add_argument("--timeout", type=int, default=300, help="CPU seconds of the tests of a mutant (default: 300)")
    parser.add_argument("--record", action="store_true", help="Store the counts in tests/mutants.json")
    parser.add_argument("--page", type=Path, help="A docs page to write the recorded table into")
    options = parser.parse_args()
    total = deaths = 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SOURCE, Path(folder) / "steelyard", ignore=shutil.ignore_patterns("__pycache__"))
        os.chdir(ROOT)
        for module in options.modules:
            row = run(module, Path(folder), options)
            total += row["mutants"] - row["equivalent"]
            deaths += row["killed"]
            if options.record:
                record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
                RECORD.write_text(json.dumps(record | {module: row}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{deaths} of {total} mutants killed ({deaths / max(total, 1):.1%})")
    if options.page:
        write_page(options.page, load_record())
    return 0


if __name__ == "__main__":
    sys.exit(main())
