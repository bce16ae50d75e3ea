"""Tasks by name, from folders, hubs, BEIR, TREC, tables and built-in sets, with validation.

`load_task` loads one task, `task_names` expands a group or a pattern, `check` reports every problem of a path at once,
and `write_nano_set` writes tasks.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.datasets.cards import DatasetCard, TaskCards, task_cards
    from steelyard.datasets.eval_splits import benchmark_names, benchmarks, evaluated_names, with_splits
    from steelyard.datasets.formats.nano.write import write_nano_set
    from steelyard.datasets.inspection import check
    from steelyard.datasets.loading import load_any, load_task, load_tasks
    from steelyard.datasets.names import known_names, task_facts, task_names, with_type
    from steelyard.datasets.problems import Problem, Report
    from steelyard.datasets.profiles import profile
    from steelyard.errors import DataWarning

__all__ = [
    "DataWarning",
    "DatasetCard",
    "Problem",
    "Report",
    "TaskCards",
    "benchmark_names",
    "benchmarks",
    "check",
    "evaluated_names",
    "known_names",
    "load_any",
    "load_task",
    "load_tasks",
    "profile",
    "task_cards",
    "task_facts",
    "task_names",
    "with_splits",
    "with_type",
    "write_nano_set",
]

_HOMES = {
    **dict.fromkeys(("DataWarning", "Problem", "Report"), "problems"),
    **dict.fromkeys(("load_any", "load_task", "load_tasks"), "loading"),
    **dict.fromkeys(("benchmark_names", "benchmarks", "evaluated_names", "with_splits"), "eval_splits"),
    **dict.fromkeys(("known_names", "task_facts", "task_names", "with_type"), "names"),
    **dict.fromkeys(("DatasetCard", "TaskCards", "task_cards"), "cards"),
    "check": "inspection",
    "profile": "profiles",
    "write_nano_set": "formats.nano.write",
}
"""The module of every public name; modules are imported on first use, some of them bring numpy and pyarrow."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'steelyard.datasets' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"steelyard.datasets.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
