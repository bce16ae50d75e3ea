"""Data in: tasks by name, from folders, hubs, BEIR, TREC, tables and built-in sets, checked on the way.

`load_task` gives one task, `task_names` tells what a group or a pattern stands for, `check` reports every fault of
a path at once, and `write_nano_set` writes tasks for others to read.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from steelyard.datasets.loading import load_any, load_task, load_tasks
from steelyard.datasets.names import (
    benchmark_names,
    benchmarks,
    known_names,
    task_facts,
    task_names,
    with_splits,
    with_type,
)
from steelyard.datasets.problems import DataWarning, Problem, Report

if TYPE_CHECKING:
    from steelyard.datasets.formats.nano.write import write_nano_set
    from steelyard.datasets.inspection import check
    from steelyard.datasets.profiles import profile

__all__ = [
    "DataWarning",
    "Problem",
    "Report",
    "benchmark_names",
    "benchmarks",
    "check",
    "known_names",
    "load_any",
    "load_task",
    "load_tasks",
    "profile",
    "task_facts",
    "task_names",
    "with_splits",
    "with_type",
    "write_nano_set",
]

# These bring numpy and pyarrow; whoever lists names needs neither.
_HOMES = {"check": "inspection", "profile": "profiles", "write_nano_set": "formats.nano.write"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'steelyard.datasets' has no attribute {name!r}")
    return getattr(importlib.import_module(f"steelyard.datasets.{_HOMES[name]}"), name)
