"""A model as it stands before one task: some models have prompts for each, also as a part of another model."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from steelyard.types import TaskInfo
from steelyard.types.protocols import Retriever


@runtime_checkable
class ByTask(Protocol):
    """A model that may be another one for another task."""

    def for_task(self, info: TaskInfo) -> Retriever:
        """The model for that task."""
        ...


def for_task(retriever: Retriever, info: TaskInfo) -> Retriever:
    """The model for a task: itself, unless it goes by the task."""
    return retriever.for_task(info) if isinstance(retriever, ByTask) else retriever
