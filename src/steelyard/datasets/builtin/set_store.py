"""Built-in sets on disk: built once, stored as Nano-sets, whole or not at all."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.datasets.builtin.sampling import BuiltinSet
from steelyard.datasets.formats.sidecar import MANIFEST, read_json_object
from steelyard.errors import DataError, SteelyardError
from steelyard.types import TaskInfo

if TYPE_CHECKING:
    from steelyard.types import Task

COUNTS = ("documents", "queries", "positives")
UNFINISHED = ".cutting-"
STALE = 3600.0
"""An unfinished folder that is older than this, in seconds, was left by a process that died."""

_elsewhere: dict[Path, Path] = {}
"""Temporary folders of sets that could not be stored."""


def folder_of(builtin: BuiltinSet, home: Path) -> Path:
    """Return the folder of the set, whether or not it was built: `<home>/builtin/<set>-<key>`."""
    return home / "builtin" / f"{builtin.name}-{builtin.key()}"


def ensure(builtin: BuiltinSet, home: Path) -> Path:
    """Return the folder of the set; it is built now unless it exists.

    The set is written to a temporary folder and moved in one step. Processes that build at once do the work twice and
    keep the first, which has the same bytes. If the home folder cannot be written, the set exists as long as the
    process.
    """
    folder = folder_of(builtin, home)
    if folder.is_dir() or (folder := _elsewhere.get(folder, folder)).is_dir():
        return folder
    tasks = list(builtin.build())
    try:
        _keep(folder, builtin.name, tasks)
        return folder
    except OSError as error:
        warnings.warn(
            f"{builtin.name} is built each time, because it cannot be stored in {folder.parent}: {error.strerror}; set "
            "STEELYARD_HOME to a writable folder",
            stacklevel=2,
        )
    import atexit
    import shutil
    import tempfile

    try:
        passing = Path(tempfile.mkdtemp(prefix="steelyard-"))
        atexit.register(shutil.rmtree, passing, ignore_errors=True)
        _keep(passing / folder.name, builtin.name, tasks)
    except OSError as error:
        raise SteelyardError(
            f"the built-in set {builtin.name} cannot be stored, neither in {folder.parent} nor temporarily: {error}",
            hint="set STEELYARD_HOME to a writable folder",
        ) from error
    _elsewhere[folder] = passing / folder.name
    return passing / folder.name


def _keep(folder: Path, title: str, tasks: Sequence[Task]) -> None:
    import shutil
    import tempfile

    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    unfinished = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder.parent))
    try:
        _write(unfinished, title, tasks)
        unfinished.chmod(0o755)  # mkdtemp's folders are private
        _move(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def counts(builtin: BuiltinSet, home: Path) -> dict[str, dict[str, int]]:
    """Return the numbers of documents, queries and positives of each task by name; nothing if the set was not built."""
    manifest = read_json_object(folder_of(builtin, home) / MANIFEST)
    return {
        str(facts["name"]): {count: facts[count] for count in COUNTS}
        for facts in manifest.get("tasks", {}).values()
        if {"name", *COUNTS} <= facts.keys()
    }


def corpus_bytes(builtin: BuiltinSet, home: Path) -> dict[str, int]:
    """Return the size of the file of each task's documents by name; nothing if the set was not built."""
    manifest = read_json_object(folder_of(builtin, home) / MANIFEST)
    files = manifest.get("files", {})
    return {
        str(facts["name"]): int(files[path]["bytes"])
        for task, facts in manifest.get("tasks", {}).items()
        if (path := f"corpus/{task}.parquet") in files and "name" in facts
    }


def load(builtin: BuiltinSet, info: TaskInfo, home: Path) -> Task:
    """Return one task of the set."""
    from steelyard.datasets.formats.folder import locate

    folder = ensure(builtin, home)
    try:
        (place,) = locate(f"{folder}::{info.task}")
        return replace(place, info=info).load()
    except DataError as error:
        raise DataError(error.message, hint=f"remove the folder to build the set again: rm -r {folder}") from error


def _write(folder: Path, title: str, tasks: Sequence[Task]) -> None:
    from steelyard.datasets.formats.nano.write import write_nano_set

    info = tasks[0].info
    description = f"Built by Steelyard from {info.source}."
    write_nano_set(folder, tasks, title=title, description=description, licence=info.licence or "")


def _move(unfinished: Path, folder: Path) -> None:
    try:
        unfinished.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process was first
            raise


def _sweep(parent: Path) -> None:
    import shutil

    for left in parent.glob(f"{UNFINISHED}*"):
        with suppress(FileNotFoundError):  # another process has just finished it
            if time.time() - left.stat().st_mtime > STALE:
                shutil.rmtree(left, ignore_errors=True)
