"""The forms in which a config comes: a dictionary, a file, JSON in a string, or a list of these."""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import DataError, MissingPart, UsageError

FORMS = ".yaml, .yml, .json or .toml"
HOLDS = "a config is a table with eval_backend and eval_config; docs/evalscope.md has one to start from"


def read(task_cfg: object) -> dict[str, Any] | list[Any]:
    """The config as a table, with its `eval_config` in place; a list of tables for a list.

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
        raise UsageError(
            f"a config cannot be a {type(task_cfg).__name__}", hint="a dictionary, a path, JSON in a string, or a list"
        )
    table = dict(task_cfg)
    if isinstance(table.get("eval_config"), str | Path):  # EvalScope lets the inner part be a file of its own
        table["eval_config"] = _from_text(str(table["eval_config"]))
    return table


def _from_text(text: str) -> Any:
    if text.lstrip().startswith(("{", "[")):
        return _parsed(json.loads, text, "the config")
    path = Path(text).expanduser()
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"{text} is neither a config file nor JSON", hint=f"a config file ends in {FORMS}")
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DataError(f"the config cannot be read: {reason}", where=str(path), hint="check the path") from error
    if not content.strip():
        raise DataError("the config is empty", where=str(path), hint=HOLDS)
    return _parsed(reader, content, str(path))


def _parsed(reader: Callable[[str], Any], content: str, where: str) -> Any:
    try:
        found = reader(content)
    except ValueError as error:  # what JSON and TOML raise; `_yaml` raises it, too
        raise DataError(f"the config cannot be read: {error}", where=where, hint="mend it there") from error
    if not isinstance(found, dict | list):
        raise DataError(f"found {json.dumps(found, default=str)[:60]}, expected a table", where=where, hint=HOLDS)
    return found


def _yaml(content: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingPart(
            "a config in YAML needs the package 'PyYAML'",
            hint="pip install 'steelyard[evalscope]', or write it as JSON",
        ) from error
    try:
        return yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


_READERS: dict[str, Callable[[str], Any]] = {
    ".json": json.loads,
    ".toml": tomllib.loads,
    ".yaml": _yaml,
    ".yml": _yaml,
}
