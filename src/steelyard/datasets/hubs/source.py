"""Datasets of a hub as a source of tasks: what is the same for every hub, once it can be opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from steelyard.datasets.formats.layout import default_tasks
from steelyard.datasets.formats.nano import discovery as nano
from steelyard.datasets.hubs.location import RemotePlace, place_of
from steelyard.datasets.hubs.remote import Opened, known_info, load_snapshot, tasks_of
from steelyard.datasets.hubs.snapshots import parse_reference
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.problems import Report
from steelyard.types import Task, TaskInfo


class RemoteSource(ABC):
    """`PREFIXowner/dataset`, all its tasks; `PREFIXowner/dataset/task@revision`, one of them."""

    prefix: ClassVar[str]

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    @abstractmethod
    def open(self, repository: str, revision: str | None) -> Opened:
        """The dataset as it stands at the revision, unless the options name another."""

    def accepts(self, reference: str) -> bool:
        """Whether the reference names a dataset of this hub."""
        return reference.startswith(self.prefix)

    def names(self, reference: str) -> Sequence[str]:
        """The tasks, each as a full reference; the dataset itself where it stands for one, such as the split `test`."""
        repository, task, revision = parse_reference(reference, self.prefix)
        if task:
            return [reference]
        tail = f"@{revision}" if revision else ""
        snapshot = self.open(repository, revision).snapshot
        tasks = default_tasks(tasks_of(snapshot))
        if len(tasks) == 1:
            return [reference]
        tasks += nano.incomplete(snapshot.names)  # not passed over: they fail
        return [f"{self.prefix}{repository}/{name}{tail}" if name else reference for name in tasks]

    def load(self, name: str) -> Task:
        """One task, fetched if need be."""
        opened, task, info = self._found(name)
        return load_snapshot(opened, task, info, self.options)

    def place(self, name: str) -> RemotePlace:
        """One task, to be read in pieces."""
        return place_of(*self._found(name))

    def _found(self, name: str) -> tuple[Opened, str, TaskInfo]:
        """The dataset, the task that a name means, which is told where it does not say so itself, and what it is."""
        repository, task, revision = parse_reference(name, self.prefix)
        opened = self.open(repository, revision)
        if not task:
            splits = tasks_of(opened.snapshot)
            task = default_tasks(splits)[0]
            if others := [split for split in splits if split != task]:
                report = Report()
                report.add(
                    "default-split", repository, f"stands for its split {task!r}; there is {', '.join(others)}, too"
                )
                report.tell_the_rest()
        return opened, task, known_info(repository, task)
