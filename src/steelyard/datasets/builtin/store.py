"""Built-in sets on disk: cut once, kept as Nano-set directories, whole or not at all."""

from __future__ import annotations

import atexit
import shutil
import tempfile
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
"""Where the sets are that could not be kept in their places."""


def folder_of(builtin: BuiltinSet, home: Path) -> Path:
    """Where the set is kept, whether or not it has been cut: `<home>/builtin/<set>-<key>`."""
    return home / "builtin" / f"{builtin.name}-{builtin.key()}"


def ensure(builtin: BuiltinSet, home: Path) -> Path:
    """The folder of the set, cut now unless it is there.

    The set is written beside its place and moved there in one step. Processes that cut at once do the work twice and
    keep the first, which has the same bytes. Where the home folder cannot be written, the set is there for as long as
    the process is.
    """
    folder = folder_of(builtin, home)
    if folder.is_dir() or (folder := _elsewhere.get(folder, folder)).is_dir():
        return folder
    tasks = list(builtin.cut())
    try:
        _keep(folder, builtin.name, tasks)
        return folder
    except OSError as error:
        warnings.warn(
            f"{builtin.name} is cut anew each time: it cannot be kept in {folder.parent}, {error.strerror}; set "
            "STEELYARD_HOME to a folder that can be written",
            stacklevel=2,
        )
    try:
        passing = Path(tempfile.mkdtemp(prefix="steelyard-"))
        atexit.register(shutil.rmtree, passing, ignore_errors=True)
        _keep(passing / folder.name, builtin.name, tasks)
    except OSError as error:
        raise SteelyardError(
            f"cannot keep the built-in set {builtin.name}, neither in {folder.parent} nor for a while: {error}",
            hint="set STEELYARD_HOME to a folder that can be written",
        ) from error
    _elsewhere[folder] = passing / folder.name
    return passing / folder.name


def _keep(folder: Path, title: str, tasks: Sequence[Task]) -> None:
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
    """Documents, queries and positives of each task by name; nothing where the set has not been cut yet."""
    manifest = read_json_object(folder_of(builtin, home) / MANIFEST)
    return {
        str(facts["name"]): {count: facts[count] for count in COUNTS}
        for facts in manifest.get("tasks", {}).values()
        if {"name", *COUNTS} <= facts.keys()
    }


def load(builtin: BuiltinSet, info: TaskInfo, home: Path) -> Task:
    """One task of the set."""
    from steelyard.datasets.formats.folder import locate

    folder = ensure(builtin, home)
    try:
        (place,) = locate(f"{folder}::{info.task}")
        return replace(place, info=info).load()
    except DataError as error:
        raise DataError(error.message, hint=f"remove {folder}, and the next run cuts the set again") from error


def _write(folder: Path, title: str, tasks: Sequence[Task]) -> None:
    from steelyard.datasets.formats.nano.write import write_nano_set

    info = tasks[0].info
    description = f"Cut by Steelyard from {info.source}."
    write_nano_set(folder, tasks, title=title, description=description, licence=info.licence or "")


def _move(unfinished: Path, folder: Path) -> None:
    try:
        unfinished.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process was first
            raise


def _sweep(parent: Path) -> None:
    for left in parent.glob(f"{UNFINISHED}*"):
        with suppress(FileNotFoundError):  # another process has just finished it
            if time.time() - left.stat().st_mtime > STALE:
                shutil.rmtree(left, ignore_errors=True)
