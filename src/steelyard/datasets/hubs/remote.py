"""From a snapshot of a hub dataset to a task: which files, fetched how, read and checked. The same for every hub."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from steelyard.datasets import catalogue
from steelyard.datasets.assemble import assemble
from steelyard.datasets.formats.layout import TaskFiles, find_tasks, read_tables
from steelyard.datasets.formats.nano import discovery as nano
from steelyard.datasets.hubs.snapshots import Snapshot
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.problems import Report
from steelyard.errors import DataError, UnknownName
from steelyard.types import Task, TaskInfo
from steelyard.types.samples import AnyTask

T = TypeVar("T")
AnyBuilt = TypeVar("AnyBuilt", bound=AnyTask)

Fetch = Callable[[str, bool], Path]
"""Bring a file of the snapshot to this machine, afresh if the flag says so, and tell where it is."""

AT_ONCE = 4


def tasks_of(snapshot: Snapshot) -> dict[str, TaskFiles]:
    """The tasks of a hub dataset, by name."""
    found, lacking = find_tasks(snapshot.names), nano.incomplete(snapshot.names)
    if not found and lacking:
        task, files = next(iter(lacking.items()))
        raise nano.lacks(snapshot.repository, task, files)
    if not found:
        raise DataError(
            f"none of its {len(snapshot.names)} files make a retrieval task",
            where=snapshot.repository,
            hint="expected corpus/, queries/ and qrels/ with Parquet files, or corpus.jsonl, queries.jsonl and qrels",
        )
    return found


def files_of(snapshot: Snapshot, task: str) -> TaskFiles:
    """The files of one task; a name that the dataset does not have is an UnknownName, a missing file a DataError."""
    if files := nano.incomplete(snapshot.names).get(task):
        raise nano.lacks(snapshot.repository, task, files)
    found = tasks_of(snapshot)
    if task not in found:
        raise UnknownName("task", task, found, hint=f"{snapshot.repository} has: {', '.join(found)}")
    return found[task]


def known_info(repository: str, task: str) -> TaskInfo:
    """What the catalogue says of a task that was named by its dataset; else no more than its name."""
    named = TaskInfo(f"{repository.split('/')[1]}/{task or 'test'}", source=repository, split=task or "test")
    # ModelScope writes some owners in capitals.
    for place in (repository, f"{repository.split('/')[0].lower()}/{repository.split('/')[1]}"):
        if (name := catalogue.aliases().get(f"{place}/{task}")) is not None:
            return replace(catalogue.entries()[name].info, source=repository, revision=None)
    return named


@dataclass(frozen=True, eq=False)
class Opened:
    """A dataset at one commit, wherever it is kept, and the way to its files."""

    snapshot: Snapshot
    fetch: Fetch

    @property
    def names(self) -> tuple[str, ...]:
        """Its files."""
        return self.snapshot.names


def load_snapshot(opened: Opened, task: str, info: TaskInfo, options: LoadOptions) -> Task:
    """Fetch the files of one task and read them."""
    files = files_of(opened.snapshot, task).only(options.candidates)
    info = replace(info, revision=opened.snapshot.commit or None)
    wanted = {name: (opened, name) for name in files.all}
    tables, report = read_remote(wanted, lambda place, report: read_tables(files, info, place, report))
    return finished(assemble(tables, report), report, info.name, options)


def read_remote(
    wanted: Mapping[str, tuple[Opened, str]], read: Callable[[Callable[[str], Path], Report], T]
) -> tuple[T, Report]:
    """What `read` makes of the files, which are fetched first; it asks for their places by the keys of `wanted`.

    A file that turns out damaged is fetched again once, and never kept.
    """

    def fetch(key: str, afresh: bool) -> Path:
        opened, name = wanted[key]
        return opened.fetch(name, afresh)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        paths = dict(zip(wanted, pool.map(lambda key: fetch(key, False), wanted), strict=True))
    report = Report()
    value = read(paths.__getitem__, report)
    if damaged := _damaged(report):
        for name in damaged:
            paths[name] = fetch(name, True)
        report = Report()
        value = read(paths.__getitem__, report)
        for name in _damaged(report):
            if wanted[name][0].snapshot.commit:  # a copy of one's own is left alone
                forget(paths[name])
    return value, report


def finished(built: AnyBuilt | None, report: Report, name: str, options: LoadOptions) -> AnyBuilt:
    """The task, unless something is wrong with it that stops a load."""
    return report.settle(built, options.validate or "report", name, at_hand=False)


def _damaged(report: Report) -> list[str]:
    return [problem.file for problem in report.problems if problem.kind == "unreadable"]


def forget(path: Path) -> None:
    """Remove a file from the client's cache: the entry, and the content that it points at."""
    content = path.resolve()
    path.unlink(missing_ok=True)
    content.unlink(missing_ok=True)
