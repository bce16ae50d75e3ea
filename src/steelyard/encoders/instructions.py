"""Instructions by task, for models that read one before a query: `?instructions=FILE` or a text.

The file (JSON or TOML) maps tasks to instructions: `Group/task`, `task`, `Group`, a type such as `sts`, or `default`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping

from steelyard.errors import DataError, UsageError
from steelyard.files import with_home
from steelyard.options import Options
from steelyard.types import TaskInfo

OPTIONS = ("instructions", "instruction_template")
TEMPLATE = "Instruct: {instruction}\nQuery: "
"""What is put before a query; the form of E5-instruct, Qwen3-Embedding and GTE."""
SUFFIXES = (".json", ".toml")


def read_instructions(options: Options) -> dict[str, str]:
    """Return the instructions by task; a text that is not a file is the instruction of every task.

    >>> read_instructions(Options("x", {"instructions": "Retrieve passages"}, OPTIONS))
    {'default': 'Retrieve passages'}
    """
    value = options.text("instructions")
    if value is None:
        return {}
    path = with_home(value)
    if path.suffix not in SUFFIXES:
        return {"default": value}
    if not path.is_file():
        raise UsageError(
            f"the file of instructions does not exist: {path}", path=path, option="instructions", hint="check the path"
        )
    try:
        text = path.read_text(encoding="utf-8")
        instructions = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, OSError, RecursionError) as error:
        raise DataError(f"the file must be JSON or TOML, got: {error}", path=path, hint="correct the file") from error
    if not isinstance(instructions, dict) or not all(
        isinstance(instruction, str) for instruction in instructions.values()
    ):
        raise DataError.invalid(
            "the instructions", expected="a text for each task", found=str(instructions)[:60], path=path
        )
    return instructions


def instruction_for(instructions: Mapping[str, str], info: TaskInfo | None) -> str | None:
    """Return the instruction of a task: by its name, its group, its type, or the default.

    >>> instruction_for({"sts": "compare", "default": "search"}, TaskInfo("X/y", type="sts"))
    'compare'
    >>> instruction_for({"NanoX": "find"}, TaskInfo("NanoX/en")), instruction_for({}, None)
    ('find', None)
    """
    names = [] if info is None else [info.name, info.task, info.name.partition("/")[0], info.type]
    return next((instructions[name] for name in [*names, "default"] if name in instructions), None)


def query_prompt(options: Options, info: TaskInfo | None) -> str | None:
    """Return the prompt of queries with the instruction of the task; None if there is no instruction."""
    template = options.text("instruction_template") or TEMPLATE
    template = template.replace("\\n", "\n")
    if "{instruction}" not in template:
        raise UsageError.invalid(
            "instruction_template", expected="a text with {instruction}", found=template, option="instruction_template"
        )
    instruction = instruction_for(read_instructions(options), info)
    return None if instruction is None else template.replace("{instruction}", instruction)
