"""The files of one task, and a task that was located on this machine but not read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.datasets.assemble import Tables, assemble
from steelyard.datasets.formats.sidecar import candidates_path, read_json_object, with_safeguards
from steelyard.datasets.problems import Report, Validate
from steelyard.datasets.tables.columns import CANDIDATES, DOCUMENTS, JUDGEMENTS, QUERIES, Role
from steelyard.datasets.tables.tabular import Table, read_table
from steelyard.types import Task, TaskInfo

SMALL = 1 << 18
"""Bytes of all tables together up to which they are read in one thread."""


@dataclass(frozen=True)
class TaskFiles:
    """The files of one task, relative to the set; several where a table is in shards."""

    corpus: tuple[str, ...]
    queries: tuple[str, ...]
    qrels: tuple[str, ...]
    candidates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aside: tuple[tuple[str, str], ...] = ()
    """Pairs of a file that is read and one that is not, although its name means the same table."""
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By file: the names of its columns, by field, where the user gave them."""

    def role(self, role: Role, files: Sequence[str]) -> Role:
        """Return the role with the names of columns that were given for these files."""
        return role.mapped(self.columns.get(files[0], {})) if files else role

    @property
    def all(self) -> list[str]:
        """Return every file once."""
        names = [*self.corpus, *self.queries, *self.qrels, *(n for names in self.candidates.values() for n in names)]
        return list(dict.fromkeys(names))

    def only(self, candidates: Iterable[str] | None) -> TaskFiles:
        """Return the same files with only the named candidate lists; None keeps all lists."""
        if candidates is None:
            return self
        names = set(candidates)
        return replace(self, candidates={name: files for name, files in self.candidates.items() if name in names})


def read_tables(files: TaskFiles, info: TaskInfo, path_of: Callable[[str], Path], report: Report) -> Tables:
    """Read every table of the task; `path_of` returns where a file is on this machine."""

    def named(names: Iterable[str]) -> list[tuple[str, Path]]:
        return [(name, path_of(name)) for name in names]

    for read, unread in files.aside:
        report.add("aside", unread, f"the file is not read, because {read} is")
    small = [(files.queries, QUERIES), (files.qrels, JUDGEMENTS)]
    small += [(paths, CANDIDATES) for paths in files.candidates.values()]
    small_report = Report()

    def others() -> list[Table | None]:
        return [read_table(named(paths), files.role(role, paths), small_report) for paths, role in small]

    def corpus() -> Table | None:
        return read_table(named(files.corpus), files.role(DOCUMENTS, files.corpus), report)

    if _are_small(path_of(name) for name in files.all):
        documents, (queries, qrels, *lists) = corpus(), others()
    else:
        # The corpus takes as long as all other tables. It is read in this thread, so that an interrupt is immediate.
        with ThreadPoolExecutor(1) as pool:
            submitted = pool.submit(others)
            documents = corpus()
            queries, qrels, *lists = submitted.result()
    report.problems += small_report.problems
    candidates = {name: table for name, table in zip(files.candidates, lists, strict=True) if table is not None}
    return Tables(info, documents, queries, qrels, candidates)


def _are_small(paths: Iterable[Any]) -> bool:
    """Return whether files or tables in memory are so small together that a second thread would only cost time."""
    try:
        return sum(path.stat().st_size if isinstance(path, Path) else path.nbytes for path in paths) < SMALL
    except OSError:
        return False  # the readers report what is wrong with a file


@dataclass(frozen=True)
class TaskLocation:
    """One task on this machine, located but not read."""

    folder: Path
    task: str
    files: TaskFiles
    info: TaskInfo

    @property
    def reference(self) -> str:
        """Return what names the task on the command line."""
        return f"{self.folder}::{self.task}" if self.task else str(self.folder)

    def path(self, name: str) -> Path:
        """Return where a file of the task is on this machine."""
        return self.folder / name

    def optional_path(self, name: str) -> Path | None:
        """Return where an optional file of the set is; None if the set does not have it."""
        return path if (path := self.folder / name).is_file() else None

    def read(self, report: Report, candidates: Iterable[str] | None = None) -> Task | None:
        """Read and check the data; every problem goes into the report."""
        files = self.files.only(candidates)
        task = assemble(read_tables(files, self.info, lambda name: self.folder / name, report), report)
        facts = read_json_object(candidates_path(self.folder, self.task)) if files.candidates else {}
        return task if task is None or not facts else with_safeguards(task, facts)

    def load(
        self, validate: Validate = "strict", candidates: Iterable[str] | None = None, missing: str = "count"
    ) -> Task:
        """Return the task, or raise a DataError for the first problem that prevents loading.

        `missing` is what to do with judgements of documents that are not in the corpus.
        """
        report = Report(missing_judgements=missing)
        return report.finish(self.read(report, candidates), validate, self.reference)


@dataclass(frozen=True)
class ListedFiles(TaskLocation):
    """A task of three or four files that were named one by one."""

    listed: str

    @property
    def reference(self) -> str:
        """Return the files as the user wrote them."""
        return self.listed
