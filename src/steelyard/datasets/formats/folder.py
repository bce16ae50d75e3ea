"""Tasks on this machine: a Nano-set, a BEIR folder, a folder of your own files, or three files.

path/to/set::task            one task of a Nano-set, or one split of a BEIR folder
path/to/folder               the only task, or the split `test`
corpus.csv,queries.csv,qrels.csv[,candidates.csv]
path/to/documents[,questions.csv]
path/to/log.csv[,corpus.csv]   a click log; clicks:path/to/log.csv?options
path/to/faq.csv                questions with contexts (`question_files`); corpus.csv,questions.csv
corpus.csv?id=uuid&text=words  a file whose columns have other names
"""

from __future__ import annotations

import difflib
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.datasets.formats import beir
from steelyard.datasets.formats.beir import CORPUS, QRELS, QUERIES
from steelyard.datasets.formats.clicks.log import click_log, is_click_log
from steelyard.datasets.formats.documents import find_documents, with_questions
from steelyard.datasets.formats.nano import discovery as nano
from steelyard.datasets.formats.question_files import corpus_and_questions, pairs_file
from steelyard.datasets.formats.saved_dataset import SPLITS, STATE, locate_saved
from steelyard.datasets.formats.sidecar import MANIFEST, read_json_object, read_sidecar, set_facts, task_info
from steelyard.datasets.formats.task_files import ListedFiles, TaskFiles, TaskLocation
from steelyard.datasets.references import local_path, path_exists, split_columns
from steelyard.datasets.tables.files import FORMATS, file_errors, format_of, plain_name
from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.types import TaskInfo

EXPECTED = (
    "expected corpus/, queries/ and qrels/ with Parquet files (a Nano-set), or corpus.*, queries.* and qrels.* or "
    "qrels/ (BEIR), or documents (txt, md, html) with a questions.csv; docs/data.md lists the layouts"
)

ARCHIVES = (".zip", ".tar", ".tgz", ".7z")
RECENT = 50_000_000
"""Nanoseconds. A folder that changed this recently may change again without a new time stamp, so it is read again."""
STORED = 8
"""Scans of folders that are kept."""


def find_tasks(names: Iterable[str]) -> dict[str, TaskFiles]:
    """Return the tasks in a list of files, by name: those of a Nano-set, else those of a BEIR folder.

    >>> list(find_tasks(["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"]))
    ['test']
    """
    listed = sorted(names)
    return nano.find(listed) or beir.find(listed)


def default_tasks(tasks: Mapping[str, TaskFiles]) -> list[str]:
    """Return the tasks that a set means when none is named: all of a Nano-set; `test` if all splits share a corpus."""
    corpora = {files.corpus for files in tasks.values()}
    separate = len(corpora) > 1 and all("/" in corpus[0] for corpus in corpora)
    split = None if separate else beir.default_split(tasks)
    return list(tasks) if split is None else [split]


def locate(reference: str | Path) -> list[TaskLocation]:
    """Return the tasks that a path means: the named one, the only one, or all tasks of the set.

    Splits of one corpus, as in BEIR, mean the split `test` if it exists.
    """
    text = str(reference)
    path_text, _, task = text.partition("::")
    with file_errors(path_text):
        if text.startswith("clicks:"):
            return [click_log(text)]
        if "," in text and not path_exists(path_text):
            return [_listed_files(text)]
        base, columns = split_columns(path_text)
        path = local_path(base)
        if not path.exists():
            raise DataError("the file or folder does not exist", path=base, hint=similar_path(path))
        if not path.is_dir():
            return [_single_file(path, text, columns)]
        saved = [] if task and scan(path).without_saved else locate_saved(path, base, task, columns)
        return saved or _in_folder(path, base, task)


def _single_file(path: Path, text: str, columns: Mapping[str, str]) -> TaskLocation:
    if not columns and is_click_log(path):
        return click_log(text)
    if path.suffix.lower() in ARCHIVES:
        raise DataError("the path must be a folder, got an archive", path=path, hint="unpack it first")
    if not path.stat().st_size:
        raise DataError("the file is empty", path=path, hint="download or write the file again")
    if format_of(path.name) is None:
        raise DataError(
            "the path must be a folder or a table of questions with their contexts",
            path=path,
            hint=f"use one of {', '.join(FORMATS)}; or give corpus,queries,qrels as three files joined by commas",
        )
    return pairs_file([path], text, columns)


@dataclass(frozen=True, eq=False)
class FolderScan:
    """What the names of the files in a folder mean: the tasks, and those that lack files."""

    names: tuple[str, ...]
    tasks: Mapping[str, TaskFiles]
    incomplete: Mapping[str, list[str]]
    without_saved: bool
    """Whether it is known that no folder of the set is a dataset that `datasets` saved."""


def scan(folder: Path) -> FolderScan:
    """Return the tasks of a folder. The result is kept while no folder of the set changes.

    A set with many tasks is scanned once and not once per task.
    """
    key = folder.absolute()
    stored = _scans.get(key)
    if stored is not None and _stamps(stored[0]) == stored[0]:
        return stored[1]
    names, folders = _walk(folder)
    tasks = find_tasks(names)
    walked = folder / "corpus" in folders  # then the files of all folders are in `names`
    without_saved = bool(tasks) and walked and not any(name.endswith((STATE, SPLITS)) for name in names)
    result = FolderScan(tuple(names), tasks, nano.incomplete(names), without_saved)
    stamps = _stamps(dict.fromkeys(folders, 0))
    _scans.pop(key, None)
    if stamps is not None and time.time_ns() - max(stamps.values()) > RECENT:
        while len(_scans) >= STORED:
            _scans.pop(next(iter(_scans)), None)
        _scans[key] = (stamps, result)
    return result


_scans: dict[Path, tuple[dict[Path, int], FolderScan]] = {}
"""The last scans by folder, with the time of change of every folder that was read for them."""


def _stamps(folders: Mapping[Path, int]) -> dict[Path, int] | None:
    try:
        return {folder: folder.stat().st_mtime_ns for folder in folders}
    except OSError:
        return None


def _in_folder(folder: Path, path_text: str, task: str) -> list[TaskLocation]:
    scanned = scan(folder)
    tasks, lacking = scanned.tasks, scanned.incomplete
    if lacking and (task in lacking or not tasks):
        name = task if task in lacking else next(iter(lacking))
        raise nano.missing_files(path_text, name, lacking[name])
    if not tasks and not task and (documents := _questions_in(folder, scanned.names) or find_documents(folder)):
        return [documents]
    if not tasks:
        names = scanned.names
        shown = ", ".join(names[:6]) + (" ..." if len(names) > 6 else "")
        hint = _set_inside(folder) or EXPECTED
        raise DataError(f"the folder does not contain a task (files: {shown or 'none'})", path=path_text, hint=hint)
    if task and task not in tasks:
        known = ", ".join(name for name in tasks if name) or "one task without a name: give the folder alone"
        raise UnknownName("task", task, tasks, hint=f"{path_text} has: {known}")
    chosen = [task] if task else default_tasks(tasks)
    infos = _infos(folder, chosen)
    return [TaskLocation(folder, name, tasks[name], infos[name]) for name in chosen]


def _questions_in(folder: Path, names: Iterable[str]) -> TaskLocation | None:
    """Return the task of a folder with a file of documents and one of questions that name them."""
    corpus, queries = (
        [name for stem in stems for name in names if "/" not in name and plain_name(name).split(".")[0].lower() == stem]
        for stems in (CORPUS, QUERIES)
    )
    tables = [*corpus[:1], *queries[:1]]
    if len(tables) < 2 or any(format_of(name) is None or name.lower().endswith(".txt") for name in tables):
        return None  # a text file is a document
    return corpus_and_questions([folder / corpus[0]], [folder / queries[0]], str(folder))


def incomplete(reference: str | Path) -> Mapping[str, list[str]]:
    """Return the tasks of a whole set that lack files, each with the files that are missing."""
    text = str(reference)
    if "::" in text or not path_exists(text) or not (folder := local_path(text)).is_dir():
        return {}
    with file_errors(text):
        return scan(folder).incomplete


def _set_inside(folder: Path) -> str | None:
    """Return a hint if a folder in the folder is a set, as after unpacking an archive."""
    inner = (folder / name[:-1] for name in sorted(_entries(folder, "")[1])[:20])
    path = next((path for path in inner if os.access(path, os.R_OK | os.X_OK) and scan(path).tasks), None)
    return f"did you mean {path}?" if path else None


def _infos(folder: Path, tasks: list[str]) -> dict[str, TaskInfo]:
    """Return what is known of each task; the manifest is read once for all of them."""
    root = folder.resolve().name
    manifest = _manifest_tasks(folder / MANIFEST)
    sidecar: dict[str, Any] | None = None
    described: dict[str, dict[str, Any]] | None = None
    infos = {}
    for task in tasks:
        facts = manifest.get(task) if isinstance(manifest, dict) else None
        if isinstance(facts, dict):
            infos[task] = task_info(facts, name=str(facts.get("name") or f"{root}/{task}"), source=root)
            continue
        sidecar = read_sidecar(folder) if sidecar is None else sidecar
        described = set_facts(folder) if described is None else described
        name = f"{root}/{task}" if task else f"local/{sidecar.get('name') or root}"
        infos[task] = task_info({"split": task or "test", **sidecar, **described.get(task, {})}, name=name, source=root)
    return infos


_manifests: dict[Path, tuple[tuple[int, int, int], Any]] = {}
"""The tasks of the last manifests by path, with the time of change, size and inode of the file."""


def _manifest_tasks(path: Path) -> Any:
    """Return the part `tasks` of a manifest. It is kept while the file does not change, for sets with many tasks."""
    key = path.absolute()
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    if key in _manifests and _manifests[key][0] == stamp:
        return _manifests[key][1]
    tasks = read_json_object(path).get("tasks")
    _manifests.pop(key, None)
    if time.time_ns() - stat.st_mtime_ns > RECENT:
        while len(_manifests) >= STORED:
            _manifests.pop(next(iter(_manifests)), None)
        _manifests[key] = (stamp, tasks)
    return tasks


def _listed_files(text: str) -> TaskLocation:
    parts = [split_columns(part.strip()) for part in text.split(",")]
    paths = [local_path(part) for part, _ in parts]
    columns = {str(path.absolute()): own for path, (_, own) in zip(paths, parts, strict=True) if own}
    if len(paths) == 2 and paths[0].is_dir():
        return with_questions(*paths)
    if len(paths) == 2 and paths[0].is_file() and is_click_log(paths[0]):
        return click_log(text)
    if len(paths) not in (2, 3, 4):
        raise UsageError(
            f"a list of files must have 2 to 4 names, got {len(paths)}: {text}",
            hint="give corpus,queries,qrels[,candidates], corpus,questions or log,corpus",
            found=len(paths),
        )
    for path in paths:
        if not path.is_file():
            raise DataError("the file does not exist", path=path, hint=similar_path(path))
    if len(paths) == 2:
        return corpus_and_questions(paths[:1], paths[1:], text, columns)
    corpus, queries, qrels, *lists = (str(path.absolute()) for path in paths)
    candidates = {"candidates": (lists[0],)} if lists else {}
    files = TaskFiles((corpus,), (queries,), (qrels,), candidates, columns=columns)
    folder = paths[0].absolute().parent
    facts = read_sidecar(folder)
    info = task_info(facts, name=f"local/{facts.get('name') or folder.name}", source=text)
    return ListedFiles(folder, "", files, info, text)


def listing(folder: Path) -> list[str]:
    """Return the files of a folder that a layout could use; other sub-folders are not searched.

    A folder whose name is not UTF-8 is a DataError: results are stored under that name, and Arrow cannot open it.
    """
    return _walk(folder)[0]


def _walk(folder: Path) -> tuple[list[str], list[Path]]:
    """Return the files of `listing` and every folder that was read for them."""
    if (shown := os.fsencode(folder).decode(errors="replace")) != str(folder):
        raise DataError("the name of the folder must be UTF-8", path=shown, hint="rename it")
    names, inner = _entries(folder, "")
    visited = [""]
    data = _entries(folder, "data/")[1] if "data/" in inner else []
    visited += ["data/"] * ("data/" in inner)
    for base, folders in (("", inner), ("data/", data)):
        if f"{base}corpus/" in folders:
            for name in folders:
                files, deeper = _entries(folder, name)
                names += files
                names += [file for below in deeper for file in _entries(folder, below)[0]]
                visited += [name, *deeper]
    for name in (name for name in inner if name[:-1].lower() in QRELS):
        names += _entries(folder, name)[0]
        visited.append(name)
    return sorted(set(names)), [folder / name for name in dict.fromkeys(visited)]


def _entries(folder: Path, inside: str) -> tuple[list[str], list[str]]:
    """Return the files and the folders in a folder of a set, relative to the set; folders end in a slash."""
    files, folders = [], []
    with os.scandir(folder / inside) as entries:
        for entry in entries:
            if entry.is_dir():
                folders.append(f"{inside}{entry.name}/")
            elif entry.is_file():
                files.append(f"{inside}{entry.name}")
    return files, folders


def similar_path(path: Path) -> str:
    """Return a hint for a path that does not exist: a similar name, if there is one."""
    parent = path.parent
    if not parent.is_dir():
        return f"the folder {parent} does not exist either"
    try:
        near = difflib.get_close_matches(path.name, [entry.name for entry in parent.iterdir()], n=1)
    except OSError:
        near = []
    return f"did you mean {parent / near[0]}?" if near else "check the path"
