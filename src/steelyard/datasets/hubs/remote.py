"""From a snapshot of a hub dataset to tasks: which files, how they are downloaded, read and checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, TypeVar

from steelyard.datasets import catalogue
from steelyard.datasets.assemble import assemble
from steelyard.datasets.formats.folder import default_tasks, find_tasks
from steelyard.datasets.formats.nano import discovery as nano
from steelyard.datasets.formats.sidecar import MANIFEST, read_json_object, task_info
from steelyard.datasets.formats.task_files import TaskFiles, TaskLocation, read_tables
from steelyard.datasets.hubs.snapshots import Snapshot
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.problems import Report
from steelyard.datasets.references import parse_hub_reference
from steelyard.errors import DataError, UnknownName
from steelyard.types import Task, TaskInfo
from steelyard.types.samples import AnyTask

T = TypeVar("T")
AnyBuilt = TypeVar("AnyBuilt", bound=AnyTask)

Fetch = Callable[[str, bool], Path]
"""Download a file of the snapshot (again, if the flag is set) and return its path."""

PARALLEL_DOWNLOADS = 4


@dataclass(frozen=True, eq=False)
class HubDataset:
    """A dataset at one commit, wherever it is stored, and the way to its files."""

    snapshot: Snapshot
    fetch: Fetch

    @property
    def names(self) -> tuple[str, ...]:
        """Return its files."""
        return self.snapshot.names


class RemoteSource(ABC):
    """`PREFIXowner/dataset`, all its tasks; `PREFIXowner/dataset/task@revision`, one of them."""

    prefix: ClassVar[str]

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    @abstractmethod
    def open(self, repository: str, revision: str | None) -> HubDataset:
        """Return the dataset at the revision, unless the options name another revision."""

    def accepts(self, reference: str) -> bool:
        """Return whether the reference names a dataset of this hub."""
        return reference.startswith(self.prefix)

    def names(self, reference: str) -> Sequence[str]:
        """Return the tasks as full references; the dataset itself if it means one task, such as the split `test`."""
        repository, task, revision = parse_hub_reference(reference, self.prefix)
        if task:
            return [reference]
        tail = f"@{revision}" if revision else ""
        snapshot = self.open(repository, revision).snapshot
        tasks = default_tasks(tasks_of(snapshot))
        if len(tasks) == 1:
            return [reference]
        tasks += nano.incomplete(snapshot.names)  # listed, so that they fail
        return [f"{self.prefix}{repository}/{name}{tail}" if name else reference for name in tasks]

    def load(self, name: str) -> Task:
        """Return one task; its files are downloaded if necessary."""
        dataset, task, info = self._resolve(name)
        return load_snapshot(dataset, task, info, self.options)

    def location(self, name: str) -> RemoteLocation:
        """Return one task without reading it."""
        return remote_location(*self._resolve(name))

    def _resolve(self, name: str) -> tuple[HubDataset, str, TaskInfo]:
        """Return the dataset, the task that a name means, and what is known of it; a default split is reported."""
        repository, task, revision = parse_hub_reference(name, self.prefix)
        dataset = self.open(repository, revision)
        if not task:
            splits = tasks_of(dataset.snapshot)
            task = default_tasks(splits)[0]
            if others := [split for split in splits if split != task]:
                report = Report()
                report.add("default-split", repository, f"the split {task!r} is read; others are {', '.join(others)}")
                report.notify_listener()
        return dataset, task, recorded_info(dataset, task, known_info(repository, task))


@dataclass(frozen=True)
class RemoteLocation(TaskLocation):
    """One task of a dataset at one commit, located but not downloaded."""

    dataset: HubDataset

    @property
    def reference(self) -> str:
        """Return the dataset and the task."""
        repository = self.dataset.snapshot.repository
        return f"{repository}/{self.task}" if self.task else repository

    @property
    def fingerprint(self) -> str:
        """Return dataset and commit: the files of a commit never change."""
        return f"{self.dataset.snapshot.repository}@{self.dataset.snapshot.commit}"

    def path(self, name: str) -> Path:
        """Return the file, downloaded if necessary; a damaged one is downloaded again once, and never kept."""
        path = self.dataset.fetch(name, False)
        if _is_whole(path):
            return path
        path = self.dataset.fetch(name, True)
        if not _is_whole(path):
            if self.dataset.snapshot.commit:  # a copy that the user made is not removed
                forget(path)
            raise DataError("the file is damaged", where=f"{self.reference}: {name}", path=name, hint="try again later")
        return path

    def optional_path(self, name: str) -> Path | None:
        """Return the file; None if the dataset does not have it."""
        return self.path(name) if name in self.dataset.names else None

    def read(self, report: Report, candidates: Iterable[str] | None = None) -> Task | None:
        """Download all files and read them as a whole."""
        return assemble(read_tables(self.files.only(candidates), self.info, self.path, report), report)


def remote_location(dataset: HubDataset, task: str, info: TaskInfo) -> RemoteLocation:
    """Return one task of the dataset; a name that it does not have is an UnknownName."""
    repository, files = dataset.snapshot.repository, files_of(dataset.snapshot, task)
    info = replace(info, revision=dataset.snapshot.commit or None)
    return RemoteLocation(Path(repository), task, files, info, dataset)


def tasks_of(snapshot: Snapshot) -> dict[str, TaskFiles]:
    """Return the tasks of a hub dataset, by name."""
    tasks, lacking = find_tasks(snapshot.names), nano.incomplete(snapshot.names)
    if not tasks and lacking:
        task, files = next(iter(lacking.items()))
        raise nano.missing_files(snapshot.repository, task, files)
    if not tasks:
        raise DataError(
            f"none of the {len(snapshot.names)} files of the dataset belongs to a retrieval task",
            where=snapshot.repository,
            hint="expected corpus/, queries/ and qrels/ with Parquet files, or corpus.jsonl, queries.jsonl and qrels",
        )
    return tasks


def files_of(snapshot: Snapshot, task: str) -> TaskFiles:
    """Return the files of one task; an unknown name is an UnknownName, a missing file a DataError."""
    if files := nano.incomplete(snapshot.names).get(task):
        raise nano.missing_files(snapshot.repository, task, files)
    tasks = tasks_of(snapshot)
    if task not in tasks:
        raise UnknownName("task", task, tasks, hint=f"{snapshot.repository} has: {', '.join(tasks)}")
    return tasks[task]


def known_info(repository: str, task: str) -> TaskInfo:
    """Return what the catalogue has of a task that was named by its dataset, else only its name."""
    info = TaskInfo(f"{repository.split('/')[1]}/{task or 'test'}", source=repository, split=task or "test")
    # ModelScope writes some owners in capitals.
    for spelling in (repository, f"{repository.split('/')[0].lower()}/{repository.split('/')[1]}"):
        if (name := catalogue.aliases().get(f"{spelling}/{task}")) is not None:
            return replace(catalogue.entries()[name].info, source=repository, revision=None)
    return info


def recorded_info(dataset: HubDataset, task: str, info: TaskInfo) -> TaskInfo:
    """Return the facts with description, licence and metadata of the dataset's own manifest, if Steelyard wrote one."""
    if MANIFEST not in dataset.names or info.name in catalogue.entries():
        return info
    manifest = read_json_object(dataset.fetch(MANIFEST, False))
    tasks = manifest.get("tasks")
    facts = tasks.get(task) if isinstance(tasks, dict) and {"schema_version", "files"} <= manifest.keys() else None
    if not isinstance(facts, dict):
        return info
    own = task_info(facts, name=info.name, source=info.source)
    return replace(info, description=own.description, licence=own.licence, metadata=own.metadata)


def load_snapshot(dataset: HubDataset, task: str, info: TaskInfo, options: LoadOptions) -> Task:
    """Download the files of one task and read them."""
    files = files_of(dataset.snapshot, task).only(options.candidates)
    info = replace(info, revision=dataset.snapshot.commit or None)
    needed = {name: (dataset, name) for name in files.all}
    tables, report = read_remote(needed, lambda path_of, report: read_tables(files, info, path_of, report), options)
    return finish_remote(assemble(tables, report), report, info.name, options)


def read_remote(
    needed: Mapping[str, tuple[HubDataset, str]],
    read: Callable[[Callable[[str], Path], Report], T],
    options: LoadOptions,
) -> tuple[T, Report]:
    """Download the files, then return what `read` makes of them; it gets their paths by the keys of `needed`.

    A file that turns out to be damaged is downloaded again once, and never kept.
    """

    def fetch(key: str, again: bool) -> Path:
        dataset, name = needed[key]
        return dataset.fetch(name, again)

    with ThreadPoolExecutor(PARALLEL_DOWNLOADS) as pool:
        paths = dict(zip(needed, pool.map(lambda key: fetch(key, False), needed), strict=True))
    report = Report(missing_judgements=options.settings.missing_judgements)
    value = read(paths.__getitem__, report)
    if damaged := _damaged(report):
        for name in damaged:
            paths[name] = fetch(name, True)
        report = Report(missing_judgements=options.settings.missing_judgements)
        value = read(paths.__getitem__, report)
        for name in _damaged(report):
            if needed[name][0].snapshot.commit:  # a copy that the user made is not removed
                forget(paths[name])
    return value, report


def finish_remote(task: AnyBuilt | None, report: Report, name: str, options: LoadOptions) -> AnyBuilt:
    """Return the task, or raise the problem that prevents loading."""
    return report.finish(task, options.validate or "report", name, local=False)


def _damaged(report: Report) -> list[str]:
    return [problem.file for problem in report.problems if problem.kind == "unreadable"]


def forget(path: Path) -> None:
    """Remove a file from the client's cache: the entry and the content it links to."""
    content = path.resolve()
    path.unlink(missing_ok=True)
    content.unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    """Return whether a Parquet file has its end, where its schema is; other files are not checked."""
    if path.suffix != ".parquet":
        return True
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.read_metadata(str(path))
    except (pa.ArrowException, OSError):
        return False
    return True
