"""Published figures that pages are set against: a task's own, or those of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steelyard.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from steelyard.types import Task

PUBLISHED = "published"
"""The reference that stands for each task's own published figures."""


@dataclass(frozen=True)
class Published:
    """Published figures of a task, whose they are, and the counts of the data behind them."""

    name: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)


def published_figures(reference: str, names: Sequence[str]) -> dict[str, Published]:
    """The published figures for each task: its own, or those of the catalogue's task of the same last name."""
    from steelyard.datasets import catalogue
    from steelyard.datasets.options import LoadOptions
    from steelyard.datasets.sources import CatalogueSource

    if reference == PUBLISHED:
        return dict.fromkeys(names, Published(PUBLISHED))
    known = CatalogueSource(LoadOptions()).names(reference)
    if not known:
        groups = [PUBLISHED, *catalogue.groups(), *catalogue.entries()]
        raise UnknownName("reference", reference, groups, hint="a group or a task of the catalogue, or 'published'")
    entries = [catalogue.entries()[name] for name in known]
    if not any(entry.reference for entry in entries):
        raise UsageError(f"{reference} has no published figures", hint="steelyard show NAME tells which a task has")
    by_task = {entry.name.rpartition("/")[2]: entry for entry in entries}
    found: dict[str, Published] = {}
    for name in names:
        last = name.rpartition("::")[2].rpartition("/")[2]
        entry = entries[0] if len(entries) == 1 else by_task.get(last)
        found[name] = Published(entry.name, entry.reference, entry.counts) if entry else Published(reference)
    return found


def own_figures(task: Task, published: Published) -> Published:
    """The task's own figures, where those were asked for, with the counts that the catalogue has of it."""
    from steelyard.datasets import catalogue

    if published.name != PUBLISHED:
        return published
    entry = catalogue.entries().get(task.name)
    return Published(task.name, task.info.reference, entry.counts if entry else {})
