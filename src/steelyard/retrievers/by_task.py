"""A model as it stands before one task: some models have prompts for each, also as a part of another model."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, cast, runtime_checkable

from steelyard.protocols import Composite, Retriever
from steelyard.types import TaskInfo


@runtime_checkable
class ByTask(Protocol):
    """A model that may be another one for another task."""

    def for_task(self, info: TaskInfo) -> Retriever:
        """The model for that task."""
        ...


def for_task(retriever: Retriever, info: TaskInfo) -> Retriever:
    """The model for a task: itself, unless it or a part of it goes by the task."""
    if isinstance(retriever, ByTask):
        return retriever.for_task(info)
    composite = isinstance(retriever, Composite)
    model: Any = retriever
    if not composite or not is_dataclass(model):
        return retriever
    before = {field.name: getattr(model, field.name) for field in fields(model)}
    after = {name: _parts_for(value, info) for name, value in before.items()}
    changed = {name: value for name, value in after.items() if value is not before[name]}
    return cast(Retriever, replace(cast(Any, model), **changed)) if changed else retriever


def _parts_for(value: Any, info: TaskInfo) -> Any:
    """A part, or several, for the task; any other value, and parts that stay, as they are."""
    if isinstance(value, Retriever):
        return for_task(value, info)
    if isinstance(value, tuple) and value and all(isinstance(part, Retriever) for part in value):
        parts = tuple(for_task(part, info) for part in value)
        return value if all(map(_same, parts, value)) else parts
    return value


def _same(one: object, other: object) -> bool:
    return one is other
