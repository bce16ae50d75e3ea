"""From a snapshot of a hub dataset to a task: which files, fetched how, read and checked. The same for every hub."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from steelyard.datasets import catalogue
from steelyard.datasets.assemble import assemble
from steelyard.datasets.hub_record import Snapshot
from steelyard.datasets.layout import TaskFiles, find_tasks, read_tables
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.problems import Report
from steelyard.errors import DataError, UnknownName
from steelyard.types import Task, TaskInfo

Fetch = Callable[[str, bool], Path]
"""Bring a file of the snapshot to this machine, afresh if the flag says so, and tell where it is."""

AT_ONCE = 4


def tasks_of(snapshot: Snapshot) -> dict[str, TaskFiles]:
    """The tasks of a hub dataset, by name."""
    found = find_tasks(snapshot.names)
    if not found:
        raise DataError(
            f"none of its {len(snapshot.names)} files make a retrieval task",
            where=snapshot.repository,
            hint="expected corpus/, queries/ and qrels/ with Parquet files, or corpus.jsonl, queries.jsonl and qrels",
        )
    return found


def known_info(repository: str, task: str) -> TaskInfo:
    """What the catalogue says of a task that was named by its dataset; else no more than its name."""
    named = TaskInfo(f"{repository.split('/')[1]}/{task or 'test'}", source=repository, split=task or "test")
    # ModelScope writes some owners in capitals.
    for place in (repository, f"{repository.split('/')[0].lower()}/{repository.split('/')[1]}"):
        if (name := catalogue.aliases().get(f"{place}/{task}")) is not None:
            return replace(catalogue.entries()[name].info, source=repository, revision=None)
    return named


def load_snapshot(snapshot: Snapshot, task: str, info: TaskInfo, fetch: Fetch, options: LoadOptions) -> Task:
    """Fetch the files of one task and read them; a damaged file is fetched again once, and never kept."""
    found = tasks_of(snapshot)
    if task not in found:
        raise UnknownName("task", task, found, hint=f"{snapshot.repository} has: {', '.join(found)}")
    files = found[task].only(options.candidates)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        paths = dict(zip(files.all, pool.map(lambda name: fetch(name, False), files.all), strict=True))
    info = replace(info, revision=snapshot.commit)
    report = Report()
    tables = read_tables(files, info, paths.__getitem__, report)
    if damaged := _damaged(report):
        for name in damaged:
            paths[name] = fetch(name, True)
        report = Report()
        tables = read_tables(files, info, paths.__getitem__, report)
        for name in _damaged(report):
            _forget(paths[name])
    built = assemble(tables, report)
    report.stop_if_bad(options.validate or "report", info.name)
    if built is None:  # every path to None tells a fatal fault, so this is a fault of ours
        raise DataError("the data could not be put together", where=snapshot.repository)
    report.warn_of_repairs(info.name)
    return built


def _damaged(report: Report) -> list[str]:
    return [problem.file for problem in report.problems if problem.kind == "unreadable"]


def _forget(path: Path) -> None:
    """Remove a file from the client's cache: the entry, and the content that it points at."""
    content = path.resolve()
    path.unlink(missing_ok=True)
    content.unlink(missing_ok=True)
