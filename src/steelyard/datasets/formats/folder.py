"""Tasks from this machine: a Nano-set, a BEIR folder, a folder of one's own files, or three files.

path/to/set::task            one task of a Nano-set, or one split of a BEIR folder
path/to/folder               the only task, or the split `test`
corpus.csv,queries.csv,qrels.csv[,candidates.csv]
path/to/documents[,questions.csv]
path/to/log.csv[,corpus.csv]   a click log; clicks:path/to/log.csv?options
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from steelyard.datasets.assemble import assemble
from steelyard.datasets.formats.beir import QRELS
from steelyard.datasets.formats.layout import TaskFiles, default_tasks, find_tasks, read_tables
from steelyard.datasets.formats.nano import discovery as nano
from steelyard.datasets.formats.sidecar import (
    MANIFEST,
    SIDECAR,
    candidates_path,
    read_json_object,
    task_info,
    with_safeguards,
)
from steelyard.datasets.problems import Report, Validate
from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.types import Task, TaskInfo

EXPECTED = (
    "a folder holds corpus/, queries/ and qrels/ with Parquet files (a Nano-set), or corpus.*, queries.* and "
    "qrels.* or qrels/ (BEIR, one's own), or documents (txt, md, html) with a questions.csv; docs/data.md has the "
    "layouts"
)

ARCHIVES = (".zip", ".tar", ".tgz", ".7z")


@dataclass(frozen=True)
class Place:
    """One task on this machine, found but not read."""

    folder: Path
    task: str
    files: TaskFiles
    info: TaskInfo

    @property
    def reference(self) -> str:
        """What names it on the command line."""
        return f"{self.folder}::{self.task}" if self.task else str(self.folder)

    def path(self, name: str) -> Path:
        """Where a file of the task is on this machine."""
        return self.folder / name

    def beside(self, name: str) -> Path | None:
        """Where a file of the set is that the task could do without; None where there is none."""
        return path if (path := self.folder / name).is_file() else None

    def read(self, report: Report, candidates: Iterable[str] | None = None) -> Task | None:
        """Read and check the data; every fault goes into the report."""
        files = self.files.only(candidates)
        task = assemble(read_tables(files, self.info, lambda name: self.folder / name, report), report)
        made = read_json_object(candidates_path(self.folder, self.task)) if files.candidates else {}
        return task if task is None or not made else with_safeguards(task, made)

    def load(self, validate: Validate = "strict", candidates: Iterable[str] | None = None) -> Task:
        """The task, or a DataError that names the first fault that stops it."""
        report = Report()
        return report.settle(self.read(report, candidates), validate, self.reference)


@dataclass(frozen=True)
class ThreeFiles(Place):
    """A task of three or four files, wherever they are."""

    given: str

    @property
    def reference(self) -> str:
        """The files, as they were given."""
        return self.given


def places(reference: str | Path) -> list[Place]:
    """The tasks that a path stands for: one that was named or is the only one, else all of the set.

    Splits of one corpus, as of BEIR, stand for the split `test` if it is there.
    """
    text = str(reference)
    if text.startswith("clicks:"):
        from steelyard.datasets.formats.clicks.log import click_log

        return [click_log(text)]
    path_text, _, task = text.partition("::")
    folder = Path(path_text).expanduser()
    if "," in text and not folder.exists():
        return [_three_files(text)]
    if not folder.exists():
        raise DataError("no such file or folder", where=path_text, hint=near(folder))
    if folder.is_dir():
        return _in_folder(folder, path_text, task)
    if (log := _click_log(text)) is not None:
        return [log]
    if folder.suffix.lower() in ARCHIVES:
        raise DataError("an archive, not a folder", where=path_text, hint="unpack it, and give the folder")
    if not folder.stat().st_size:
        raise DataError("the file is empty", where=path_text, hint="fetch or write the file again")
    raise DataError(
        "a single file is a task only if it is a click log, with columns such as query, doc_id, clicked",
        where=path_text,
        hint="give the folder, or corpus,queries,qrels as three files joined by commas",
    )


def _in_folder(folder: Path, path_text: str, task: str) -> list[Place]:
    names = listing(folder)
    found = find_tasks(names)
    lacking = nano.incomplete(names)
    if lacking and (task in lacking or not found):
        name = task if task in lacking else next(iter(lacking))
        raise nano.lacks(path_text, name, lacking[name])
    if not found and not task:
        from steelyard.datasets.formats.documents import find_documents

        if (documents := find_documents(folder)) is not None:
            return [documents]
    if not found:
        shown = ", ".join(sorted(names)[:6]) + (" ..." if len(names) > 6 else "")
        hint = _inside(folder) or EXPECTED
        raise DataError(f"no task among its files ({shown or 'there are none'})", where=path_text, hint=hint)
    if task and task not in found:
        known = ", ".join(name for name in found if name) or "the folder itself, without a name"
        raise UnknownName("task", task, found, hint=f"{path_text} has: {known}")
    chosen = [task] if task else default_tasks(found)
    return [Place(folder, name, found[name], _info(folder, name)) for name in chosen]


def incomplete(reference: str | Path) -> dict[str, list[str]]:
    """The tasks that a whole set would have besides, were all of their files there; and the files that each lacks."""
    folder = Path(reference).expanduser()
    return nano.incomplete(listing(folder)) if "::" not in str(reference) and folder.is_dir() else {}


def _inside(folder: Path) -> str | None:
    """What to say where a folder in the folder is a set, as after unpacking an archive."""
    inner = (folder / name[:-1] for name in sorted(_entries(folder, "")[1])[:20])
    found = next((path for path in inner if os.access(path, os.R_OK) and find_tasks(listing(path))), None)
    return f"did you mean {found}?" if found else None


def _info(folder: Path, task: str) -> TaskInfo:
    root = folder.resolve().name
    manifest = read_json_object(folder / MANIFEST).get("tasks")
    facts = manifest.get(task) if isinstance(manifest, dict) else None
    if isinstance(facts, dict):
        return task_info(facts, name=str(facts.get("name") or f"{root}/{task}"), source=root)
    facts = read_json_object(folder / SIDECAR)
    name = f"{root}/{task}" if task else f"local/{facts.get('name') or root}"
    return task_info({"split": task or "test", **facts}, name=name, source=root)


def _three_files(text: str) -> Place:
    paths = [Path(part.strip()).expanduser() for part in text.split(",")]
    if len(paths) == 2 and paths[0].is_dir():
        from steelyard.datasets.formats.documents import with_questions

        return with_questions(*paths)
    if len(paths) == 2 and paths[0].is_file() and (log := _click_log(text)) is not None:
        return log
    if len(paths) not in (3, 4):
        raise UsageError(
            f"{len(paths)} files: {text}",
            hint="give corpus,queries,qrels[,candidates], documents,questions or log,corpus",
        )
    for path in paths:
        if not path.is_file():
            raise DataError("no such file", where=str(path), hint=near(path))
    corpus, queries, qrels, *lists = (str(path.absolute()) for path in paths)
    files = TaskFiles((corpus,), (queries,), (qrels,), {"candidates": (lists[0],)} if lists else {})
    folder = paths[0].absolute().parent
    facts = read_json_object(folder / SIDECAR)
    info = task_info(facts, name=f"local/{facts.get('name') or folder.name}", source=text)
    return ThreeFiles(folder, "", files, info, text)


def _click_log(text: str) -> Place | None:
    """The task of a click log, and perhaps a corpus; None where the (first) file is none."""
    from steelyard.datasets.formats.clicks.log import click_log, is_click_log

    return click_log(text) if is_click_log(Path(text.split(",")[0].strip()).expanduser()) else None


def listing(folder: Path) -> list[str]:
    """The files that a layout could mean; nobody wants to wait while a whole home folder is searched.

    A folder whose name is not UTF-8 is a DataError: results are filed under that name, and Arrow cannot open it.
    """
    if (shown := os.fsencode(folder).decode(errors="replace")) != str(folder):
        raise DataError("the name of the folder is not UTF-8", where=shown, hint="rename it")
    found, folders = _entries(folder, "")
    for base, inside in (("", folders), ("data/", _entries(folder, "data/")[1] if "data/" in folders else [])):
        if f"{base}corpus/" in inside:
            for name in inside:
                files, deeper = _entries(folder, name)
                found += files
                found += [file for below in deeper for file in _entries(folder, below)[0]]
    found += [file for name in folders if name[:-1].lower() in QRELS for file in _entries(folder, name)[0]]
    return sorted(set(found))


def _entries(folder: Path, inside: str) -> tuple[list[str], list[str]]:
    """The files and the folders in a folder of a set, from the set on; the latter end in a slash."""
    files, folders = [], []
    with os.scandir(folder / inside) as entries:
        for entry in entries:
            if entry.is_dir():
                folders.append(f"{inside}{entry.name}/")
            elif entry.is_file():
                files.append(f"{inside}{entry.name}")
    return files, folders


def near(path: Path) -> str:
    """What to do about a path that is not there: a name like it, if there is one."""
    import difflib

    parent = path.parent
    if not parent.is_dir():
        return f"{parent} is not there either"
    near = difflib.get_close_matches(path.name, [entry.name for entry in parent.iterdir()], n=1)
    return f"did you mean {parent / near[0]}?" if near else "check the path"
