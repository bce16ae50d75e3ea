"""A task of a hub dataset that is read in pieces: a file is fetched when it is its turn, and no sooner."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.datasets.assemble import assemble
from steelyard.datasets.formats.folder import Place
from steelyard.datasets.formats.layout import read_tables
from steelyard.datasets.hubs.remote import Opened, files_of, forget
from steelyard.datasets.problems import Report
from steelyard.errors import DataError
from steelyard.types import Task, TaskInfo


@dataclass(frozen=True)
class RemotePlace(Place):
    """One task of a dataset at one commit, found but not fetched."""

    opened: Opened

    @property
    def reference(self) -> str:
        """The dataset and the task."""
        repository = self.opened.snapshot.repository
        return f"{repository}/{self.task}" if self.task else repository

    @property
    def fingerprint(self) -> str:
        """Dataset and commit: what is in the files of a commit never changes."""
        return f"{self.opened.snapshot.repository}@{self.opened.snapshot.commit}"

    def path(self, name: str) -> Path:
        """The file, fetched if need be; a damaged one is fetched again once, and never kept."""
        path = self.opened.fetch(name, False)
        if _whole(path):
            return path
        path = self.opened.fetch(name, True)
        if not _whole(path):
            if self.opened.snapshot.commit:  # a copy of one's own is left alone
                forget(path)
            raise DataError("the file is damaged", where=f"{self.reference}: {name}", hint="try again later")
        return path

    def beside(self, name: str) -> Path | None:
        """The file, where the dataset has it."""
        return self.path(name) if name in self.opened.names else None

    def read(self, report: Report, candidates: Iterable[str] | None = None) -> Task | None:
        """Fetch everything and read it as a whole."""
        return assemble(read_tables(self.files.only(candidates), self.info, self.path, report), report)


def place_of(opened: Opened, task: str, info: TaskInfo) -> RemotePlace:
    """One task of the dataset; a name that it does not have is an UnknownName."""
    repository, files = opened.snapshot.repository, files_of(opened.snapshot, task)
    return RemotePlace(Path(repository), task, files, replace(info, revision=opened.snapshot.commit or None), opened)


def _whole(path: Path) -> bool:
    """Whether a Parquet file has its end, where it tells what is in it; of other files nothing is known."""
    if path.suffix != ".parquet":
        return True
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.read_metadata(str(path))
    except (pa.ArrowException, OSError):
        return False
    return True
