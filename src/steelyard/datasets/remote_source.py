"""Datasets of a hub as a source of tasks: what is the same for every hub, once it can be opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from steelyard.datasets.hub_record import parse_reference
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.remote import Opened, known_info, load_snapshot, tasks_of
from steelyard.datasets.remote_place import RemotePlace, place_of
from steelyard.types import Task


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
        """The tasks, each as a full reference."""
        repository, task, revision = parse_reference(reference, self.prefix)
        if task:
            return [reference]
        tail = f"@{revision}" if revision else ""
        tasks = tasks_of(self.open(repository, revision).snapshot)
        return [f"{self.prefix}{repository}/{name}{tail}" if name else reference for name in tasks]

    def load(self, name: str) -> Task:
        """One task, fetched if need be."""
        repository, task, revision = parse_reference(name, self.prefix)
        return load_snapshot(self.open(repository, revision), task, known_info(repository, task), self.options)

    def place(self, name: str) -> RemotePlace:
        """One task, to be read in pieces."""
        repository, task, revision = parse_reference(name, self.prefix)
        return place_of(self.open(repository, revision), task, known_info(repository, task))
