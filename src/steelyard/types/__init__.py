"""The values that are passed between the stages: tasks, corpora, queries, judgements, runs.

`retrieval` defines those of retrieval tasks, `task_info` the facts of a task, `samples` tasks without a corpus,
`protocols` what a part must implement, `hashing` how content is identified. Names are imported on first use: a command
that only needs the facts of tasks does not import numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.types.retrieval import (
        Corpus,
        Float32,
        Float64,
        Guarded,
        Int32,
        Int64,
        Interval,
        Qrels,
        Queries,
        Ragged,
        Role,
        Run,
        Scores,
        Task,
        join_title,
    )
    from steelyard.types.task_info import TaskInfo

__all__ = [
    "Corpus",
    "Float32",
    "Float64",
    "Guarded",
    "Int32",
    "Int64",
    "Interval",
    "Qrels",
    "Queries",
    "Ragged",
    "Role",
    "Run",
    "Scores",
    "Task",
    "TaskInfo",
    "join_title",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'steelyard.types' has no attribute {name!r}")
    module = "task_info" if name == "TaskInfo" else "retrieval"
    value = getattr(importlib.import_module(f"steelyard.types.{module}"), name)
    globals()[name] = value
    return value
