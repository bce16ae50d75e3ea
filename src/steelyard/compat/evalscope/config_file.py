"""Configs as a dictionary, a file, JSON in a string, or a list of these."""

from __future__ import annotations

import argparse
import ast
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import DataError, UsageError
from steelyard.files import parse_yaml, with_home

FORMS = ".yaml, .yml, .json, .toml or .py"
CONFIG_NAME = "task_cfg"
"""The name of a config in a Python file, or the end of its name: `one_stage_task_cfg`."""
EXAMPLE = "write a table with eval_backend and eval_config; docs/evalscope.md has an example"
DEEPEST = 50
"""Levels of lists and tables in a config."""
LARGEST = 100_000
"""Values on one level."""


def read(task_cfg: object) -> dict[str, Any] | list[Any]:
    """Return the config as a table, with its `eval_config` read from a file if it is a path; a list for a list.

    >>> read('{"eval_config": {"tool": "MTEB"}}')
    {'eval_config': {'tool': 'MTEB'}}
    """
    if isinstance(task_cfg, list | tuple):
        return [read(one) for one in task_cfg]
    if isinstance(task_cfg, argparse.Namespace):
        return read(vars(task_cfg))
    if isinstance(task_cfg, str | Path):
        return read(_from_text(str(task_cfg)))
    if not isinstance(task_cfg, Mapping):
        expected = "a dictionary, a path, JSON in a string, or a list of these"
        raise UsageError.invalid("a config", expected=expected, found=type(task_cfg).__name__)
    table = dict(task_cfg)
    if isinstance(table.get("eval_config"), str | Path):  # EvalScope lets the inner part be a file of its own
        table["eval_config"] = _from_text(str(table["eval_config"]))
    return table


def _from_text(text: str) -> Any:
    if text.lstrip().startswith(("{", "[")):
        return _parsed(json.loads, text, "the config")
    path = with_home(text)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UsageError.invalid("a config", expected=f"a file that ends in {FORMS}, or JSON", found=text[:200])
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise DataError(f"the config cannot be read: {reason}", path=path, hint="check the path") from error
    if not content.strip():
        raise DataError("the config is empty", path=path, hint=EXAMPLE)
    return _parsed(reader, content, str(path))


def _parsed(reader: Callable[[str], Any], content: str, where: str) -> Any:
    try:
        table = reader(content)
    except (ValueError, OverflowError) as error:  # of JSON, TOML and YAML; long digit strings are a ValueError, too
        raise DataError(f"the config cannot be parsed: {error}", path=where, hint="correct it there") from error
    except RecursionError as error:
        raise _too_deep(where) from error
    if not isinstance(table, dict | list):
        raise DataError.invalid("the config", expected="a table", found=str(table)[:60], path=where, hint=EXAMPLE)
    if not _within_depth(table):
        raise _too_deep(where)
    return table


def _within_depth(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(DEEPEST):
        tables = [one for one in level if isinstance(one, dict)]
        lists = [one for one in level if isinstance(one, list)]
        level = [item for table in tables for item in table.values()] + [item for one in lists for item in one]
        if not level:
            return True
        if len(level) > LARGEST:  # repeated anchors of YAML multiply
            return False
    return False


def _too_deep(where: str) -> DataError:
    expected = f"nested at most {DEEPEST} levels deep, with at most {LARGEST:,} values"
    return DataError(f"the config must be {expected}", path=where, expected=expected, hint=EXAMPLE)


def _python(content: str) -> Any:
    """Return the config in a Python file, without running it: only literals are read.

    Of several, those that the file passes to `run_task` count, else the one with the plain name, else all.
    """
    try:
        body = ast.parse(content).body
    except (SyntaxError, MemoryError) as error:  # the second: nested too deep
        raise ValueError(f"it is not Python: {error}") from error
    tables: dict[str, Any] = {}
    for line in body:
        for name, value in _assigned(line):
            tables[name] = tables[value.id] if isinstance(value, ast.Name) and value.id in tables else _literal(value)
    if not tables:
        raise ValueError(f"it must assign a dictionary to {CONFIG_NAME}, or to a name that ends in _{CONFIG_NAME}")
    passed = dict.fromkeys(name for line in body for name in _passed(line) if name in tables)
    chosen = list(passed) or ([CONFIG_NAME] if CONFIG_NAME in tables else list(tables))
    return tables[chosen[0]] if len(chosen) == 1 else [tables[name] for name in chosen]


def _assigned(line: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of configs that a line assigns, each with its value."""
    targets = line.targets if isinstance(line, ast.Assign) else [line.target] if isinstance(line, ast.AnnAssign) else []
    for target in targets:
        value = line.value if isinstance(line, ast.Assign | ast.AnnAssign) else None
        if isinstance(target, ast.Name) and value is not None and f"_{target.id}".endswith(f"_{CONFIG_NAME}"):
            yield target.id, value


def _literal(value: ast.expr) -> Any:
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"line {value.lineno}: the config must have literal values only, because the file is not run: {error}"
        ) from error


def _passed(line: ast.stmt) -> Iterator[str]:
    """Yield the names that a line passes to `run_task`."""
    for call in ast.walk(line):
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == "run_task":
            arguments = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == CONFIG_NAME)]
            yield from (name.id for value in arguments for name in ast.walk(value) if isinstance(name, ast.Name))


_READERS: dict[str, Callable[[str], Any]] = {
    ".json": json.loads,
    ".py": _python,
    ".toml": tomllib.loads,
    ".yaml": parse_yaml,
    ".yml": parse_yaml,
}
