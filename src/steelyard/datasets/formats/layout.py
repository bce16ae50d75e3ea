"""Which files make up which task, told from their names alone: the same for folders and for hubs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.datasets.assemble import Tables
from steelyard.datasets.problems import Report
from steelyard.datasets.tables.columns import CANDIDATES, DOCUMENTS, JUDGEMENTS, QUERIES
from steelyard.datasets.tables.tabular import read_table
from steelyard.types import TaskInfo


@dataclass(frozen=True)
class TaskFiles:
    """The files of one task, relative to the set; several where a table is in shards."""

    corpus: tuple[str, ...]
    queries: tuple[str, ...]
    qrels: tuple[str, ...]
    candidates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aside: tuple[tuple[str, str], ...] = ()
    """A file that is read, and one that is not though its name says that it holds the same."""

    @property
    def all(self) -> list[str]:
        """Every file, each once."""
        names = [*self.corpus, *self.queries, *self.qrels, *(n for names in self.candidates.values() for n in names)]
        return list(dict.fromkeys(names))

    def only(self, candidates: Iterable[str] | None) -> TaskFiles:
        """The same with the named candidate lists only; None keeps all."""
        if candidates is None:
            return self
        wanted = set(candidates)
        kept = {name: files for name, files in self.candidates.items() if name in wanted}
        return replace(self, candidates=kept)


def find_tasks(names: Iterable[str]) -> dict[str, TaskFiles]:
    """The tasks that a list of files holds, in either layout."""
    from steelyard.datasets.formats import beir
    from steelyard.datasets.formats.nano import discovery as nano

    listed = sorted(names)
    return nano.find(listed) or beir.find(listed)


def default_tasks(found: Mapping[str, TaskFiles]) -> list[str]:
    """The tasks that a set stands for when none is named: all of a Nano-set; of the splits of one corpus, `test`."""
    from steelyard.datasets.formats.beir import default_split

    corpora = {files.corpus for files in found.values()}
    of_their_own = len(corpora) > 1 and all("/" in corpus[0] for corpus in corpora)
    split = None if of_their_own else default_split(found)
    return list(found) if split is None else [split]


def read_tables(files: TaskFiles, info: TaskInfo, place: Callable[[str], Path], report: Report) -> Tables:
    """Every table of the task; `place` says where a file is on this machine."""

    def named(names: Iterable[str]) -> list[tuple[str, Path]]:
        return [(name, place(name)) for name in names]

    for read, unread in files.aside:
        report.add("aside", unread, f"the file is not read, {read} is")
    small = [(named(files.queries), QUERIES), (named(files.qrels), JUDGEMENTS)]
    small += [(named(paths), CANDIDATES) for paths in files.candidates.values()]
    apart = Report()
    # The corpus takes as long as all the others, and is read here: whoever interrupts it does not wait for a thread.
    with ThreadPoolExecutor(1) as beside:
        others = beside.submit(lambda: [read_table(paths, role, apart) for paths, role in small])
        documents = read_table(named(files.corpus), DOCUMENTS, report)
        queries, qrels, *lists = others.result()
    report.problems += apart.problems
    candidates = {name: table for name, table in zip(files.candidates, lists, strict=True) if table is not None}
    return Tables(info, documents, queries, qrels, candidates)
